// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"math/rand/v2"
	"net/netip"
	"time"
)

// OutcomeKind is the result of a visit as far as it matters for politeness.
type OutcomeKind uint8

// The kinds.
const (
	Fetched     OutcomeKind = iota // the host answered
	HostFailure                    // no answer: DNS, connection, timeout
	Throttled                      // 429, 503 or similar: come back later
	Skipped                        // no request was made
	Repeat                         // the last request is to be made again: it says nothing about the host
)

// Outcome is what a fetcher reports of a visit. Of a visit of several URLs it describes the last request: the visit
// ends with the first that is not answered.
type Outcome struct {
	Kind OutcomeKind
	// Local marks a HostFailure that the local network may have caused: no route, no DNS, no handshake.
	Local bool
	// NoDNS says of a Local failure that it was the lookup of the host's name, and of Skipped that no name server
	// seems to answer.
	NoDNS bool
	// Unrequested says of a HostFailure that nothing was requested, because an earlier visit had met it.
	Unrequested bool
	// Left is how many URLs at the end of the visit were not requested: they become the host's next.
	Left         int32
	End          time.Time     // of the last request; zero means now
	ResponseTime time.Duration // to the first byte
	// RetryAfter is what the host demanded, or with HostFailure how long it sleeps; 0: the frontier decides.
	RetryAfter time.Duration
	CrawlDelay time.Duration // of robots.txt; 0: not known, negative: it has none
	Addr       netip.Addr    // that answered, or that the next visit is to try; zero: not known
	// Wait is the least time to the host's next visit, for reasons of the caller; 0: none.
	Wait time.Duration
	// Bytes received and the time the visit took are its cost, for budgets.
	Bytes int64
	Took  time.Duration
}

// pace is Options.Delay with the options whose defaults depend on it, all resolved. SetDelay replaces it; nothing
// modifies it.
type pace struct {
	o            *Options      // the other options
	delay        time.Duration // of a host without a delay of its own; 0: none
	addressDelay time.Duration
	factor       float64 // times the last response time: lower bound of the delay of a host that has one
	factorNone   float64 // the same of a host whose delay is none
	perDomain    int     // 0: no bound
}

// pace resolves a value of Options.Delay. Only what Options left at 0 depends on it.
func (o *Options) pace(delay time.Duration) *pace {
	p := &pace{
		o:            o,
		delay:        delay,
		addressDelay: o.AddressDelay,
		factor:       o.ResponseFactor,
		factorNone:   o.ResponseFactor,
		perDomain:    o.PerDomain,
	}
	if delay == 0 {
		p.delay = defaultDelay
	}
	if p.addressDelay == 0 && delay >= 0 {
		p.addressDelay = defaultAddressDelay
	}
	if p.factor == 0 {
		p.factor = 1
	}
	if p.perDomain == 0 && delay >= 0 {
		p.perDomain = defaultPerDomain
	}
	p.delay, p.addressDelay = min(max(p.delay, 0), maxDelay), min(max(p.addressDelay, 0), maxDelay)
	p.perDomain = max(p.perDomain, 0)
	p.factor, p.factorNone = max(p.factor, 0), max(p.factorNone, 0)
	return p
}

// least is the delay that the configuration sets for a host: its own, or that of all hosts.
func (p *pace) least(v *visitState) time.Duration {
	if v.ownDelay == 0 {
		return p.delay
	}
	return time.Duration(max(v.ownDelay, 0)) * time.Millisecond
}

// wait is the least time from the end of a visit to the next start on the same host.
func (p *pace) wait(v *visitState) time.Duration {
	return p.delayOf(v) << v.slow
}

// between is the least time between two visits to a host: its own wait, or that of its address once that is known.
func (p *pace) between(v *visitState) time.Duration {
	if v.addr == nil {
		return p.wait(v)
	}
	return max(p.wait(v), p.addressDelay)
}

// delayOf is the host's delay while it answers as fast as usual.
func (p *pace) delayOf(v *visitState) time.Duration {
	d, factor := p.least(v), p.factor
	if d == 0 {
		factor = p.factorNone
	}
	d = max(d, min(v.crawlDelay, p.o.MaxCrawlDelay, maxDelay))
	return max(d, min(time.Duration(factor*float64(v.responseTime)), failureMax))
}

// setDelay stores Refill.Delay, in 32 bits, so that a visit state stays in its size class of 448 bytes.
func (v *visitState) setDelay(d time.Duration) {
	if d > 0 {
		d = (min(d, maxDelay) + time.Millisecond - 1) / time.Millisecond
	}
	v.ownDelay = int32(max(d, -1))
}

// noteResponse records the host's response time, and slows down when it rises well above the usual.
func (v *visitState) noteResponse(rt time.Duration) {
	v.responseTime = rt
	switch {
	case v.usualTime == 0:
		v.usualTime = rt
	case rt > 2*v.usualTime+slowStep:
		v.slow = min(v.slow+1, slowMax)
	default:
		v.slow = max(v.slow, 1) - 1
	}
	v.usualTime += (rt - v.usualTime) / 8
}

// after computes when a host may be visited next, from the outcome of a visit that ended at end, and whether it
// sleeps until then.
func (p *pace) after(v *visitState, out *Outcome, end moment, rng *rand.Rand) (next moment, asleep bool) {
	switch out.Kind {
	case Fetched:
		v.noteResponse(out.ResponseTime)
		v.failures, v.throttles, v.sleeps = 0, 0, 0
	case Skipped:
		if out.Wait > 0 {
			return max(v.next, end.add(out.Wait)), false
		}
		return v.next, false // nothing was requested, so no delay follows
	case Throttled:
		wait := out.RetryAfter
		if wait <= 0 {
			wait = doubled(throttleDelays*max(p.delayOf(v), failureBase), int(v.throttles), retryMax)
		}
		v.throttles = min(v.throttles+1, throttlesMax)
		v.slow = min(v.slow+1, slowMax)
		return end.add(max(p.wait(v), min(wait, retryMax))), false
	case HostFailure:
		if out.RetryAfter > 0 { // the caller knows when to try again
			return end.add(max(p.wait(v), min(out.RetryAfter, retryMax))), true
		}
		v.failures = min(v.failures+1, 1000)
		if int(v.failures) >= p.o.MaxFailures || v.sleeps > 0 { // once it slept, one failure is enough
			return end.add(jitter(doubled(sleepBase, int(v.sleeps), sleepMax), rng)), true
		}
		backOff := doubled(max(p.least(v), failureBase), int(v.failures)-1, failureMax)
		return end.add(max(p.wait(v), jitter(backOff, rng))), false
	}
	return end.add(max(p.wait(v), out.Wait)), false
}

// doubled returns base·2ⁿ, at most most.
func doubled(base time.Duration, n int, most time.Duration) time.Duration {
	n = min(n, 62)
	if base > most>>n { // base<<n may not fit
		return most
	}
	return base << n
}

// jitter lengthens d by up to a tenth, so that hosts that failed together do not come back together.
func jitter(d time.Duration, rng *rand.Rand) time.Duration {
	return d + time.Duration(rng.Int64N(int64(d)/10+1))
}

// moment is a time in nanoseconds since a frontier's epoch; 0 is none. It is monotonic if the clock's times have a
// monotonic reading: a jump of the wall clock then changes nothing.
type moment int64

func (m moment) add(d time.Duration) moment { return m + moment(d) }
func (m moment) sub(n moment) time.Duration { return time.Duration(m - n) }
