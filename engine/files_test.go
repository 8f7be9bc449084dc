// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage"
)

// TestShareFiles: the shares of the limit on open files, with all that the store may have open for its own, never
// exceed it, and none is too small to work with.
func TestShareFiles(t *testing.T) {
	for limit := filesMin; limit <= 1<<20; limit += 1 + limit/100 {
		f, err := shareFiles(limit)
		store := storage.FilesAtMost(f.tables)
		if waiting := 100 * max(f.tables/256, 1); store < f.tables+waiting { // Pebble closes tables some time later
			t.Fatalf("of %d: the store has %d files for %d tables", limit, store, f.tables)
		}
		if err != nil || f.own < 8*sharerFiles || f.tables < tablesMin || f.walks < 32 || f.lookups < lookupsMin ||
			f.conns < 64 || f.own+store+f.walks+fetch.LookupSockets*f.lookups+f.conns > limit {
			t.Fatalf("of %d: %+v, %v", limit, f, err)
		}
	}
	if f, _ := shareFiles(1 << 20); f.tables != tablesMax || f.lookups != lookupsMax || f.conns < 1<<19 {
		t.Errorf("%+v", f)
	}
	if _, err := shareFiles(filesMin - 1); err == nil || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("%v", err)
	}
}
