// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"
)

// HostNow is what a running crawl does with a host at this moment. Without a running crawl, and for a host that the
// crawl has not in memory, State is HostAbsent and the rest is empty.
type HostNow struct {
	Host    string    `json:"host"`
	State   HostState `json:"state"`
	Blocked bool      `json:"blocked"` // by Engine.Block

	InFlight  int  `json:"in_flight"`  // visits with fetchers
	Queued    int  `json:"queued"`     // its URLs in memory
	MoreKnown bool `json:"more_known"` // crawldb has more of it that is due
	// NextVisit is before when it is not visited; zero: it may be now, or that is not known.
	NextVisit time.Time `json:"next_visit,omitzero"`
	// Delay lies between the end of a visit and the start of the next. Because says what it, or a longer wait, comes
	// from: "delay", "Crawl-delay", "slow answers", "it demanded a pause", "it failed" or "shares an address".
	Delay      Duration  `json:"delay"` // JSON: seconds
	Because    string    `json:"because,omitempty"`
	Address    string    `json:"address,omitempty"`     // where its visits go; "": not known yet
	Failures   int       `json:"failures"`              // visits in a row that failed
	Throttles  int       `json:"throttles"`             // pauses in a row that it demanded (429, 503)
	Response   Duration  `json:"response_seconds"`      // how long its last visit took to answer
	Trouble    *Cause    `json:"trouble,omitempty"`     // why it gives nothing, if it does
	LastMinute *HostRate `json:"last_minute,omitempty"` // nil: nothing of it was fetched
}

// HostState is where a host is in the schedule of a running crawl.
type HostState string

// The states.
const (
	HostAbsent   HostState = "absent"    // not in memory: no crawl runs, nothing of it is due, or it waits for room
	HostDormant  HostState = "dormant"   // in memory, without URLs to fetch
	HostRefill   HostState = "refill"    // its URLs are being chosen
	HostWaiting  HostState = "waiting"   // it has URLs and waits for its delay
	HostTurn     HostState = "turn"      // its delay is over; it waits for a host that shares its address
	HostReady    HostState = "ready"     // a fetcher may take it
	HostInFlight HostState = "in_flight" // it is being visited
	HostAsleep   HostState = "asleep"    // it failed too often, and is left alone until NextVisit
	HostResting  HostState = "resting"   // it has to wait for long, so it left the memory
)

// HostNow says what a running crawl does with a host. The text is a host name, with its port if that is not the
// scheme's own. Any goroutine may call it.
func (e *Engine) HostNow(host string) (HostNow, error) {
	leave, err := e.enter()
	if err != nil {
		return HostNow{}, err
	}
	defer leave()
	return HostNow{Host: host, State: HostAbsent}, nil
}

// Stop ends the running crawl cleanly, as if its context had ended: what was fetched is brought into crawldb, linkdb
// and index, and Crawl returns StopInterrupted. It returns at once; Status says when the crawl has ended. Stopping
// again does nothing. Without a running crawl the error is ErrNotCrawling.
func (e *Engine) Stop() error { return ErrNotCrawling }

// Block stops requests to hosts, in every crawl and fetch of this data directory until Unblock. A running crawl begins
// none any more when Block returns, and cuts off those under way. Nothing is deleted: URLs and documents of the host
// stay. A host is a name, with its port if that is not the scheme's own.
func (e *Engine) Block(hosts ...string) error { return nil }

// Unblock ends Block for hosts. Those that are not blocked are ignored.
func (e *Engine) Unblock(hosts ...string) error { return nil }

// Blocked returns the hosts that are blocked, in order of their keys.
func (e *Engine) Blocked() ([]string, error) { return nil, nil }
