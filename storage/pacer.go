// SPDX-License-Identifier: Apache-2.0

package storage

import "time"

// Pacer has a loop give way to work that is more urgent. It belongs to one goroutine. The zero value gives way to
// nothing.
type Pacer struct {
	giveWay func(worked time.Duration)
	steps   int
	since   time.Time // zero until the first step
}

// NewPacer returns a Pacer that calls giveWay after each 64 steps, with the time since the call before; nil: nobody is
// called.
func NewPacer(giveWay func(worked time.Duration)) Pacer { return Pacer{giveWay: giveWay} }

// pacerSteps is so few because what is done in a step may take 100 µs, and so many because it may take .1.
const pacerSteps = 64

// Step counts a step, and gives way if it is time.
func (p *Pacer) Step() {
	if p.steps++; p.giveWay == nil || p.steps%pacerSteps != 1 {
		return
	}
	if !p.since.IsZero() {
		p.giveWay(time.Since(p.since))
	}
	p.since = time.Now()
}
