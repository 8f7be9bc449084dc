// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"sync"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// flight is the request of one fetcher, which is cut off when a live filter refuses its URL. The context lasts from one
// cut to the next, so a request costs two locks and no allocation.
type flight struct {
	mu     sync.Mutex
	url    urlkey.URL // zero: nothing is requested
	ctx    context.Context
	cancel context.CancelFunc
}

// begin notes the URL of a request and returns the request's context.
func (t *flight) begin(ctx context.Context, u urlkey.URL) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx == nil || t.ctx.Err() != nil {
		t.ctx, t.cancel = context.WithCancel(ctx)
	}
	t.url = u
	return t.ctx
}

// end notes that the request ended and reports whether it was cut off. It comes after begin.
func (t *flight) end() (cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.url = urlkey.URL{}
	return t.ctx.Err() != nil
}

// stop releases the context when the fetcher ends.
func (t *flight) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel()
	}
}
