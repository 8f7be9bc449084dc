// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage"
)

// HostFilter chooses hosts. The zero value chooses all, in key order.
type HostFilter struct {
	// Host is the name of one host, with its port if that is not the scheme's own. It comes before Top.
	Host string
	// Top is the number of hosts with the most of By, most first; 0 means all hosts.
	Top int
	// By is what Top counts, one of HostOrders; "" means HostURLs.
	By HostOrder
	// After is the name of a host: of all hosts, only those behind it in key order are chosen; "" means all.
	After string
}

// HostOrder is what hosts are put in order by.
type HostOrder string

// The orders of hosts. Those of URLs but the first count by status.
const (
	HostURLs      HostOrder = "urls"
	HostFetched   HostOrder = "fetched"
	HostUnfetched HostOrder = "unfetched"
	HostGone      HostOrder = "gone"
	HostBytes     HostOrder = "bytes"
	HostTook      HostOrder = "took" // time of fetchers
)

// Statuses returns the statuses of the URLs that the order counts; nil: it counts all URLs, or something else. A URL is
// fetched whatever became of its content.
func (o HostOrder) Statuses() []storage.Status {
	switch o {
	case HostFetched:
		return []storage.Status{storage.StatusFetched, storage.StatusNotModified, storage.StatusDuplicate,
			storage.StatusParseFailed}
	case HostUnfetched:
		return []storage.Status{storage.StatusUnfetched}
	case HostGone:
		return []storage.Status{storage.StatusGone}
	}
	return nil
}

// counter returns what an order counts of a host; nil: its URLs.
func (o HostOrder) counter() func(c *storage.HostCounts) uint64 {
	switch o {
	case HostBytes:
		return func(c *storage.HostCounts) uint64 { return c.Bytes }
	case HostTook:
		return func(c *storage.HostCounts) uint64 { return c.TookMS }
	}
	statuses := o.Statuses()
	if statuses == nil {
		return nil
	}
	return func(c *storage.HostCounts) (n uint64) {
		for _, s := range statuses {
			n += uint64(c.ByStatus[s])
		}
		return n
	}
}

// HostOrders returns the orders of hosts.
func HostOrders() []HostOrder {
	return []HostOrder{HostURLs, HostFetched, HostUnfetched, HostGone, HostBytes, HostTook}
}

// validate refuses an order that does not exist: hosts would come in another one.
func (f *HostFilter) validate() error {
	if f.By == "" || slices.Contains(HostOrders(), f.By) {
		return nil
	}
	return fmt.Errorf("there is no order of hosts %q: want one of %v", f.By, HostOrders())
}

// HostView is a host as people and scripts see it. Times are in UTC, to the millisecond; JSON leaves out those that
// are zero.
type HostView struct {
	Host     string                    `json:"host"`
	URLs     uint64                    `json:"urls"`      // in crawldb
	ByStatus map[storage.Status]uint32 `json:"by_status"` // of them; without zeros
	NextDue  time.Time                 `json:"next_due,omitzero"`
	Bytes    uint64                    `json:"bytes"`   // received so far
	Took     Milliseconds              `json:"took_ms"` // by fetchers so far
	Robots   []RobotsView              `json:"robots,omitempty"`
	Score    float64                   `json:"score,omitzero"` // sum of the scores of its URLs
	Latency  LatencyView               `json:"latency,omitzero"`
	// Errors counts the fetches so far that brought no page, by kind: "dns", "connect", "tls", "timeout", "broken",
	// "protocol", "http_4xx", "http_5xx", "robots", "other". Protocols counts the answers: "https_1_1".
	Errors    map[string]uint32 `json:"errors,omitempty"`
	Protocols map[string]uint32 `json:"protocols,omitempty"`
	Addresses []string          `json:"addresses,omitempty"` // the last ones at which it was reached, newest first
}

// LatencyView has quantiles of the time from the start of a fetch to the end of its answer, over the host's whole life.
// They are read from a histogram and wrong by at most 19%; what takes longer than 46 s counts as 55 s.
type LatencyView struct {
	Answers uint64       `json:"answers"`
	P50     Milliseconds `json:"p50_ms"`
	P90     Milliseconds `json:"p90_ms"`
	P99     Milliseconds `json:"p99_ms"`
}

// String is the quantiles on one line.
func (l LatencyView) String() string {
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s", l.P50, l.P90, l.P99)
}

func viewLatency(l *storage.Latency) LatencyView {
	return LatencyView{Answers: l.Count(), P50: quantile(l, .5), P90: quantile(l, .9), P99: quantile(l, .99)}
}

func quantile(l *storage.Latency, q float64) Milliseconds { return milliseconds(l.Quantile(q)) }

// RobotsView is the robots.txt of one scheme of a host.
type RobotsView struct {
	Scheme  string    `json:"scheme"`
	Status  uint16    `json:"status"` // of robots.txt; 599: unreachable
	Fetched time.Time `json:"fetched,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // when it is requested again
	Bytes   int       `json:"bytes"`
}

// String is the host on one line, its fields separated by tabs.
func (h HostView) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\t%d URLs", h.Host, h.URLs)
	for s := range storage.Status(storage.StatusCount) {
		if n := h.ByStatus[s]; n > 0 {
			fmt.Fprintf(&b, "\t%s %d", s, n)
		}
	}
	fmt.Fprintf(&b, "\t%d bytes in %s", h.Bytes, h.Took)
	if h.Score != 0 {
		fmt.Fprintf(&b, "\tscore %s", scoreText(h.Score))
	}
	if h.Latency.Answers > 0 {
		fmt.Fprintf(&b, "\tanswers in %s", h.Latency)
	}
	for _, kind := range slices.Sorted(maps.Keys(h.Errors)) {
		fmt.Fprintf(&b, "\terrors %s %d", kind, h.Errors[kind])
	}
	for _, protocol := range slices.Sorted(maps.Keys(h.Protocols)) {
		fmt.Fprintf(&b, "\t%s %d", protocol, h.Protocols[protocol])
	}
	if len(h.Addresses) > 0 {
		fmt.Fprintf(&b, "\tat %s", strings.Join(h.Addresses, ", "))
	}
	for _, r := range h.Robots {
		fmt.Fprintf(&b, "\trobots.txt (%s) %d, %d bytes, until %s", r.Scheme, r.Status, r.Bytes, timeText(r.Expires))
	}
	return b.String()
}

func viewHost(h inspect.Host) (HostView, error) {
	v := HostView{
		Host:     h.Key.String(),
		URLs:     h.URLs(),
		ByStatus: map[storage.Status]uint32{},
		NextDue:  timeOf(h.Counts.NextDue),
		Bytes:    h.Counts.Bytes,
		Took:     milliseconds(h.Counts.TookMS),
		Score:    h.Counts.Score,
		Latency:  viewLatency(&h.Counts.Latency),
	}
	for s, n := range h.Counts.ByStatus {
		if n > 0 {
			v.ByStatus[storage.Status(s)] = n
		}
	}
	for kind, n := range h.Counts.Errors {
		note(&v.Errors, storage.HostError(kind), n)
	}
	for protocol, n := range h.Counts.Protocols {
		note(&v.Protocols, storage.HostProtocol(protocol), n)
	}
	for _, a := range h.State.Addrs() {
		v.Addresses = append(v.Addresses, a.Unmap().String())
	}
	for _, a := range h.Authorities {
		f := &a.Facts
		v.Robots = append(v.Robots, RobotsView{
			a.Scheme, f.RobotsStatus, timeOf(f.RobotsFetched), timeOf(f.RobotsExpires), len(f.Robots),
		})
	}
	return v, nil
}

// note puts a count under its name, if it is not 0.
func note(counts *map[string]uint32, name fmt.Stringer, n uint32) {
	if n == 0 {
		return
	}
	if *counts == nil {
		*counts = map[string]uint32{}
	}
	(*counts)[name.String()] = n
}
