// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// Step is a part of the work whose processor time Env.Spent reports.
type Step uint8

// The steps.
const (
	StepWARC  Step = iota // compressing, digests and writing
	StepParse             // from a response to a parse record
	StepSeal              // sorting and writing tables
)

// The first timedPages pages are timed, then one in timedEvery, which counts as that many: reading a thread's clock
// costs up to a microsecond in a virtual machine.
const (
	timedPages = 1024
	timedEvery = 8
)

// pageClock decides which pages are timed.
type pageClock struct{ pages atomic.Uint64 }

// pageTimer times the steps of one page.
type pageTimer struct {
	spent  func(Step, time.Duration)
	timer  storage.CPUTimer
	weight time.Duration // 0: this page is not timed
}

func (c *pageClock) begin(spent func(Step, time.Duration)) pageTimer {
	n := c.pages.Add(1)
	switch {
	case n <= timedPages:
		return pageTimer{spent, storage.StartCPUTimer(), 1}
	case n%timedEvery == 0:
		return pageTimer{spent, storage.StartCPUTimer(), timedEvery}
	}
	return pageTimer{}
}

// lap reports the time since the last lap.
func (t *pageTimer) lap(s Step) {
	if t.weight > 0 {
		t.spent(s, t.weight*t.timer.Lap())
	}
}

// stop is lap at the end of the page.
func (t *pageTimer) stop(s Step) {
	if t.weight > 0 {
		t.spent(s, t.weight*t.timer.Stop())
	}
}
