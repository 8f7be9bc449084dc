// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"runtime"
	"testing"
	"time"
)

// TestPlacesFor: more places than processors, but not against a quota or the operator's word.
func TestPlacesFor(t *testing.T) {
	for _, c := range []struct {
		now, machine int
		variable     string
		want         int
	}{
		{2, 2, "", 2 + morePlaces}, {32, 32, "", 32 + morePlaces},
		{2, 32, "", 2}, // a quota
		{2, 2, "2", 2}, {7, 2, "7", 7},
	} {
		if got := placesFor(c.now, c.machine, c.variable); got != c.want {
			t.Errorf("%d of %d processors, GOMAXPROCS=%q: %d, want %d", c.now, c.machine, c.variable, got, c.want)
		}
	}
}

// TestPlaces: a search beside a crawl raises GOMAXPROCS, for all engines once, and the last engine puts it back, when
// no search has come for some time or at the end. What else an engine does by the number of processors does not change.
func TestPlaces(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	before := runtime.GOMAXPROCS(runtime.NumCPU())
	defer runtime.GOMAXPROCS(before)
	few, many := runtime.NumCPU(), runtime.NumCPU()+morePlaces
	wait := func(want int) {
		t.Helper()
		for n := 0; runtime.GOMAXPROCS(0) != want; n++ {
			if n == 60_000 {
				t.Fatalf("GOMAXPROCS is %d, want %d", runtime.GOMAXPROCS(0), want)
			}
			time.Sleep(time.Millisecond)
		}
	}
	var a, b places
	a.searched()
	wait(many)
	if n := defaultProcessors(); n != few {
		t.Errorf("%d processors while searches are preferred, want %d", n, few)
	}
	b.searched()
	a.searched()
	for n := 0; ; n++ { // until b counts, too
		b.mu.Lock()
		counts := b.counts
		b.mu.Unlock()
		if counts {
			break
		}
		time.Sleep(time.Millisecond)
	}
	a.close()
	if n := runtime.GOMAXPROCS(0); n != many {
		t.Errorf("GOMAXPROCS is %d after the first engine's end, want %d", n, many)
	}
	b.last.Store(int64(sinceStart() - placesSpan)) // no search has come since
	b.step()
	wait(few)
	b.searched() // one comes again
	wait(many)
	b.close()
	wait(few)
	for _, c := range []struct{ prefers, idle, want bool }{
		{true, false, true}, {true, true, false}, {false, false, false},
	} {
		w := work{o: Options{PreferSearches: c.prefers}}
		w.idle.Store(c.idle)
		w.prefer()
		if got := w.places.timing.Load(); got != c.want {
			t.Errorf("%+v: makes room %t", c, got)
		}
		w.places.close()
	}
	b.searched()
	b.close()
	if n := defaultProcessors(); n != few {
		t.Errorf("%d processors afterwards, want %d", n, few)
	}
}
