// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// merges runs merges of index segments beside a crawl, on a goroutine of its own: a large merge takes minutes, and new
// pages must be searchable meanwhile. Every now and then it settles what the crawl has: one goroutine does both,
// because new anchors are written fast only while nothing is merged.
type merges struct {
	due     chan struct{} // holds one signal, for any number of new index segments
	cancel  context.CancelFunc
	settled context.CancelFunc // cuts short what settles
	running sync.WaitGroup
	first   atomic.Bool // the first call has not returned yet: it merges what the crawl before left
	late    atomic.Bool // the end of the crawl has waited long enough
}

// mergeWork is what merges does. fail is told the first error.
type mergeWork struct {
	merge, settle func(context.Context) error
	settleEvery   time.Duration // from the end of one to the next
	fail          func(error)
}

// start calls do.merge whenever begin says so, and do.settle whenever its time has come.
func (m *merges) start(abort context.Context, do mergeWork) {
	ctx, cancel := context.WithCancel(abort)
	settling, settled := context.WithCancel(ctx)
	m.first.Store(true)
	m.due, m.cancel, m.settled = make(chan struct{}, 1), cancel, settled
	m.running.Add(1)
	go func() {
		defer m.running.Done()
		settle := time.NewTimer(do.settleEvery)
		defer settle.Stop()
		for {
			var err error
			select {
			case _, more := <-m.due:
				if !more {
					return
				}
				err = do.merge(ctx)
				m.first.Store(false)
			case <-settle.C:
				if err = do.settle(settling); settling.Err() == nil {
					settle.Reset(do.settleEvery)
				} else {
					err = nil // the end of the crawl does it
				}
			}
			if err != nil && ctx.Err() == nil {
				do.fail(err)
				return
			}
			if m.late.Load() && !m.first.Load() {
				cancel()
			}
		}
	}()
}

// begin has merged what is to be merged, soon.
func (m *merges) begin() {
	select {
	case m.due <- struct{}{}:
	default:
	}
}

// end waits for what is to be merged, for some time, and cuts short what takes longer; after a crawl that failed it
// does so at once. The next crawl, `seine serve` and `seine index` merge what is left. A crawl of 10^6 pages waited 16
// seconds for a merge of most documents, when the refresh that followed was about to replace nearly all of them. What
// the crawl before left is merged whole, however long that takes: many short crawls would begin it again and again.
func (m *merges) end(well bool, most time.Duration) {
	close(m.due)
	m.settled()
	if !well {
		m.cancel()
	}
	cut := time.AfterFunc(most, func() {
		if m.late.Store(true); !m.first.Load() {
			m.cancel()
		}
	})
	defer cut.Stop()
	m.running.Wait()
	m.cancel()
}
