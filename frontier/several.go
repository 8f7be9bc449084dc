// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"sync/atomic"
	"time"
)

// several is what a host needs that may have several visits at once: see Options.PerHost. Its visits start at least
// their part of the delay apart, and none starts in a pause that another one has met.
type several struct {
	untaken atomic.Int32 // visits made that no fetcher has taken
	started atomic.Int64 // moment when one was taken last
	pause   atomic.Int64 // moment before which none may start
}

// begin is called when a fetcher takes a visit. False: it must not start, because the host met a pause meanwhile.
// untaken comes last: a shard that sees the visit taken then sees its start.
func (h *several) begin(now moment) bool {
	defer h.untaken.Add(-1)
	if moment(h.pause.Load()) > now {
		return false
	}
	h.started.Store(int64(now))
	return true
}

// perHost is how many visits to the host may be in flight at once.
func (s *shard) perHost(v *visitState) int {
	switch {
	case v.several == nil:
		return 1
	case v.ownPerHost > 0:
		return int(v.ownPerHost)
	}
	return s.o.PerHost
}

// setPerHost stores Refill.PerHost. A host that has a visit cannot have several yet: a fetcher may look at v.several.
func (s *shard) setPerHost(v *visitState, n int) {
	v.ownPerHost = uint8(min(max(n, 0), maxOwnPerHost))
	if more := n > 1 || n <= 0 && s.o.PerHost > 1; more && v.several == nil && v.active == 0 {
		v.several = &several{}
	}
}

// apart is the least time between the starts of two visits to a host. Its Crawl-delay is not shared out.
func (s *shard) apart(v *visitState) time.Duration {
	return max(s.pace.wait(v)/time.Duration(s.perHost(v)), min(v.crawlDelay, s.o.MaxCrawlDelay))
}

// nextStart is when the next visit to a host may be made, as far as its other visits are concerned. While one waits for
// a fetcher it is not known when the next may start.
func (s *shard) nextStart(v *visitState, now moment) moment {
	if v.several == nil {
		return now
	}
	apart := s.apart(v)
	untaken := v.several.untaken.Load() // before started, which begin sets first
	started := moment(v.several.started.Load())
	switch {
	case apart == 0 || started == 0 && v.active == 0:
		return now
	case untaken > 0:
		return now.add(max(apart, untakenRetry))
	}
	return started.add(apart)
}

// doneAsleep is done for a host that another visit put to sleep meanwhile.
func (s *shard) doneAsleep(v *visitState, now moment) {
	s.handBack(v)
	s.put(v, asleep, v.next)
	s.rests(v, restAsleep, now)
}
