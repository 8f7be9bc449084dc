// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"math"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// place is where a visit state is. It is in exactly one place.
type place uint8

const (
	dormant  place = iota // no URLs, except from Ask while it is being refilled
	waiting               // has URLs; in the wheel until its time
	blocked               // has URLs, its time has come; queued at its busy address
	ready                 // has a visit, which is in its shard's queue for the ring
	inFlight              // its visit is in the ring or with a fetcher
	asleep                // failed too often; in the wheel until it may try again
	placeCount
)

var placeNames = [placeCount]string{"dormant", "waiting", "blocked", "ready", "in flight", "asleep"}

func (p place) String() string { return placeNames[p] }

// visitState is one host. All fields but host, shard, wakes and the event nodes belong to the goroutine of the shard
// that owns it.
type visitState struct {
	host  urlkey.HostKey
	shard atomic.Pointer[shard]
	// wakes counts events on their way here. It is raised under the lock of the registry's stripe, so that the
	// state is not forgotten before they arrive.
	wakes atomic.Int32
	// ownDelay is Refill.Delay in milliseconds; 0: the frontier's delay, negative: none.
	ownDelay int32
	domain   *domain
	addr     *address

	several *several    // nil: it may have only one visit at once
	window  []Candidate // window[head:] are the URLs, best first
	head    int32
	ahead   uint16 // see shard.ahead; written before a refill is requested, then read by the refiller
	held    uint16 // URLs after the last refill, windowMax at most
	visit   Visit  // the only one, unless there may be several at once

	next         moment // the host must not be visited earlier
	due          moment // when a dormant host has something due; 0: not known
	crawlDelay   time.Duration
	responseTime time.Duration
	usualTime    time.Duration // moving average of it
	budget       *budget       // nil: none
	priority     float32
	slow         uint8  // how many times the delay is doubled
	slowFor      uint8  // quick visits in a row until the host no longer counts as slow
	throttles    uint16 // in a row
	failures     uint16 // in a row
	sleeps       uint16 // since the host last answered
	active       uint16 // visits made and not returned
	fromAsk      uint16 // how many of the URLs, the first ones, came from Ask

	place      place
	registered bool  // a shard has counted it
	ownPerHost uint8 // Refill.PerHost
	leaving    rest  // why it is about to be forgotten: see leave
	far        bool  // its wait is longer than longWait
	punished   bool  // of far: the server demanded it (429, 503)
	failing    bool  // its shard counts it as failing
	unnamed    bool  // its shard counts it as unnamed
	noDNS      bool  // its last visit was none, because no name server answered
	refilling  bool  // a refill is in progress
	rewake     bool  // woken during it: refill once more
	more       bool  // the source has more
	proven     bool  // a page of it came quickly
	answered   bool  // it did, in an earlier process or state
	reported   bool  // OnHost received trouble, so it must receive its end

	timer        timer       // in the wheel
	queued, back *visitState // neighbours in its address's queue
}

func (v *visitState) urls() int { return len(v.window) - int(v.head) }

// cut takes the best n URLs. The slice stays valid while a fetcher has it: nothing writes before head except putBack,
// when the URLs have been returned.
func (v *visitState) cut(n int) []Candidate {
	end := int(v.head) + n
	c := v.window[v.head:end:end]
	v.head = int32(end)
	v.fromAsk = uint16(max(int(v.fromAsk)-n, 0))
	switch {
	case v.urls() == 0:
		v.window, v.head = nil, 0
	case v.head > 1 && end*windowSlack >= len(v.window):
		v.window, v.head, c = ownMemory(v.window[v.head:]), 0, ownMemory(c)
	}
	return c
}

// ownMemory copies URLs. Those of a refill share a slice and usually one string, neither of which is freed before the
// last of them is gone.
func ownMemory(c []Candidate) []Candidate {
	n := 0
	for i := range c {
		n += len(c[i].Rest)
	}
	var rests strings.Builder
	rests.Grow(n)
	for i := range c {
		rests.WriteString(c[i].Rest)
	}
	own, all := append(make([]Candidate, 0, len(c)), c...), rests.String()
	for i := range own {
		rest := &own[i].Rest
		*rest, all = all[:len(*rest)], all[len(*rest):]
	}
	return own
}

// putBack makes URLs that were cut the next ones again, after those that Ask added meanwhile.
func (v *visitState) putBack(c []Candidate) {
	if len(c) == 0 {
		return
	}
	if from := int(v.head) - len(c); v.fromAsk == 0 && from >= 0 && &v.window[from] == &c[0] {
		v.head = int32(from)
		return
	}
	left := v.window[v.head:]
	first, rest := left[:v.fromAsk], left[v.fromAsk:]
	window := make([]Candidate, 0, len(c)+v.urls())
	window = append(append(window, first...), c...)
	v.window, v.head = append(window, rest...), 0
}

// prepend puts a URL before all but those that Ask added before. It returns false if these are too many.
func (v *visitState) prepend(c Candidate) bool {
	if v.fromAsk == math.MaxUint16 {
		return false
	}
	v.putBack([]Candidate{c})
	v.fromAsk++
	return true
}

// add appends URLs.
func (v *visitState) add(urls []Candidate) {
	if v.urls() == 0 {
		v.window, v.head = urls, 0
		return
	}
	if len(urls) == 0 {
		return
	}
	window := make([]Candidate, 0, v.urls()+len(urls))
	window = append(window, v.window[v.head:]...)
	v.window, v.head = append(window, urls...), 0
}

// drop empties the window and returns its URLs.
func (v *visitState) drop() []Candidate {
	left := v.window[v.head:]
	v.window, v.head, v.fromAsk = nil, 0, 0
	return left
}

// Visit is one or more URLs of one host to be requested now, one after the other, on one connection if the server
// permits. It belongs to the caller of Next, which must pass it to Done exactly once and not use it after.
type Visit struct {
	URLs  []Candidate // in the order of requests; not to be modified
	Host  urlkey.HostKey
	Addr  netip.Addr // zero: not known yet
	state *visitState
	since moment // when it became ready; of a host that is given an address: see settle
	class class  // the caller of Slow changes it while a fetcher has the visit
	// dragged: Slow was called.
	dragged bool
	// answered: the host did, before this visit.
	answered bool
	// patient: the shard may learn a little later that it has ended, by what it knew when this was ready; see patience.
	patient bool
	// done is the event of Done, or of its host's move to another shard. One event for both: a host takes 870 bytes,
	// with two it took 1,083.
	done event
}

// address is one IP address, or one /64 of IPv6. Hosts that resolve to it take turns.
type address struct {
	key         netip.Addr
	busy        int         // visits made and not returned
	next        moment      // the address must not be visited earlier
	first, last *visitState // queue of blocked hosts
	turn        *visitState // waits for next; the others queue behind it
	hosts       int         // visit states that refer to it
}

// addressKey returns what counts as one address: an IPv4 address, or a /64 of IPv6.
func addressKey(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}

// enqueue puts a host whose own wait is over at the end of the queue.
func (a *address) enqueue(v *visitState) {
	v.back, v.queued = a.last, nil
	if a.last == nil {
		a.first = v
	} else {
		a.last.queued = v
	}
	a.last = v
}

// unqueue takes a host out of the queue.
func (a *address) unqueue(v *visitState) {
	if v.back == nil {
		a.first = v.queued
	} else {
		v.back.queued = v.queued
	}
	if v.queued == nil {
		a.last = v.back
	} else {
		v.queued.back = v.back
	}
	v.back, v.queued = nil, nil
}
