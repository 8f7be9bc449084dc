// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"sync"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// flight is what one fetcher is requesting, so that it can be cut off when the operator no longer wants it. Its
// context lasts from one cut to the next: a fetch costs a flight two locks and nothing else.
type flight struct {
	mu     sync.Mutex
	url    urlkey.URL // zero: nothing is requested
	ctx    context.Context
	cancel context.CancelFunc
}

// begin notes what is requested and returns the context of the request.
func (t *flight) begin(ctx context.Context, u urlkey.URL) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx == nil || t.ctx.Err() != nil {
		t.ctx, t.cancel = context.WithCancel(ctx)
	}
	t.url = u
	return t.ctx
}

// end notes that nothing is requested any more, and reports whether it was cut off.
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

// cutRefused cuts off what is being requested and is refused by now.
func (p *Pool) cutRefused() {
	p.crewMu.Lock()
	defer p.crewMu.Unlock()
	for _, c := range p.crew {
		t := &c.flight
		t.mu.Lock()
		if !t.url.IsZero() && !p.env.Admission.Recheck(t.url).OK() {
			t.cancel()
		}
		t.mu.Unlock()
	}
}

// followFilters has the live filters looked at now and then. What they refuse from now on is not requested any
// more, and what is under way of it is cut off: within a second in all.
func (p *Pool) followFilters(now time.Time) (changed bool) {
	if now.Sub(p.followed) < filtersInterval {
		return false
	}
	p.followed = now
	if changed = p.env.Admission.Refresh(); changed {
		p.cutRefused()
	}
	return changed
}
