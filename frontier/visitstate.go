// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"net/netip"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// place is where a visit state is. It is in exactly one place.
type place uint8

const (
	dormant  place = iota // no URLs
	waiting               // has URLs; in the timer heap until its time
	blocked               // has URLs, its time has come; queued at its busy address
	ready                 // has URLs; in the ready queue
	inFlight              // one of its URLs is with a fetcher
	asleep                // failed too often; in the timer heap until it may try again
	placeCount
)

// visitState is one host. Invariant: waiting, blocked and ready states have a URL in their window,
// or none of the three.
type visitState struct {
	host   urlkey.HostKey
	place  place
	window []Candidate // window[head:] are the URLs, best first
	head   int

	next         time.Time // the host must not be asked earlier
	crawlDelay   time.Duration
	responseTime time.Duration
	failures     int  // in a row
	throttles    int  // in a row
	sleeps       int  // since the host last answered
	long         bool // counted as throttled
	addr         *address

	refilling bool      // a refill is under way
	rewake    bool      // woken during it: refill once more
	more      bool      // the source has more
	due       time.Time // when a dormant host has something due; zero: not known
	timer     int       // index in the timer heap, -1: not in it
	at        time.Time // the heap's key
}

func (v *visitState) queued() int { return len(v.window) - v.head }

// take removes the best URL.
func (v *visitState) take() Candidate {
	c := v.window[v.head]
	v.window[v.head] = Candidate{}
	v.head++
	if v.head == len(v.window) {
		v.window, v.head = v.window[:0], 0
	}
	return c
}

// putBack makes c the next URL again.
func (v *visitState) putBack(c Candidate) {
	if v.head > 0 {
		v.head--
		v.window[v.head] = c
		return
	}
	v.window = append(v.window, Candidate{})
	copy(v.window[1:], v.window)
	v.window[0] = c
}

// add appends URLs behind those it has.
func (v *visitState) add(urls []Candidate) {
	if v.head > 0 {
		n := copy(v.window, v.window[v.head:])
		v.window, v.head = v.window[:n], 0
	}
	v.window = append(v.window, urls...)
}

// drop empties the window and returns what was in it.
func (v *visitState) drop() []Candidate {
	left := append([]Candidate(nil), v.window[v.head:]...)
	v.window, v.head = nil, 0
	return left
}

// address is one IP address. Hosts that resolve to it take turns.
type address struct {
	addr  netip.Addr
	busy  *visitState   // the host whose visit is in flight
	next  time.Time     // the address must not be asked earlier
	queue []*visitState // blocked hosts, first come first served
	hosts int           // visit states that refer to it
}

// timerHeap orders visit states by the time at which something happens to them.
type timerHeap []*visitState

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].timer, h[j].timer = i, j
}
func (h *timerHeap) Push(x any) {
	v := x.(*visitState)
	v.timer = len(*h)
	*h = append(*h, v)
}
func (h *timerHeap) Pop() any {
	old := *h
	v := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	v.timer = -1
	return v
}
