// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// flight is what one fetcher is asking for, so that it can be cut off when the operator no longer wants it.
// Its context lasts from one cut to the next: a fetch costs a flight two locks and nothing else.
type flight struct {
	mu     sync.Mutex
	url    urlkey.URL // zero: nothing is asked for
	ctx    context.Context
	cancel context.CancelFunc
}

// begin notes what is asked for and returns the context of asking.
func (t *flight) begin(ctx context.Context, u urlkey.URL) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx == nil || t.ctx.Err() != nil {
		t.ctx, t.cancel = context.WithCancel(ctx)
	}
	t.url = u
	return t.ctx
}

// end notes that nothing is asked for any more, and reports whether it was cut off.
func (t *flight) end() (cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.url = urlkey.URL{}
	return t.ctx.Err() != nil
}

// stop ends the flight with its fetcher.
func (t *flight) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel()
	}
}

// cutRefused cuts off what is being asked for and that filters refuse by now.
func (f *fetching) cutRefused() {
	for _, t := range f.flights {
		t.mu.Lock()
		if !t.url.IsZero() && f.e.mayChange(t.url) != "" {
			t.cancel()
		}
		t.mu.Unlock()
	}
}
