// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	"github.com/seine-crawler/seine/frontier"
)

// HeldHost is a host that holds a crawl up: it has URLs left and must wait.
type HeldHost struct {
	Host    string   `json:"host"`
	URLs    uint64   `json:"urls"`    // left, about
	Delay   Duration `json:"delay"`   // between two requests; JSON: seconds
	Wait    Duration `json:"wait"`    // to the next request; JSON: seconds
	Because string   `json:"because"` // what the delay comes from, in words

	Next time.Time `json:"next,omitzero"` // when it may be requested again, in UTC
}

// Words for what a delay comes from.
const (
	heldByDelay    = "delay"
	heldByThrottle = "it demanded a pause"
	heldByFailures = "it failed"
	heldByDNS      = "DNS does not answer"

	heldByAddressDelay = "delay of its address"
)

var heldWords = [...]string{
	frontier.HeldByDelay:      heldByDelay,
	frontier.HeldByCrawlDelay: "Crawl-delay",
	frontier.HeldBySlowness:   "slow answers",
	frontier.HeldByThrottle:   heldByThrottle,
	frontier.HeldByFailures:   heldByFailures,
	frontier.HeldByAddress:    "shares an address",
	frontier.HeldByDNS:        heldByDNS,

	frontier.HeldByAddressDelay: heldByAddressDelay,
}

// wait is the wait in words: "120 URLs, one each 1s (delay)".
func (h *HeldHost) wait() string {
	urls := count(int(h.URLs), "URL")
	if h.URLs == 0 {
		return fmt.Sprintf("not before %s (%s)", h.Next.Local().Format(time.TimeOnly), h.Because)
	}
	if wait := time.Duration(h.Wait); wait > 2*time.Duration(h.Delay) && wait > time.Second {
		return fmt.Sprintf("%s, next in %s (%s)", urls, wait.Round(time.Second), h.Because)
	}
	if h.Delay == 0 {
		return urls + ", one at a time"
	}
	return fmt.Sprintf("%s, one each %s (%s)", urls, time.Duration(h.Delay).Round(time.Millisecond), h.Because)
}

// String is the host on one line.
func (h HeldHost) String() string { return h.Host + ": " + h.wait() }
