// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"math/rand/v2"
	"net/netip"
	"time"
)

// OutcomeKind is what became of a visit, as far as politeness goes.
type OutcomeKind uint8

// The kinds.
const (
	Fetched     OutcomeKind = iota // the host answered
	HostFailure                    // no answer: DNS, connection, timeout
	Throttled                      // 429, 503 or the like: come back later
	Skipped                        // no request was made
)

// Outcome is what a fetcher reports of a visit.
type Outcome struct {
	Kind         OutcomeKind
	Start, End   time.Time     // of the request; zero End means now
	ResponseTime time.Duration // to the first byte
	RetryAfter   time.Duration // asked for by the host, or with HostFailure how long to let it sleep; 0: not
	CrawlDelay   time.Duration // of robots.txt; 0: none or not known
	Addr         netip.Addr    // that was asked; zero: not known
	// Again puts the URL back: it was not asked for, the visit went to something else of the host.
	Again bool
}

// delay is the least time from the end of a visit to the next start on the same host.
func (o *Options) delay(v *visitState) time.Duration {
	d := max(o.Delay, min(v.crawlDelay, o.MaxCrawlDelay))
	return max(d, time.Duration(o.ResponseFactor*float64(v.responseTime)))
}

// after computes when a host may be asked next, from the outcome of a visit that ended at end, and
// whether it falls asleep until then.
func (o *Options) after(v *visitState, out *Outcome, end time.Time, rng *rand.Rand) (next time.Time, asleep bool) {
	delay := o.delay(v)
	switch out.Kind {
	case Fetched:
		v.failures, v.throttles = 0, 0
	case Skipped:
		return v.next, false // nothing was asked, so nothing is owed
	case Throttled:
		wait := out.RetryAfter
		if wait <= 0 {
			wait = doubled(throttleBase, v.throttles, retryMax)
		}
		v.throttles++
		return end.Add(max(delay, min(wait, retryMax))), false
	case HostFailure:
		if out.RetryAfter > 0 { // the caller knows better when to try again
			return end.Add(max(delay, min(out.RetryAfter, retryMax))), true
		}
		v.failures++
		if v.failures >= o.MaxFailures {
			return end.Add(jitter(doubled(sleepBase, v.sleeps, sleepMax), rng)), true
		}
		return end.Add(max(delay, jitter(doubled(max(o.Delay, failureBase), v.failures-1, failureMax), rng))), false
	}
	return end.Add(delay), false
}

// doubled is base·2ⁿ, at most most.
func doubled(base time.Duration, n int, most time.Duration) time.Duration {
	return min(base<<min(n, 20), most)
}

// jitter lengthens d by up to a tenth, so that hosts that failed together do not come back together.
func jitter(d time.Duration, rng *rand.Rand) time.Duration {
	return d + time.Duration(rng.Int64N(int64(d)/10+1))
}
