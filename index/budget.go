// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"time"
)

// budget ends a search at its deadline or when its context ends. All work is paid for in units of about a decoded
// block, whether documents match or not, and the clock is read every clockUnits units: so a query that finds nothing in
// long lists ends in time too. One goroutine uses it.
type budget struct {
	ctx      context.Context
	deadline time.Time
	now      func() time.Time
	left     int   // units until the clock is read
	over     bool  // the time is up: iterators end, results are partial
	err      error // the first error of reading; ends the search too
	// way is of work that nobody waits for, which gives way to searches; nil: somebody does. since is when it last did.
	way   *Pace
	since time.Time
}

const (
	// clockUnits is the work between two looks at the clock. A unit takes about 1 µs and at most 50, so a search
	// notices its deadline within a millisecond or two.
	clockUnits = 32
	// positionsUnit is how many positions cost as much as a decoded block, and positionsPrice is what those of a
	// document cost on top.
	positionsUnit  = 256
	positionsPrice = 16
	// readUnits is the price of something read from the store by its key. It may be a read from disk: the clock is
	// read after four of them.
	readUnits = 8
)

// newBudget also ends at the deadline of ctx. On a busy machine the timer that ends ctx runs many milliseconds late.
func newBudget(ctx context.Context, deadline time.Time) *budget {
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	return &budget{ctx: ctx, deadline: deadline, now: time.Now, left: clockUnits}
}

// beside returns a budget for another goroutine of the same search, which join takes in at its end.
func (b *budget) beside() *budget {
	c := *b
	c.left = clockUnits
	return &c
}

func (b *budget) join(c *budget) {
	b.over = b.over || c.over
	if b.err == nil {
		b.err = c.err
	}
}

// ended returns the error of the context, also where its deadline has passed and its timer has not run yet.
func (b *budget) ended() error {
	if d, ok := b.ctx.Deadline(); ok && b.now().After(d) {
		return context.DeadlineExceeded
	}
	return b.ctx.Err()
}

// spend pays for n units of work about to be done. It returns false if the search is to end.
func (b *budget) spend(n int) bool {
	if b.left -= n; b.left < 0 {
		b.left = clockUnits
		b.giveWay()
		if !b.over && (b.ctx.Err() != nil || b.now().After(b.deadline)) {
			b.over = true
		}
	}
	return !b.over
}

// giveWay lets searches go first.
func (b *budget) giveWay() {
	if b.way != nil {
		b.way.Worked(b.way.x.clock.now().Sub(b.since))
		b.since = b.way.x.clock.now()
	}
}

// fail ends the search with an error.
func (b *budget) fail(err error) {
	if b.err == nil {
		b.err = err
	}
	b.over = true
}
