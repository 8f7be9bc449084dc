// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// merges runs merges of index segments beside a crawl, on a goroutine of its own: a large merge takes minutes, and new
// pages must be searchable meanwhile.
type merges struct {
	due     chan struct{} // holds one signal, for any number of new index segments
	cancel  context.CancelFunc
	running sync.WaitGroup
	first   atomic.Bool // the first call has not returned yet: it merges what the crawl before left
	late    atomic.Bool // the end of the crawl has waited long enough
}

// start calls merge whenever begin says so. fail is told the first error.
func (m *merges) start(abort context.Context, merge func(context.Context) error, fail func(error)) {
	ctx, cancel := context.WithCancel(abort)
	m.first.Store(true)
	m.due, m.cancel = make(chan struct{}, 1), cancel
	m.running.Add(1)
	go func() {
		defer m.running.Done()
		for range m.due {
			if err := merge(ctx); err != nil && ctx.Err() == nil {
				fail(err)
				return
			}
			if m.first.Store(false); m.late.Load() {
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
