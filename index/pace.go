// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"sync/atomic"
	"time"
)

// Pace has searches go first where work that nobody waits for shares the processors with them. It keeps a balance: what
// its users worked since the last wait may be waited for, no more. So they keep at least half of their speed while
// there is always a search, and lose nothing while there is none.
//
// Tried first: a wait of ten sleeps of half a millisecond before each document, whatever that took. A sleep is as long
// as the system's timer has it, so ten took 14.6 ms, and 1,000 documents 14.6 s in place of .075 s while one search was
// open. Now they take 1.3 times as long. Any goroutine may call its methods.
type Pace struct {
	x *Index
	// balance is the work, in nanoseconds, that was not waited for yet. It is below 0 after a sleep that took longer
	// than it should: the next wait is later then.
	balance atomic.Int64
}

const (
	// giveWayMost is the longest wait, and the work for which one is worth while: with less the timer's steps, of a
	// millisecond or so, would decide how long waits are. A search that takes longer shares the processors then.
	giveWayMost = 2 * time.Millisecond
	giveWayStep = 500 * time.Microsecond
)

// NewPace returns the Pace of some goroutines that do one kind of work.
func (x *Index) NewPace() *Pace { return &Pace{x: x} }

// Worked says how long its caller worked, and returns when no search runs, or after 2 ms at most and a step of the
// system's timer, or at once if less was worked than that since the last wait.
func (p *Pace) Worked(d time.Duration) {
	if p.x.searching.Load() == 0 {
		if p.balance.Load() > 0 { // what nobody had to wait for is no reason to wait longer later
			p.balance.Store(0)
		}
		return
	}
	if balance := p.balance.Add(int64(d)); balance < int64(giveWayMost) ||
		!p.balance.CompareAndSwap(balance, balance-int64(giveWayMost)) {
		return // or another goroutine changed the balance at this moment: it looks too
	}
	start := p.x.clock.now()
	waited := time.Duration(0)
	for ; p.x.searching.Load() > 0 && waited < giveWayMost; waited = p.x.clock.now().Sub(start) {
		p.x.gaveWay.Add(1)
		p.x.clock.sleep(min(giveWayStep, giveWayMost-waited))
	}
	p.balance.Add(int64(giveWayMost - waited))
}

// clock is the time by which work gives way. Tests have one that they move.
type clock struct {
	now   func() time.Time
	sleep func(time.Duration)
}

// pace keeps a merge from standing in the way: after each paceUnits of work it looks at its context, and gives way to
// searches.
type pace struct {
	ctx   context.Context
	x     *Index
	way   *Pace
	units int       // since the last look
	since time.Time // when the work since then began
}

const (
	// paceUnits is about half a millisecond of work. A unit is a posting; a document and a term take about as much as
	// some.
	paceUnits           = 4096
	docUnits, termUnits = 8, 4
)

func (x *Index) newPace(ctx context.Context) *pace {
	return &pace{ctx: ctx, x: x, way: x.NewPace(), since: x.clock.now()}
}

// step counts work. Its error is that of the context.
func (p *pace) step(units int) error {
	if p.units += units; p.units < paceUnits {
		return nil
	}
	p.units = 0
	p.way.Worked(p.x.clock.now().Sub(p.since))
	p.since = p.x.clock.now()
	return p.ctx.Err()
}
