// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/phases"
)

// TestLanesApart: dedup goes on while invertlinks has its memory, and invertlinks while dedup changes crawldb. In a
// crawl they are in two lanes, and each would wait for seconds.
func TestLanesApart(t *testing.T) {
	t.Parallel()
	e, err := Open(Options{Dir: t.TempDir(), Contact: "https://seine.example/"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, lock := context.Background(), &e.w.crawldbMu
	lock.memory.Lock()
	if _, err := e.w.dedup(ctx, DedupOptions{}); err != nil {
		t.Error(err)
	}
	lock.memory.Unlock()
	lock.crawldb.Lock()
	if _, err := e.w.invertLinks(ctx, 1); !errors.Is(err, phases.ErrNoSegment) {
		t.Errorf("invertlinks of a segment that is not there: %v", err)
	}
	lock.crawldb.Unlock()
}
