// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// powerLoss is a moment at which the power fails: what the disk keeps, and what was acknowledged by then.
type powerLoss struct {
	fs    *storage.CrashableFS
	acked map[string]bool
}

// TestPowerLoss crawls on a file system that can lose what was not synced. It takes snapshots at many moments, from
// before the first write to after the last phase, and opens each. The store always opens, nothing acknowledged is
// missing, and every cross-reference holds. A crawl that goes on from a snapshot ends as if nothing had happened.
func TestPowerLoss(t *testing.T) {
	for name, moments := range map[string]int{
		"any host": 300, "seeds' domains": 100, "redirecting seeds, hosts": 100, "redirecting seeds, folders": 100,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := equalWebs[name]
			if name == "any host" {
				start = func(t *testing.T) equalWeb { return anyHostWeb(t, 6, 20) }
			}
			if testing.Short() {
				moments /= 5
			}
			w := start(t)
			losses, want := losePower(t, w, moments)
			if len(losses) < moments*2/3 {
				t.Errorf("only %d moments were tried", len(losses))
			}
			for i, l := range losses {
				if testing.Short() && i%4 != 3 { // events have added to the moments
					continue
				}
				openAfter(t, w, l)
				if i%20 == 7 {
					goOnAfter(t, w, l, want)
				}
				if t.Failed() {
					t.Fatalf("moment %d of %d", i, len(losses))
				}
			}
		})
	}
}

// losePower crawls, and returns the snapshots that it took and the digest of the whole crawl.
func losePower(t *testing.T, w equalWeb, moments int) (losses []powerLoss, want string) {
	fs := storage.NewCrashableFS()
	rng := rand.New(rand.NewPCG(3, 3))
	var mu sync.Mutex // guards all below
	acked := map[string]bool{}
	snapshot := func() {
		mu.Lock()
		defer mu.Unlock()
		percent := []int{0, 10, 50, 90, 100}[rng.IntN(5)]
		known := maps.Clone(acked) // before the snapshot: what is acknowledged later may be missing in it
		losses = append(losses, powerLoss{fs.Crash(percent, rng.Uint64()), known})
	}
	o := w.options("/crawl")
	o.FS = fs
	o.Events.PageStored = func(u urlkey.URL, _ *storage.FetchOutcome) {
		mu.Lock()
		acked[u.String()] = true
		mu.Unlock()
	}
	o.Events.SegmentState = func(uint32, storage.SegmentState) { snapshot() }
	o.Events.PhaseDone = func(engine.Report) { snapshot() }
	// Take as many snapshots between those moments as there is time for. Once there are enough, end: a goroutine that
	// only watched would take the processor from the crawl.
	ended, watched := make(chan struct{}), make(chan struct{})
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(losses) >= moments
	}
	go func() {
		defer close(watched)
		for !enough() {
			select {
			case <-ended:
				return
			default:
				snapshot()
				runtime.Gosched()
			}
		}
	}()
	crawlInTurns(t, o, w.seeds, 0)
	close(ended)
	<-watched
	o.Events = engine.EventListener{}
	e := open(t, o)
	defer mustClose(t, e)
	return losses, digest(t, e)
}

// goOnAfter crawls on from what a power loss left, and compares the end with that of an undisturbed crawl.
func goOnAfter(t *testing.T, w equalWeb, l powerLoss, want string) {
	t.Helper()
	o := w.options("/crawl")
	o.FS = l.fs
	crawlInTurns(t, o, w.seeds, 0)
	e := open(t, o)
	defer mustClose(t, e)
	sameDigest(t, digest(t, e), want)
}

// openAfter opens what a power loss left, recovers and checks.
func openAfter(t *testing.T, w equalWeb, l powerLoss) {
	t.Helper()
	o := w.options("/crawl")
	o.FS = l.fs
	e, err := engine.Open(o)
	if err != nil {
		t.Errorf("the store does not open: %v", err)
		return
	}
	defer mustClose(t, e)
	if err := e.Recover(context.Background()); err != nil {
		t.Error(err)
		return
	}
	for u := range l.acked {
		if r, err := e.Inspect().Record(u); err != nil || r.LastFetch.IsZero() {
			t.Errorf("%s was acknowledged and is lost: %v", u, err)
		}
	}
	verify(t, e)
}
