// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// closings closes Pebble's iterators. The last iterator over tables that a compaction has replaced takes their blocks
// out of the cache when it is closed, five at a time, and lets all other goroutines run between two times. After a
// compaction of linkdb these were 12,000 turns of 0.2 ms, in 3 s of a crawl of 10^6 pages, of the goroutine that
// indexes and for which the whole crawl waited (2026-11-27, go tool trace); a search or a fetcher may have been the
// last as well. So an iterator that a compaction has overtaken is closed on a goroutine of its own. Store.Close waits
// for those.
type closings struct {
	compactions atomic.Uint64 // that ended so far
	mu          sync.Mutex
	ended       bool // nothing is closed elsewhere any more
	running     sync.WaitGroup
	begin       func(task func()) // tests; nil: on a goroutine
}

// listen counts compactions, beside what the listener does.
func (c *closings) listen(l *pebble.EventListener) {
	before := l.CompactionEnd
	l.CompactionEnd = func(i pebble.CompactionInfo) {
		before(i)
		c.compactions.Add(1)
	}
}

// now is what close is to be told of an iterator that is opened after the call.
func (c *closings) now() uint64 { return c.compactions.Load() }

// close closes an iterator and returns its error, now or soon after. Nobody may use it any more.
func (c *closings) close(it *pebble.Iterator, opened uint64) error {
	if c.compactions.Load() == opened {
		return it.Close()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return it.Close()
	}
	err := it.Error() // which Close would return
	task := func() { _ = it.Close() }
	if c.begin != nil {
		c.begin(task)
	} else {
		c.running.Go(task)
	}
	return err
}

// end waits for what is being closed. From then on close does it at once.
func (c *closings) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.running.Wait()
}
