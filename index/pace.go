// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"time"
)

// pace keeps a merge from standing in the way: after each paceUnits of work it looks at its context, and lets the
// searches that run at that moment go first.
type pace struct {
	ctx   context.Context
	x     *Index
	units int // since the last look
}

const (
	// paceUnits is about half a millisecond of work. A unit is a posting; a document and a term take about as much as
	// some.
	paceUnits           = 4096
	docUnits, termUnits = 8, 4
	// giveWayMost is how long a merge waits for searches at a look. So it goes on, at a tenth of its speed or so,
	// even if there is always a search.
	giveWayMost = 5 * time.Millisecond
	giveWayStep = 500 * time.Microsecond
)

// step counts work. Its error is that of the context.
func (p *pace) step(units int) error {
	if p.units += units; p.units < paceUnits {
		return nil
	}
	p.units = 0
	p.x.GiveWay()
	return p.ctx.Err()
}

// GiveWay returns when no search runs, or after a few milliseconds: a hint that work which nobody waits for, and which
// shares processors with searches, may follow now and then.
func (x *Index) GiveWay() {
	for waited := time.Duration(0); x.searching.Load() > 0 && waited < giveWayMost; waited += giveWayStep {
		x.gaveWay.Add(1)
		time.Sleep(giveWayStep)
	}
}
