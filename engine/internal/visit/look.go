// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// What others may read of a pool while it runs. None of it waits for a visit.

// Doing counts the fetchers by what they do, those that are about to be dismissed included. Any goroutine may call it.
func (p *Pool) Doing() (by [DoingCount]int) {
	open := p.gate.isOpen()
	p.crew.mu.Lock()
	defer p.crew.mu.Unlock()
	for _, f := range p.crew.all {
		switch {
		case !f.idle.Load():
			by[f.flight.doing.now()]++
		case open:
			by[DoingIdle]++
		default:
			by[DoingHeld]++
		}
	}
	return by
}

// SegmentHeld returns the bytes of parse records of the open segment; false: it is being replaced. Any goroutine may
// call it; it does not wait.
func (p *Pool) SegmentHeld() (int64, bool) {
	if !p.segMu.TryRLock() {
		return 0, false
	}
	defer p.segMu.RUnlock()
	return p.seg.Held(), true
}

// Top returns the n hosts of which the most pages were fetched in the last minute, most first, and the span of time
// that was counted: up to a minute, and less when the run began since. Any goroutine may call it.
func (p *Pool) Top(n int) ([]Rate, time.Duration) { return p.rates.top(p.env.Now(), n) }

// RateOf returns what was fetched of one host, in the span of time that Top has. Any goroutine may call it.
func (p *Pool) RateOf(host urlkey.HostKey) (Rate, time.Duration) {
	return p.rates.of(p.env.Now(), host)
}
