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
	dormant  place = iota // no URLs, or only such as were asked for while it is refilled
	waiting               // has URLs; in the wheel until its time
	blocked               // has URLs, its time has come; queued at its busy address
	ready                 // has a visit made up; in its shard's queue for the ring
	inFlight              // its visit is in the ring or with a fetcher
	asleep                // failed too often; in the wheel until it may try again
	placeCount
)

var placeNames = [placeCount]string{"dormant", "waiting", "blocked", "ready", "in flight", "asleep"}

func (p place) String() string { return placeNames[p] }

// visitState is one host. All fields but shard, wakes and the event nodes belong to the goroutine of
// the shard that owns it.
type visitState struct {
	host  urlkey.HostKey
	shard atomic.Pointer[shard]
	wakes atomic.Int32 // wake events under way; guarded against forgetting by its stripe
	// ownDelay is the host's own delay in milliseconds; 0: it has none of its own, negative: it waits for none.
	ownDelay int32
	domain   *domain
	addr     *address

	window []Candidate // window[head:] are the URLs, best first
	head   int32
	ahead  int32 // most visits in windowTime; written before a refill is requested, read by the refiller
	visit  Visit // the one visit of a host that is visited once at a time

	next         moment // the host must not be asked earlier
	held         moment // the operator's own bound of the same
	due          moment // when a dormant host has something due; 0: not known
	crawlDelay   time.Duration
	responseTime time.Duration
	usualTime    time.Duration // moving average of it
	budget       *budget       // nil: none
	priority     float32
	slow         uint8  // the delay is doubled so many times
	throttles    uint16 // in a row
	failures     uint16 // in a row
	sleeps       uint16 // since the host last answered
	flying       uint16 // visits made up and not given back
	asked        uint16 // of the URLs, the first so many were asked for by the caller

	place     place
	born      bool // its shard has counted it
	far       bool // it has to wait long
	punished  bool // because it asked to (429, 503)
	refilling bool // a refill is under way
	rewake    bool // woken during it: refill once more
	more      bool // the source has more
	told      bool // OnHost was told of trouble, so it must be told of its end

	timer        timer       // in the wheel
	queued, back *visitState // neighbours in its address's queue
}

func (v *visitState) urls() int { return len(v.window) - int(v.head) }

// cut takes the best n URLs. The slice stays valid while they are with a fetcher, for what is before
// head is never written again but by putBack, when they have come back.
func (v *visitState) cut(n int) []Candidate {
	end := int(v.head) + n
	c := v.window[v.head:end:end]
	v.head = int32(end)
	v.asked = uint16(max(int(v.asked)-n, 0))
	switch {
	case v.urls() == 0:
		v.window, v.head = nil, 0
	case v.head > 1 && end*windowSlack >= len(v.window):
		v.window, v.head, c = ownMemory(v.window[v.head:]), 0, ownMemory(c)
	}
	return c
}

// ownMemory copies URLs. Those of a refill share a slice and, as a rule, one string, of which nothing is free
// before the last of them is gone.
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

// putBack makes URLs that were cut the next ones again, behind those that were asked for meanwhile.
func (v *visitState) putBack(c []Candidate) {
	if len(c) == 0 {
		return
	}
	if from := int(v.head) - len(c); v.asked == 0 && from >= 0 && &v.window[from] == &c[0] {
		v.head = int32(from)
		return
	}
	left := v.window[v.head:]
	first, rest := left[:v.asked], left[v.asked:]
	window := make([]Candidate, 0, len(c)+v.urls())
	window = append(append(window, first...), c...)
	v.window, v.head = append(window, rest...), 0
}

// askFor makes a URL the next but for those that were asked for before; false: there are too many of them.
func (v *visitState) askFor(c Candidate) bool {
	if v.asked == math.MaxUint16 {
		return false
	}
	v.putBack([]Candidate{c})
	v.asked++
	return true
}

// add appends URLs behind those it has.
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

// drop empties the window and returns what was in it.
func (v *visitState) drop() []Candidate {
	left := v.window[v.head:]
	v.window, v.head, v.asked = nil, 0, 0
	return left
}

// Visit is one or more URLs of one host to be asked for now, one after the other, on one connection
// if the server lets it. It must be given back to Done exactly once and not be touched after.
type Visit struct {
	URLs   []Candidate
	Host   urlkey.HostKey
	Addr   netip.Addr // zero: not known yet
	state  *visitState
	since  moment      // when it became ready
	slow   bool        // the host takes long to answer, or has failed
	taken  atomic.Bool // a fetcher has it
	halted atomic.Bool // not to be made after all
	done   event       // the node with which it goes back, or its host to another shard
}

// address is one IP address, or one /64 of IPv6. Hosts that resolve to it take turns.
type address struct {
	key         netip.Addr
	busy        int    // visits in flight
	next        moment // the address must not be asked earlier
	first, last *visitState
	hosts       int // visit states that refer to it
}

// addressKey is what counts as one address.
func addressKey(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.Addr()
		}
	}
	return a
}

// enqueue puts a host whose own time has come at the end of the queue.
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
