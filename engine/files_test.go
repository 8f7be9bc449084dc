// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
)

// TestShareFiles: the shares of the limit on open files never exceed it, and none is too small to work with.
func TestShareFiles(t *testing.T) {
	for limit := filesMin; limit <= 1<<20; limit += 1 + limit/100 {
		f, err := shareFiles(limit)
		own := min(limit*3/8, 256)
		if err != nil || f.tables < tablesMin || f.lookups < lookupsMin || f.conns < 16 ||
			own+f.tables+tableSlack+2*f.lookups+f.conns > limit {
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
