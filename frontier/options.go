// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Candidate is a URL of a known host that may be fetched: 24 bytes and the end of its key.
type Candidate struct {
	// Rest is what the URL's key has behind its host's. The source may cut it from one string for a whole
	// refill. The frontier looks at none of these fields.
	Rest  string
	Score float32
	Depth uint16
	Tag   uint16
}

// Key is the URL's key.
func (c *Candidate) Key(host urlkey.HostKey) urlkey.Key { return urlkey.Key(string(host) + c.Rest) }

// Refill is what a source gives for one host.
type Refill struct {
	URLs      []Candidate // best first; the frontier keeps the slice
	More      bool        // the host has more that is due now
	NextDue   time.Time   // when something else falls due; zero: not known
	NotBefore time.Time   // the host must not be asked earlier; zero: no bound
	Addr      netip.Addr  // zero: not known

	// Delay is the host's own delay, from its next visit on. 0: Options.Delay. Negative: none, so the host
	// waits only for Crawl-delay, Retry-After, back-off, its address, and Options.ResponseFactor where
	// that was given. Positive: its delay in place of Options.Delay, shorter or longer, in whole
	// milliseconds (rounded up), at most maxOwnDelay. A longer Crawl-delay wins.
	Delay time.Duration

	// What an earlier process, or an earlier life in this one, learned of the host.
	CrawlDelay   time.Duration
	ResponseTime time.Duration
	Failures     int // visits in a row that failed
	Sleeps       int // times it fell asleep since it last answered

	// Priority, 0 to 1, moves a host ahead of others that are ready: by up to PriorityBonus.
	Priority float32
	// HostLimit and DomainLimit are budgets: what the host and its registered domain may cost in all.
	// HostUsed and DomainUsed are what they cost before.
	HostLimit, HostUsed, DomainLimit, DomainUsed Cost

	failed bool // Source.Refill returned an error
}

// Source gives the URLs of hosts, and hosts that have some. Its methods are called on several
// goroutines, Refill for one host at most once at a time.
type Source interface {
	// Refill returns up to limit due URLs of a host. It must not give a URL again that it gave
	// before, unless that was dropped. With an error the host keeps the Delay, the Priority and the
	// budgets that it had.
	Refill(ctx context.Context, host urlkey.HostKey, limit int) (Refill, error)
	// Hosts names up to limit more hosts that may have due URLs, in any order; none: all were named
	// since it last said so. It is asked when there is room for hosts that were refused.
	Hosts(ctx context.Context, limit int) ([]urlkey.HostKey, error)
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
	// PerHost is the number of visits at once to one host, and to one address: 0 means 1. More than
	// one is rude to all but the operator's own servers.
	PerHost int
	// PerDomain is the number of visits at once to the hosts of one registered domain: 0 means 8, or
	// no bound when Delay is none; negative means no bound.
	PerDomain int
	// VisitURLs is the number of URLs of a visit to a host that asks for no delay: 0 means 16. With a
	// delay a visit has one.
	VisitURLs int
	// MaxHosts is the number of hosts held in memory: 0 means 1,000,000. Wakes beyond it are refused;
	// Source.Hosts names their hosts again when there is room.
	MaxHosts int
	// MaxQueued is about the number of URLs held in memory, shared evenly by the hosts: 0 means
	// 2,000,000.
	MaxQueued int
	// Refillers is the number of refills at once: 0 means 4.
	Refillers int
	// Fetchers is how many callers of Next to expect: 0 means 64. Few more visits than these are
	// made ready ahead of being asked for, so that the best hosts go first.
	Fetchers int
	// Shards is the number of goroutines that own hosts: 0 means one per CPU, at most 8.
	Shards int
	// Resume says that hosts may have been visited just before, by a process that is no more: each
	// then waits its whole delay before its first visit.
	Resume bool
	// Seed makes the jitter of back-off repeatable.
	Seed uint64
	// Now replaces the clock, which must not go back.
	Now func() time.Time

	// OnDrop is told of URLs of a host that are given up without an outcome, on any goroutine.
	OnDrop func(host urlkey.HostKey, urls []Candidate)
	// OnHost is told what should survive a restart, whenever a host fails, is throttled, falls asleep
	// or answers again after that. It must not block.
	OnHost func(host urlkey.HostKey, s HostState)
	// OnError is told of a refill that failed; the host goes dormant.
	OnError func(host urlkey.HostKey, err error)
}

// HostState is what is worth remembering of a host.
type HostState struct {
	NotBefore    time.Time // it must not be asked earlier
	Failures     int
	Sleeps       int
	ResponseTime time.Duration
	Asleep       bool
}

// withDefaults returns the options with every default in place but those that depend on Delay: see pace.
func (o Options) withDefaults() (Options, error) {
	if o.Source == nil {
		return o, errors.New("frontier: Options.Source is nil")
	}
	for _, d := range []struct {
		name  string
		field *int
		value int
	}{{"MaxFailures", &o.MaxFailures, defaultMaxFailures}, {"MaxHosts", &o.MaxHosts, defaultMaxHosts}, {"MaxQueued", &o.MaxQueued, defaultMaxQueued},
		{"Refillers", &o.Refillers, defaultRefillers}, {"PerHost", &o.PerHost, 1}, {"VisitURLs", &o.VisitURLs, defaultVisitURLs},
		{"Fetchers", &o.Fetchers, defaultFetchers}, {"Shards", &o.Shards, min(runtime.GOMAXPROCS(0), maxShards)}} {
		if *d.field == 0 {
			*d.field = d.value
		} else if *d.field < 0 {
			return o, fmt.Errorf("frontier: %s is %d: want 0 for the default, or more", d.name, *d.field)
		}
	}
	o.Fetchers = min(o.Fetchers, maxFetchers)
	if o.MaxCrawlDelay == 0 {
		o.MaxCrawlDelay = defaultMaxCrawlDelay
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}
