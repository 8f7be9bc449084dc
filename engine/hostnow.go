// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// HostNow is what a running crawl does with a host at this moment. Without a running crawl, and for a host that the
// crawl has not in memory, State is HostAbsent and the rest is empty.
type HostNow struct {
	Host    string    `json:"host"`
	State   HostState `json:"state"`
	Blocked bool      `json:"blocked"` // by Engine.Block

	InFlight int  `json:"in_flight"` // visits with fetchers, or that one is about to take
	Queued   int  `json:"queued"`    // its URLs in memory, without those of visits in flight
	More     bool `json:"more"`      // crawldb has more of it that is due
	// NextVisit is when it may be visited again, which may be past; zero: nothing is known that forbids it.
	NextVisit time.Time `json:"next_visit,omitzero"`
	// Delay lies between the end of a visit and the start of the next. Because says what it, or a longer wait, comes
	// from: "delay", "Crawl-delay", "slow answers", "it demanded a pause", "it failed", "shares an address" or "delay
	// of its address".
	Delay      Duration  `json:"delay_seconds"`
	Because    string    `json:"because,omitempty"`
	Address    string    `json:"address,omitempty"`     // that its visits go to, of IPv6 the /64; "": not known yet
	Failures   int       `json:"failures"`              // visits in a row that failed
	Throttles  int       `json:"throttles"`             // pauses in a row that it demanded (429, 503)
	Response   Duration  `json:"response_seconds"`      // how long the answer to its last visit took
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
	HostReady    HostState = "ready"     // a fetcher may take it soon: others are before it
	HostInFlight HostState = "in_flight" // it is being visited
	HostAsleep   HostState = "asleep"    // it failed too often, and is left alone until NextVisit
	HostResting  HostState = "resting"   // it has to wait for long, so it left the memory
)

// whereStates are the states of a host by its place in the frontier.
var whereStates = [...]HostState{
	frontier.Absent: HostAbsent, frontier.Resting: HostResting, frontier.Dormant: HostDormant,
	frontier.Refilling: HostRefill, frontier.Waiting: HostWaiting, frontier.Turn: HostTurn,
	frontier.Ready: HostReady, frontier.InFlight: HostInFlight, frontier.Asleep: HostAsleep,
}

// HostNow says what a running crawl does with a host: a name, with its port if that is not the scheme's own. A text
// that is no host is an error. Any goroutine may call it.
func (i *Inspector) HostNow(host string) (HostNow, error) {
	leave, err := i.g.enter()
	if err != nil {
		return HostNow{}, err
	}
	defer leave()
	key, err := urlkey.ParseHost(host)
	if err != nil {
		return HostNow{}, fmt.Errorf("host %q: %w", host, err)
	}
	now := HostNow{Host: key.String(), State: HostAbsent, Blocked: i.w.admission.IsBlocked(key)}
	c := i.crawl.Load()
	if c == nil {
		return now, nil
	}
	i.w.live.mu.Lock()
	defer i.w.live.mu.Unlock()
	if f := c.live.Load(); f != nil {
		now.look(i.w, f, key)
	}
	return now, nil
}

// look adds what a run of fetchers knows.
func (n *HostNow) look(w *work, f *fetching, key urlkey.HostKey) {
	h := f.frontier.Host(key)
	n.State, n.InFlight, n.Queued, n.More = whereStates[h.Where], h.Visits, h.URLs, h.More
	n.Failures, n.Throttles = h.Failures, h.Throttles
	if !h.Next.IsZero() {
		n.NextVisit = h.Next.UTC()
	}
	if n.State != HostAbsent && n.State != HostResting {
		n.Delay, n.Because, n.Response = Duration(h.Delay), heldWords[h.Because], Duration(h.Response)
	}
	if h.Addr.IsValid() {
		n.Address = h.Addr.String()
	}
	if t := w.net.hosts.TroubleOf(key); t.Hosts > 0 {
		cause := troubleCause(t)
		n.Trouble = &cause
	}
	if r, span := f.pool.RateOf(key); r != (visit.Rate{Host: key}) {
		rate := hostRate(&r, span)
		n.LastMinute = &rate
	}
}
