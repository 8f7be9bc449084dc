// SPDX-License-Identifier: Apache-2.0

package frontier

import "time"

// outcome draws the outcome of a visit, and records which delay must follow.
func (m *sim) outcome(h *hostModel, out *Outcome, urls int) {
	n := m.rng.IntN(40)
	if h.dead && n > 10 {
		n = 1
	}
	switch {
	case n == 0:
		out.Kind, out.RetryAfter = Throttled, time.Duration(m.rng.IntN(2)*m.rng.IntN(20))*time.Second
		h.owed = max(m.base(h), out.RetryAfter)
		if out.RetryAfter == 0 {
			h.owed = min(throttleDelays*max(m.base(h), failureBase)<<min(h.throttles, 20), retryMax)
		}
		h.throttles++
	case n < 3:
		out.Kind = HostFailure
		h.fails++
		h.owed = max(m.base(h), failureBase<<min(h.fails-1, 12))
		if int(h.fails) >= m.o.MaxFailures { // it fell asleep
			h.owed = sleepBase
		}
		return
	case n == 3:
		out.Kind, out.Left, out.Wait = Skipped, int32(urls), time.Duration(m.rng.IntN(3))*time.Second
		out.NoDNS = m.rng.IntN(2) == 0
		return
	case n == 6: // in full, and the failures before it stand
		out.Kind, out.Left = Repeat, int32(urls)
		h.owed = m.base(h)
	case n == 4:
		out.CrawlDelay = time.Duration(1+m.rng.IntN(400)) * time.Second
		if m.delay < 0 {
			out.CrawlDelay = time.Duration(m.rng.IntN(100)) * time.Millisecond
		}
		h.crawlDelay = out.CrawlDelay
		fallthrough
	default:
		out.Left = m.rng.Int32N(int32(urls))
		h.responded = out.ResponseTime
		if n == 5 {
			out.Wait = time.Duration(m.rng.IntN(9)) * time.Second
		}
		h.owed = max(m.base(h), out.Wait)
		h.fails, h.throttles = 0, 0
	}
}

// most is how many visits at once a host may have.
func (m *sim) most(h *hostModel) int {
	if h.perHost > 0 {
		return h.perHost
	}
	return m.o.PerHost
}

// pause records until when no visit to a host may start, whatever its other visits meet.
func (m *sim) pause(h *hostModel, out *Outcome) {
	owed := out.Wait
	if out.Kind != Fetched && out.Kind != Skipped {
		owed = h.owed
	}
	if owed > 0 {
		h.paused = max(h.paused, m.now.add(owed))
	}
	if out.Kind == HostFailure && int(h.fails) >= m.o.MaxFailures {
		h.asleep = h.paused
	}
}

// least returns a host's configured delay.
func (m *sim) least(h *hostModel) time.Duration {
	d := m.delay
	if h.own != 0 {
		d = h.own
	}
	if d == 0 {
		return time.Second
	}
	return max(d, 0)
}

// base returns the delay that must follow whatever the outcome.
func (m *sim) base(h *hostModel) time.Duration {
	d := max(m.least(h), min(h.crawlDelay, m.o.MaxCrawlDelay))
	if m.least(h) > 0 {
		d = max(d, h.responded)
	}
	return d
}

func (m *sim) addressDelay() time.Duration {
	if m.delay < 0 {
		return 0
	}
	return 250 * time.Millisecond
}
