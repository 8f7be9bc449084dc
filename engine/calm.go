// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/seine-crawler/seine/engine/internal/visit"
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

// calmFunc makes a crawl calm for a deletion. open is the open segment, which has nothing of it. The caller calls over
// when nothing of the deletion can come back, or when it has failed. The error is errNotCalm when the crawl ends before
// it is calm.
type calmFunc func(ctx context.Context, has func(key []byte) bool) (open uint32, over func(), err error)

// wait has the crawl made calm for a deletion, and waits for that: a calmFunc.
func (qs *calms) wait(ctx context.Context, has func(key []byte) bool) (open uint32, over func(), err error) {
	q, err := qs.ask(has)
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
