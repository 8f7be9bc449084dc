// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Candidate is a URL that may be fetched.
type Candidate struct {
	URL   urlkey.URL
	Score float64
	Depth uint16
	Tag   uint64 // the source's own
}

// Refill is what a source gives for one host.
type Refill struct {
	URLs       []Candidate // best first
	More       bool        // the host has more that is due now
	NextDue    time.Time   // when something else falls due; zero: not known
	NotBefore  time.Time   // the host must not be asked earlier; zero: no bound
	Addr       netip.Addr  // zero: not known
	CrawlDelay time.Duration
}

// Source gives the URLs of a host. Refill is called on several goroutines, but for one host at most
// once at a time. It must not give a URL again that it gave before, unless it was dropped.
type Source interface {
	Refill(ctx context.Context, host urlkey.HostKey, limit int) (Refill, error)
}

// Options of a Frontier. Zero values are defaults.
type Options struct {
	// Source is required.
	Source Source
	// Delay is the least time from the end of a visit to the start of the next to the same host:
	// 0 means 1 s, negative means none.
	Delay time.Duration
	// AddressDelay is the same for an IP address: 0 means 250 ms, or none when Delay is none.
	AddressDelay time.Duration
	// ResponseFactor times the last response time is a lower bound of the delay: 0 means 1, or none
	// when Delay is none; negative means none.
	ResponseFactor float64
	// MaxCrawlDelay caps robots.txt's Crawl-delay: 0 means 300 s.
	MaxCrawlDelay time.Duration
	// MaxFailures in a row put a host to sleep: 0 means 5.
	MaxFailures int
	// Window is the number of URLs of a host held in memory: 0 means 256.
	Window int
	// MaxHosts is the number of hosts held in memory: 0 means 1,000,000. Wakes beyond it are refused
	// and counted; their hosts must be woken again.
	MaxHosts int
	// Refillers is the number of refills at once: 0 means 4.
	Refillers int
	// Seed makes the jitter of back-off repeatable.
	Seed uint64
	// Now replaces the clock, which must not go back.
	Now func() time.Time

	// OnDrop is told of URLs that are given up without an outcome, on any goroutine.
	OnDrop func([]Candidate)
	// OnSleep is told of hosts that fall asleep.
	OnSleep func(host urlkey.HostKey, until time.Time)
	// OnError is told of a refill that failed; the host goes dormant.
	OnError func(host urlkey.HostKey, err error)
}

// Bounds and defaults.
const (
	defaultDelay         = time.Second
	defaultAddressDelay  = 250 * time.Millisecond
	defaultMaxCrawlDelay = 300 * time.Second
	defaultMaxFailures   = 5
	defaultWindow        = 256
	defaultMaxHosts      = 1_000_000
	defaultRefillers     = 4

	// failureBase is the first back-off after a failure when there is no longer delay; it doubles
	// up to failureMax. sleepBase is how long a host sleeps at first, doubling up to sleepMax.
	failureBase = 250 * time.Millisecond
	failureMax  = time.Hour
	sleepBase   = 10 * time.Minute
	sleepMax    = 7 * 24 * time.Hour
	// throttleBase is the wait after a 429 or 503 without Retry-After; it doubles up to retryMax,
	// which caps Retry-After too.
	throttleBase = time.Minute
	retryMax     = 24 * time.Hour
	// longWait is the wait from which a host counts as throttled rather than waiting.
	longWait = 5 * time.Second
)

func (o Options) withDefaults() (Options, error) {
	if o.Source == nil {
		return o, errors.New("frontier: Options.Source is nil")
	}
	none := o.Delay < 0
	switch {
	case none:
		o.Delay = 0
	case o.Delay == 0:
		o.Delay = defaultDelay
	}
	if o.AddressDelay == 0 && !none {
		o.AddressDelay = defaultAddressDelay
	}
	if o.ResponseFactor == 0 && !none {
		o.ResponseFactor = 1
	}
	o.AddressDelay, o.ResponseFactor = max(o.AddressDelay, 0), max(o.ResponseFactor, 0)
	for _, d := range []struct {
		field *int
		value int
	}{{&o.MaxFailures, defaultMaxFailures}, {&o.Window, defaultWindow}, {&o.MaxHosts, defaultMaxHosts}, {&o.Refillers, defaultRefillers}} {
		if *d.field == 0 {
			*d.field = d.value
		} else if *d.field < 0 {
			return o, fmt.Errorf("frontier: a bound of %d: want 0 for the default, or more", *d.field)
		}
	}
	if o.MaxCrawlDelay == 0 {
		o.MaxCrawlDelay = defaultMaxCrawlDelay
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}
