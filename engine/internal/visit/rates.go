// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Rate counts the outcomes of one host in a recent span of time. Every outcome counts once it is durable.
type Rate struct {
	Host   urlkey.HostKey
	Pages  uint64 // fetched
	Failed uint64 // as in segment.Counts
	Bytes  uint64 // received
}

// rates counts the outcomes of the last minute by host, in steps. A map for each step, filled and dropped as a whole,
// costs a page one look-up; counters that decay would cost each look at them a pass over all hosts.
type rates struct {
	mu    sync.Mutex
	steps [rateSteps]map[urlkey.HostKey]*Rate
	begun [rateSteps]int64 // number of the step since the epoch; what is older than a minute does not count
	first time.Time        // of all
}

// add counts outcomes.
func (r *rates) add(now time.Time, stored []segment.Stored) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.IsZero() {
		r.first = now
	}
	number := now.UnixNano() / int64(rateStep)
	at := number % rateSteps
	if r.begun[at] != number || r.steps[at] == nil {
		r.begun[at], r.steps[at] = number, map[urlkey.HostKey]*Rate{}
	}
	by := r.steps[at]
	for i := range stored {
		host := stored[i].URL.HostKey()
		c := by[host]
		if c == nil {
			if len(by) >= rateHostsMax {
				continue
			}
			c = &Rate{Host: host}
			by[host] = c
		}
		c.count(&stored[i].Outcome)
	}
}

func (r *Rate) count(o *storage.FetchOutcome) {
	r.Bytes += uint64(o.Bytes)
	switch {
	case o.Status == storage.FetchSuccess:
		r.Pages++
	case segment.IsFailed(o):
		r.Failed++
	}
}

// add adds the counts of the same host.
func (r *Rate) add(more *Rate) {
	r.Pages, r.Failed, r.Bytes = r.Pages+more.Pages, r.Failed+more.Failed, r.Bytes+more.Bytes
}

// top returns the n hosts with the most pages, most first, and the span of time that was counted: up to a minute, and
// less when the run began since.
func (r *rates) top(now time.Time, n int) (list []Rate, span time.Duration) {
	sums := map[urlkey.HostKey]*Rate{}
	span = r.each(now, func(by map[urlkey.HostKey]*Rate) {
		for host, c := range by {
			if sum := sums[host]; sum != nil {
				sum.add(c)
			} else {
				copied := *c
				sums[host] = &copied
			}
		}
	})
	for _, sum := range sums {
		list = append(list, *sum)
	}
	slices.SortFunc(list, func(a, b Rate) int {
		return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Host, b.Host))
	})
	return slices.Clip(list[:min(n, len(list))]), span
}

// of returns the counts of one host, and the span of time as top does.
func (r *rates) of(now time.Time, host urlkey.HostKey) (sum Rate, span time.Duration) {
	sum.Host = host
	span = r.each(now, func(by map[urlkey.HostKey]*Rate) {
		if c := by[host]; c != nil {
			sum.add(c)
		}
	})
	return sum, span
}

// each calls fn with the counts of each step of the last minute, and returns the time that they span.
func (r *rates) each(now time.Time, fn func(map[urlkey.HostKey]*Rate)) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	number := now.UnixNano() / int64(rateStep)
	for i, by := range r.steps {
		if by != nil && number-r.begun[i] < rateSteps {
			fn(by)
		}
	}
	// The current step is not full; those before it are.
	span := time.Duration(now.UnixNano()%int64(rateStep)) + (rateSteps-1)*rateStep
	return max(min(span, now.Sub(r.first)), 0)
}
