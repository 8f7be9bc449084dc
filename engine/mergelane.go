// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"
)

// merges runs merges of index segments beside a crawl, on a goroutine of its own: a large merge takes minutes, and new
// pages must be searchable meanwhile.
type merges struct {
	due     chan struct{} // holds one signal, for any number of new index segments
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// start begins to merge whenever begin says so. fail is told the first error.
func (m *merges) start(w *work, abort context.Context, fail func(error)) {
	ctx, cancel := context.WithCancel(abort)
	m.due, m.cancel = make(chan struct{}, 1), cancel
	m.running.Add(1)
	go func() {
		defer m.running.Done()
		for range m.due {
			if _, err := w.mergeIndex(ctx, w.index.Merge); err != nil && ctx.Err() == nil {
				fail(err)
				return
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

// end waits for what is to be merged. After a crawl that failed it cuts that short: the next one merges it.
func (m *merges) end(well bool) {
	if !well {
		m.cancel()
	}
	close(m.due)
	m.running.Wait()
	m.cancel()
}
