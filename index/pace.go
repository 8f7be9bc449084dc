// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"sync/atomic"
	"time"
)

// Pace has searches go first where work that nobody waits for shares the processors with them. It keeps a balance: what
// its users worked may be waited for, no more. So they stand still while a search runs, as long as searches take less
// than half of the time, keep at least half of their speed while there is always a search, and lose nothing while there
// is none.
//
// Tried first: a wait of ten sleeps of half a millisecond before each document, whatever that took. A sleep is as long
// as the system's timer has it, so ten took 14.6 ms, and 1,000 documents 14.6 s in place of .075 s while one search was
// open. Then, waits for no more than was worked since the search began: the 99th percentile of searches of 10^6
// documents, beside a crawl at full speed on two processors, was 57 ms, and is 33 with the credit. Any goroutine may
// call its methods.
//
// While only fetchers, Builders and merges gave way, a third of what a crawl does went on: updatedb, dedup and what
// else sorts and joins. With these the 99th percentile, beside a crawl of 50,000 pages at full speed into 10^6, was 95
// and 81 ms in place of 165 and 137, in turns, and the crawl was as fast.
type Pace struct {
	x *Index
	// balance is the work, in nanoseconds, that was not waited for yet, giveWayCredit at most. It is below 0 after a
	// sleep that took longer than it should: the next wait is later then.
	balance atomic.Int64
}

const (
	// giveWayCredit bounds the balance, and so the time for which work stands still at once. Nearly all searches end
	// earlier.
	giveWayCredit = 200 * time.Millisecond
	// giveWayLeast is the work for which a wait is worth while: with less the timer's steps, of a millisecond or so,
	// would decide how long waits are.
	giveWayLeast = 2 * time.Millisecond
	giveWayStep  = 500 * time.Microsecond
)

// Answering has what gives way do so, as for a search that runs, until end is called: for what somebody waits for
// beside Search, such as the texts of its hits. Beside a crawl at full speed, these took ten times as long as alone in
// one answer of ten.
func (x *Index) Answering() (end func()) {
	x.answering.Add(1)
	return func() { x.answering.Add(-1) }
}

// NewPace returns the Pace of some goroutines that do one kind of work.
func (x *Index) NewPace() *Pace { return &Pace{x: x} }

// Worked says how long its caller worked, and returns when no search runs, or when the balance is used up.
func (p *Pace) Worked(d time.Duration) {
	if p.balance.Add(int64(d)) > int64(giveWayCredit) {
		p.balance.Store(int64(giveWayCredit)) // what a goroutine spends at this moment is not worth a lock
	}
	for p.x.answering.Load() > 0 {
		balance := p.balance.Load()
		if balance < int64(giveWayLeast) {
			return
		}
		if p.balance.CompareAndSwap(balance, balance-int64(giveWayLeast)) {
			p.wait()
		}
	}
}

// wait sleeps until no search runs, or for the part of the balance that its caller took, and gives back what is left.
func (p *Pace) wait() {
	start := p.x.clock.now()
	waited := time.Duration(0)
	for ; p.x.answering.Load() > 0 && waited < giveWayLeast; waited = p.x.clock.now().Sub(start) {
		p.x.gaveWay.Add(1)
		p.x.clock.sleep(min(giveWayStep, giveWayLeast-waited))
	}
	p.balance.Add(int64(giveWayLeast - waited))
}

// clock is the time by which work gives way. Tests have one that they move.
type clock struct {
	now   func() time.Time
	sleep func(time.Duration)
}

// Yield has merges work for one part in yieldParts of the time only, until it is called with false: somebody waits for
// other work, and nobody for merges. A large one takes minutes then in place of one. While there are many index
// segments, which make searches slow, merges yield to nobody.
func (x *Index) Yield(on bool) { x.yielding.Store(on) }

const (
	yieldParts = 4
	// yieldMost bounds one sleep, where the work before it was held up itself.
	yieldMost = 50 * time.Millisecond
	// yieldSegments is the number of index segments above which merges do not yield. A crawl makes some dozen while
	// one merge lasts.
	yieldSegments = 64
)

// pace keeps a merge from standing in the way: after each paceUnits of work it looks at its context, and gives way to
// searches, and to what Yield stands for.
type pace struct {
	ctx    context.Context
	x      *Index
	way    *Pace
	units  int       // since the last look
	since  time.Time // when the work since then began
	yields bool
}

const (
	// paceUnits is about half a millisecond of work. A unit is a posting; a document and a term take about as much as
	// some.
	paceUnits           = 4096
	docUnits, termUnits = 8, 4
)

// newPace is of a merge while there are some index segments.
func (x *Index) newPace(ctx context.Context, segments int) *pace {
	return &pace{ctx: ctx, x: x, way: x.NewPace(), since: x.clock.now(), yields: segments <= yieldSegments}
}

// step counts work. Its error is that of the context.
func (p *pace) step(units int) error {
	if p.units += units; p.units < paceUnits {
		return nil
	}
	p.units = 0
	worked := p.x.clock.now().Sub(p.since)
	if p.way.Worked(worked); p.yields && p.x.yielding.Load() {
		p.x.clock.sleep(min((yieldParts-1)*worked, yieldMost))
	}
	p.since = p.x.clock.now()
	return p.ctx.Err()
}
