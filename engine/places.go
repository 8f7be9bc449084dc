// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// morePlaces is how many more goroutines may run at once than there are processors, while searches come beside a
// crawl. With one place a processor, a search that wakes up stands in line behind all goroutines that are ready to
// run, each of which keeps its place for up to 10 ms. With more places than the engine has work for, it begins at
// once, on a thread that the system prefers to those that have run for long. Searches over 10^6 documents beside a
// crawl at full speed, on two processors, 99th percentile in runs of 250: 146 to 215 ms with none more, 62 and 76 with
// 6, 44 to 90 with 14, 59 with 30. More threads cost a crawl about a tenth more processor time, so there are none more
// while nobody searches.
const morePlaces = 14

// placesSpan is how long places are kept after a search.
const placesSpan = 10 * time.Second

// placesFor is GOMAXPROCS while searches are preferred, on a machine with a number of processors, of which now are
// used. Whoever sets the variable GOMAXPROCS means it. Where a quota leaves a process fewer than there are, threads
// side by side would use it up at once, and then all of them would stand still for the rest of its period.
func placesFor(now, machine int, variable string) int {
	if variable != "" || now != machine {
		return now
	}
	return now + morePlaces
}

// preferred counts the engines in this process that prefer searches now. GOMAXPROCS is of the process, so the first of
// them changes it and the last one changes it back.
var preferred struct {
	mu            sync.Mutex
	engines       int
	before, after int // GOMAXPROCS, while engines is not 0
}

// preferSearches adds delta engines to preferred.
func preferSearches(delta int) {
	preferred.mu.Lock()
	defer preferred.mu.Unlock()
	was := preferred.engines
	preferred.engines += delta
	switch {
	case was == 0: // where nothing is to change, Go goes on following the quota
		preferred.before = runtime.GOMAXPROCS(0)
		preferred.after = placesFor(preferred.before, runtime.NumCPU(), os.Getenv("GOMAXPROCS"))
		if preferred.after != preferred.before {
			runtime.GOMAXPROCS(preferred.after)
		}
	case preferred.engines == 0 && preferred.after != preferred.before &&
		runtime.GOMAXPROCS(0) == preferred.after: // nobody else has changed it
		runtime.GOMAXPROCS(preferred.before)
	}
}

// defaultProcessors is GOMAXPROCS without what preferSearches did.
func defaultProcessors() int {
	preferred.mu.Lock()
	defer preferred.mu.Unlock()
	if n := runtime.GOMAXPROCS(0); preferred.engines == 0 || n != preferred.after {
		return n
	}
	return preferred.before
}

// places makes room for searches of one engine: it counts in preferred from a search beside a crawl on, until
// placesSpan has passed without another one. GOMAXPROCS changes on the timer's goroutine, for that waits until garbage
// collection pauses. The zero value is ready. Safe for concurrent use.
type places struct {
	last   atomic.Int64 // when a search came last: sinceStart, which no change of the clock moves
	timing atomic.Bool  // step is due or runs

	mu     sync.Mutex
	timer  *time.Timer
	counts bool // in preferred
	closed bool
}

// placesEpoch is a moment before all searches.
var placesEpoch = time.Now()

func sinceStart() time.Duration { return time.Since(placesEpoch) }

// searched notes a search beside a crawl.
func (p *places) searched() {
	p.last.Store(int64(sinceStart()))
	if p.timing.Load() || !p.timing.CompareAndSwap(false, true) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.timer = time.AfterFunc(0, p.step)
	}
}

// step makes room at first, then waits, and ends when no searches come.
func (p *places) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if !p.counts {
		p.counts = true
		preferSearches(+1)
	}
	if left := placesSpan - (sinceStart() - time.Duration(p.last.Load())); left > 0 {
		p.timer.Reset(left)
		return
	}
	p.stop()
	p.timing.Store(false)
}

func (p *places) stop() {
	if p.counts {
		p.counts = false
		preferSearches(-1)
	}
}

// close takes the room back. Searches after it make none.
func (p *places) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.closed = true
	p.stop()
}
