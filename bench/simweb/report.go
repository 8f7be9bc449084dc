// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Report is what a server saw: how much was requested, and how politely. In JSON times are in nanoseconds. A time of 0
// means that there were no two requests.
type Report struct {
	Requests    int     `json:"requests"` // robots.txt included
	Robots      int     `json:"robots"`   // requests for robots.txt
	URLs        int     `json:"urls"`     // distinct ones, without robots.txt
	Twice       int     `json:"twice"`    // of these: requested more than once
	Exact       bool    `json:"exact"`    // URLs and Twice are exact; if not, distinct URLs may be taken for one
	Status      [6]int  `json:"status"`   // responses by hundreds: [2] counts 200 to 299
	Bytes       int64   `json:"bytes"`    // of heads and bodies
	Seconds     float64 `json:"seconds"`  // since the server started
	Connections int     `json:"connections"`

	Hosts int `json:"hosts"` // that were visited
	Peak  int `json:"peak"`  // most requests at once to one host
	// smallest time from the end of a page request to the start of the next, on one host
	SmallGap   time.Duration `json:"small_gap_ns"`
	Interval   time.Duration `json:"interval_ns"` // smallest time between the starts of two page requests to one host
	TooSoon    int           `json:"too_soon"`    // page requests that came too soon after the one before
	Violations int           `json:"violations"`  // requests that robots.txt forbids

	Addresses       int           `json:"addresses"`            // that were visited
	AddressPeak     int           `json:"address_peak"`         // most requests at once to one address
	AddressGap      time.Duration `json:"address_small_gap_ns"` // like SmallGap
	AddressInterval time.Duration `json:"address_interval_ns"`  // like Interval

	Refused      int `json:"refused"`       // connections: too many, or not to loopback
	UnknownHost  int `json:"unknown_host"`  // requests for hosts that are not of this web
	WrongAddress int `json:"wrong_address"` // requests to another address than the host's, 127.0.0.1 excepted
	Malformed    int `json:"malformed"`     // requests that are not HTTP, or not GET or HEAD, and failed TLS handshakes
	Proxied      int `json:"proxied"`       // requests as to a proxy, and tunnels
	TLS          int `json:"tls"`           // handshakes

	Rude    []HostReport `json:"rude,omitempty"` // hosts that were treated worst, at most ten
	Busiest []string     `json:"busiest"`        // hosts with the most requests
}

// HostReport is one host's part of a Report, with the same meanings.
type HostReport struct {
	Host       string        `json:"host"`
	Requests   int           `json:"requests"`
	Peak       int           `json:"peak"`
	SmallGap   time.Duration `json:"small_gap_ns"`
	Interval   time.Duration `json:"interval_ns"`
	TooSoon    int           `json:"too_soon"`
	Violations int           `json:"violations"`
}

// Polite reports whether there were never two requests at once to a host, none too soon, and none that robots.txt
// forbids.
func (r *Report) Polite() bool { return r.Peak <= 1 && r.TooSoon == 0 && r.Violations == 0 }

// Report sums up what the server has seen so far. It may be called at any time from any goroutine, also after Close.
func (s *Server) Report() Report {
	g := s.ledger
	r := Report{
		Bytes:        g.bytes.Load(),
		Seconds:      s.now().Sub(g.began).Seconds(),
		Connections:  int(g.connections.Load()),
		Refused:      int(g.refused.Load()),
		UnknownHost:  int(g.unknownHost.Load()),
		WrongAddress: int(g.wrongAddress.Load()),
		Malformed:    int(g.malformed.Load()),
		Proxied:      int(g.proxied.Load()),
		TLS:          int(g.tls.Load()),
	}
	for i := range r.Status {
		r.Status[i] = int(g.status[i].Load())
	}
	g.urls.sum(&r)
	gap, interval := int64(math.MaxInt64), int64(math.MaxInt64)
	var busy []HostReport
	g.hosts.each(func(i int, v *meter) {
		r.Hosts++
		r.Requests += int(v.requests)
		r.Robots += int(v.robots)
		r.Peak = max(r.Peak, int(v.peak))
		r.TooSoon += int(v.tooSoon)
		r.Violations += int(v.violations)
		gap, interval = min(gap, v.gap), min(interval, v.interval)
		h := HostReport{
			Host: s.site.Host(i), Requests: int(v.requests), Peak: int(v.peak),
			SmallGap: shown(v.gap), Interval: shown(v.interval),
			TooSoon: int(v.tooSoon), Violations: int(v.violations),
		}
		if h.Peak > 1 || h.TooSoon > 0 || h.Violations > 0 {
			r.Rude = keepWorst(r.Rude, h, func(h *HostReport) int { return h.TooSoon + h.Violations + h.Peak - 1 })
		}
		busy = keepWorst(busy, h, func(h *HostReport) int { return h.Requests })
	})
	r.SmallGap, r.Interval = shown(gap), shown(interval)
	gap, interval = math.MaxInt64, math.MaxInt64
	g.addresses.each(func(_ int, v *meter) {
		r.Addresses++
		r.AddressPeak = max(r.AddressPeak, int(v.peak))
		gap, interval = min(gap, v.gap), min(interval, v.interval)
	})
	r.AddressGap, r.AddressInterval = shown(gap), shown(interval)
	for _, h := range busy[:min(5, len(busy))] {
		r.Busiest = append(r.Busiest, fmt.Sprintf("%s %d", h.Host, h.Requests))
	}
	return r
}

// shown turns a smallest time in ns into a duration of at least a nanosecond, or 0 for none.
func shown(ns int64) time.Duration {
	if ns == math.MaxInt64 {
		return 0
	}
	return time.Duration(max(ns, 1))
}

// keepWorst inserts h into a list of at most rudest hosts, ordered by badness, the worst first, then by name.
func keepWorst(list []HostReport, h HostReport, badness func(*HostReport) int) []HostReport {
	at, _ := slices.BinarySearchFunc(list, h, func(a, b HostReport) int {
		return cmp.Or(cmp.Compare(badness(&b), badness(&a)), strings.Compare(a.Host, b.Host))
	})
	list = slices.Insert(list, at, h)
	return list[:min(len(list), rudest)]
}

func (c *urlCounts) sum(r *Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Exact = c.hashed == nil
	for u, n := range c.exact {
		if isRobots(u) {
			continue
		}
		r.URLs++
		if n > 1 {
			r.Twice++
		}
	}
	r.URLs += c.cells
	r.Twice += c.cellsTwice
}

// Requests returns how often each URL was requested, robots.txt included: the first 1,048,576 distinct URLs, as
// requested. The map is the caller's.
func (s *Server) Requests() map[string]int {
	c := s.ledger.urls
	c.mu.Lock()
	defer c.mu.Unlock()
	urls := make(map[string]int, len(c.exact))
	for u, n := range c.exact {
		urls[u] = n
	}
	return urls
}

// String returns the report for people: three lines, then one for each further count that is not 0, and a table of the
// hosts that were treated worst.
func (r Report) String() string {
	var b strings.Builder
	us := func(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
	fmt.Fprintf(&b, "simweb: %d requests for %d URLs, %d pages more than once, at most %d at once to a host, "+
		"smallest gap %s, %d against robots.txt",
		r.Requests, r.URLs, r.Twice, r.Peak, us(r.SmallGap), r.Violations)
	if len(r.Busiest) > 0 {
		fmt.Fprintf(&b, "; busiest: %s", strings.Join(r.Busiest, ", "))
	}
	fmt.Fprintf(&b, "\nsimweb: %d hosts on %d addresses, at most %d at once to an address, smallest gap there %s; "+
		"starts at least %s apart on a host, %s on an address; %d too soon",
		r.Hosts, r.Addresses, r.AddressPeak, us(r.AddressGap), us(r.Interval), us(r.AddressInterval), r.TooSoon)
	fmt.Fprintf(&b, "\nsimweb: %d connections in %.1f s, %.1f MB; %d times 2xx, %d 3xx, %d 4xx, %d 5xx",
		r.Connections, r.Seconds, float64(r.Bytes)/1e6, r.Status[2], r.Status[3], r.Status[4], r.Status[5])
	for _, odd := range []struct {
		n    int
		what string
	}{
		{r.Refused, "connections refused"},
		{r.UnknownHost, "requests for unknown hosts"},
		{r.WrongAddress, "requests to the wrong address"},
		{r.Malformed, "malformed requests"},
		{r.Proxied, "proxy requests"},
		{r.TLS, "TLS handshakes"},
	} {
		if odd.n > 0 {
			fmt.Fprintf(&b, "\nsimweb: %d %s", odd.n, odd.what)
		}
	}
	if len(r.Rude) > 0 {
		fmt.Fprintf(&b, "\n%-32s %9s %8s %9s %10s %12s",
			"treated rudely", "requests", "at once", "too soon", "forbidden", "smallest gap")
		for _, h := range r.Rude {
			fmt.Fprintf(&b, "\n%-32s %9d %8d %9d %10d %12s",
				h.Host, h.Requests, h.Peak, h.TooSoon, h.Violations, us(h.SmallGap))
		}
	}
	return b.String()
}
