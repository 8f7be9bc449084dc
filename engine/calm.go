// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/storage"
)

// A deletion needs every outcome of what it deletes to be in all key ranges: what is still on its way would come back.
// So a running crawl is made calm first. Fetchers begin nothing, requests for what is deleted are cut off, the open
// segment is replaced, and the lanes take it and those before it through their phases. Other requests under way go on,
// into the new segment. Then the deletion runs, on the goroutine that called Delete, and fetchers go on.

// errNotCalm says that a crawl could not be made calm, because it ends.
var errNotCalm = errors.New("the crawl is about to end")

// calms are the deletions that wait for a crawl. They have their turns one after the other.
type calms struct {
	mu     sync.Mutex
	list   []*calm
	closed bool // the crawl ends: none is added any more
}

// calm is one of them.
type calm struct {
	has     func(key []byte) bool // URLs that are deleted
	reached chan struct{}         // closed when the crawl is calm
	over    chan struct{}         // closed by the deletion at its end
	failed  chan struct{}         // closed when the crawl ends before it is calm
	open    uint32                // the open segment, which has nothing of the deletion; set before reached

	// These belong to the conducting goroutine.
	d       *visit.Deletion
	rotated bool
	done    bool // reached is closed
}

// ask has a crawl made calm. The caller waits for reached or failed. The error is errNotCalm.
func (qs *calms) ask(has func(key []byte) bool) (*calm, error) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.closed {
		return nil, errNotCalm
	}
	q := &calm{
		has: has, reached: make(chan struct{}), over: make(chan struct{}), failed: make(chan struct{}),
	}
	qs.list = append(qs.list, q)
	return q, nil
}

// first returns the deletion whose turn it is; nil: there is none.
func (qs *calms) first() *calm {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if len(qs.list) == 0 {
		return nil
	}
	return qs.list[0]
}

// drop ends the turn of the first.
func (qs *calms) drop() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.list = qs.list[1:]
}

// close refuses further deletions, and those for which the crawl is not calm yet.
func (qs *calms) close() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.closed = true
	for _, q := range qs.list {
		if !q.done {
			close(q.failed)
		}
	}
	qs.list = nil
}

// tend takes the first deletion a step on. The conducting goroutine calls it at each look.
func (c *conductor) tend(f *fetching) error {
	q := c.calms.first()
	switch {
	case q == nil:
		return nil
	case q.d == nil:
		q.d = f.pool.Deleting(q.has)
	case q.done:
		select {
		case <-q.over:
			c.letGo(f, q)
			c.calms.drop()
		default:
		}
	case !q.rotated:
		return c.replaceFor(f, q)
	case c.updating.Load() == 0:
		seg := f.pool.Segment().Number()
		err := c.w.requireLinked(seg)
		if err == nil {
			q.open, q.done = seg, true
			close(q.reached)
		} else if !errors.Is(err, ErrWrongState) {
			return err
		}
	}
	return nil
}

// replaceFor replaces the open segment when nothing of a deletion is on its way into it.
func (c *conductor) replaceFor(f *fetching, q *calm) error {
	switch {
	case f.pool.Requested(q.d):
		return nil
	case f.pool.Segment().Size().Pages == 0:
	case len(c.toUpdate) == cap(c.toUpdate):
		return nil // the lane catches up
	default:
		if err := c.rotate(f.pool); err != nil {
			return err
		}
	}
	q.rotated = true
	return nil
}

// letGo lets fetchers go on after a deletion.
func (c *conductor) letGo(f *fetching, q *calm) {
	f.pool.EndDeleting(q.d)
	f.pool.Notify()
}

// makeCalm makes the crawl calm for a deletion. The caller calls over when nothing of it can come back, or when it
// has failed. The error is errNotCalm when the crawl ends before it is calm.
func (c *conductor) makeCalm(ctx context.Context, has func(key []byte) bool) (open uint32, over func(), err error) {
	q, err := c.calms.ask(has)
	if err != nil {
		return 0, nil, err
	}
	end := sync.OnceFunc(func() { close(q.over) })
	select {
	case <-q.reached:
		return q.open, end, nil
	case <-q.failed:
		return 0, nil, errNotCalm
	case <-ctx.Done():
		end() // the conductor finds it over when its turn has come
		return 0, nil, ctx.Err()
	}
}

// deleteBeside deletes, beside the running crawl if there is one. When the crawl is about to end, it waits for that.
func (e *Engine) deleteBeside(ctx context.Context, targets []string) (DeleteReport, error) {
	for busy := 0; ; {
		if e.running.TryLock() {
			defer e.running.Unlock()
			return e.w.deleteTargets(ctx, targets, nil)
		}
		if c := e.crawl.Load(); c != nil {
			busy = 0
			r, err := e.w.deleteTargets(ctx, targets, c)
			if !errors.Is(err, errNotCalm) {
				c.indexed.Add(-int64(r.Documents))
				return r, err
			}
		} else if busy++; busy > 20 { // a crawl that begins or ends is not seen for a moment
			return DeleteReport{}, wrapf(ErrBusy, "deleting")
		}
		select {
		case <-ctx.Done():
			return DeleteReport{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// requireLinked refuses to delete while the outcomes of a segment are not in every range: they would come back. The
// open segment of a crawl that is calm has none of them; 0: there is none.
func (w *work) requireLinked(open uint32) error {
	list, err := w.store.SegmentList()
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.Number == open && s.State == storage.SegmentOpen {
			continue
		}
		waits, err := w.waitsForFetch(s)
		if err != nil {
			return err
		}
		if !waits && s.State < storage.SegmentLinked {
			return notLinked(s)
		}
	}
	return nil
}
