// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"sync"
	"time"

	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// flight is the request of one fetcher, which is cut off when a live filter refuses its URL, or when it is slow and too
// many others are. The context lasts from one cut to the next, so a request costs two locks and no allocation.
type flight struct {
	mu     sync.Mutex
	url    urlkey.URL // zero: nothing is requested
	asked  urlkey.URL // as url, until the outcome is stored
	ctx    context.Context
	cancel context.CancelFunc
	now    func() time.Time

	visit   *frontier.Visit // of the request; nil: it was given back
	since   time.Time       // when the request began, that for robots.txt included
	late    bool            // the visit counts for an extra fetcher: see frontier.Slow
	slowCut bool            // the request was cut off because it is slow
	waiting bool            // for memory or a connection, which is not the host's fault

	doing doing // of the fetcher; mu does not guard it
}

// begin notes a request and returns its context.
func (t *flight) begin(ctx context.Context, u urlkey.URL, v *frontier.Visit) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx == nil || t.ctx.Err() != nil {
		t.ctx, t.cancel = context.WithCancel(ctx)
	}
	t.url, t.asked, t.since, t.slowCut, t.waiting = u, u, t.now(), false, false
	if t.visit != v {
		t.visit, t.late = v, false
	}
	return t.ctx
}

// end notes that the request ended, and reports whether it was cut off, and whether that was because it is slow. It
// comes after begin.
func (t *flight) end() (cut, slow bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.url = urlkey.URL{}
	return t.ctx.Err() != nil, t.slowCut
}

// leave notes that the visit is given back to the frontier. It must not be mentioned to it any more.
func (t *flight) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.url, t.visit, t.late = urlkey.URL{}, nil, false
}

// waits notes that the request begins, or no longer has, to wait for memory or a connection. Its time begins anew then.
func (t *flight) waits(waiting bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting = waiting; !waiting {
		t.since = t.now()
	}
}

// stop releases the context when the fetcher ends.
func (t *flight) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel()
	}
}

// noteSlow tells the frontier if the request has lasted longer than slowRequest.
func (t *flight) noteSlow(f *frontier.Frontier, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.visit != nil && !t.url.IsZero() && !t.late && !t.waiting && now.Sub(t.since) >= slowRequest {
		t.late = f.Slow(t.visit)
	}
}

// slowSince returns when the request began; late: its visit counts for an extra fetcher, and it does not wait for
// memory; cut: cutSlow has cut it off.
func (t *flight) slowSince() (since time.Time, late, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.since, t.late && !t.waiting && !t.url.IsZero(), t.late && t.slowCut
}

// cutSlow cuts off the request that began then, if it is still under way.
func (t *flight) cutSlow(since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.url.IsZero() && t.since.Equal(since) {
		t.slowCut = true
		t.cancel()
	}
}

// cutDeleted cuts off the request if it is for a URL of a deletion.
func (t *flight) cutDeleted(d *Deletion) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.url.IsZero() && d.has([]byte(t.url.Key())) {
		t.cancel()
	}
}

// isOf reports whether the request, or what is stored of it, is for a URL of a deletion.
func (t *flight) isOf(d *Deletion) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.asked.IsZero() && d.has([]byte(t.asked.Key()))
}

// over notes that the URL of the request has its outcome in the segment, or has none.
func (t *flight) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = urlkey.URL{}
}
