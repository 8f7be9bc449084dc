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

// Candidate is a URL of a known host that may be fetched: 24 bytes and the end of its key. Of its fields the frontier
// reads Counted.
type Candidate struct {
	// Rest is what the URL's key has after its host's key. A source may cut all of a refill from one string.
	Rest  string
	Score float32 // the source's
	Depth uint16  // the source's
	Tag   uint8   // the source's
	// Counted: the URL was requested before and is one of HostUsed.URLs and DomainUsed.URLs, so it is requested again
	// also where a budget allows no more URLs.
	Counted bool
}

// Key returns the URL's key, given that of its host.
func (c *Candidate) Key(host urlkey.HostKey) urlkey.Key { return urlkey.Key(string(host) + c.Rest) }

// Refill is what a source knows of one host and which of its URLs are to be fetched next. Zero values are
// valid: no URLs, nothing known, the frontier's own settings, no budgets.
type Refill struct {
	URLs      []Candidate // best first; the frontier keeps the slice
	More      bool        // the host has more that is due now
	NextDue   time.Time   // when something else falls due; zero: not known
	NotBefore time.Time   // the host must not be visited earlier; zero: no bound
	Addr      netip.Addr  // zero: not known

	// Delay is the host's own delay, from its next visit on. 0: Options.Delay. Negative: none, so the host
	// waits only for Crawl-delay, Retry-After, back-off, its address, and Options.ResponseFactor if that was
	// given. Positive: used in place of Options.Delay, shorter or longer, rounded up to the millisecond and
	// at most 24 days. A longer Crawl-delay wins.
	Delay time.Duration

	// PerHost is the host's own Options.PerHost, at most 255; 0: that. It does not hold for other hosts at its address:
	// a visit to any of them begins only while fewer are in flight there than that host itself may have.
	PerHost int

	// What an earlier process, or an earlier visit state of this process, learned of the host.
	CrawlDelay   time.Duration // of robots.txt; 0: none
	ResponseTime time.Duration // of the last answer; 0: not known
	Answered     bool          // the host did; ResponseTime need not be known
	Failures     int           // visits in a row that failed
	Sleeps       int           // times it fell asleep since it last answered
	Throttles    int           // answers in a row that demanded a pause (429, 503)

	// Priority, 0 to 1, moves a host ahead of others that are ready: by up to PriorityBonus.
	Priority float32
	// HostLimit and DomainLimit are budgets: what the host and its registered domain may cost in all.
	// HostUsed and DomainUsed are what they have cost before.
	HostLimit, HostUsed, DomainLimit, DomainUsed Cost
	// Spent: due URLs are left out, because these budgets allow no more URLs. After ten minutes the frontier asks
	// again.
	Spent bool

	failed bool // Source.Refill returned an error
}

// Source provides the URLs of hosts, and hosts that have some. The frontier calls its methods on several
// goroutines at once, but Refill never twice at once for one host.
type Source interface {
	// Refill returns up to limit due URLs of a host. It must not return a URL again that it returned before,
	// unless OnDrop reported that. After an error, which Options.OnError receives, the URLs returned with it
	// are still visited, and the host keeps its Delay, its Priority and its budgets.
	Refill(ctx context.Context, host urlkey.HostKey, limit int) (Refill, error)
	// Hosts names up to limit more hosts that may have due URLs, in any order. None means that all have been
	// named since it last returned none. It is called when there is room for hosts that were refused, and
	// every minute. It may name hosts that rest.
	Hosts(ctx context.Context, limit int) ([]urlkey.HostKey, error)
}

// Options of a Frontier. Zero values are defaults. Only SetDelay and SetFetchers change one of them later.
type Options struct {
	// Source is required.
	Source Source
	// Delay is the least time from the end of a visit to the start of the next to the same host: 0 means 1 s,
	// negative means none, and more than 24 days are 24. Refill.Delay overrides it for one host, SetDelay changes it.
	Delay time.Duration
	// AddressDelay is the same for an IP address: 0 means 250 ms, or none when Delay is none; negative means
	// none.
	AddressDelay time.Duration
	// ResponseFactor times the last response time is a lower bound of a host's delay: 0 means 1, or none for
	// hosts whose delay is none; negative means none.
	ResponseFactor float64
	// MaxCrawlDelay caps robots.txt's Crawl-delay: 0 means 300 s.
	MaxCrawlDelay time.Duration
	// MaxFailures in a row put a host to sleep: 0 means 5.
	MaxFailures int
	// PerHost is the number of concurrent visits to one host, and to its address: 0 means 1. More than 1 is
	// impolite to all but the operator's own servers: their starts share the delay out, while a Crawl-delay lies
	// between any two. Refill.PerHost overrides it for one host.
	PerHost int
	// PerDomain is the number of concurrent visits to the hosts of one registered domain: 0 means 8, or no
	// bound when Delay is none; negative means no bound. A host that may have more by itself has those.
	PerDomain int
	// VisitURLs is the number of URLs of a visit to a host without delay: 0 means 16. With a delay, also of its
	// address, or a budget of bytes or time, a visit has one.
	VisitURLs int
	// MaxHosts is the number of hosts held in memory: 0 means 1,000,000. Wakes beyond it are refused;
	// Source.Hosts names their hosts again when there is room.
	MaxHosts int
	// MaxQueued is the approximate number of URLs held in memory, shared evenly by the hosts: 0 means
	// 2,000,000.
	MaxQueued int
	// Refillers is the number of concurrent refills: 0 means 4.
	Refillers int
	// Fetchers is the expected number of callers of Next: 0 means 64; more than 1,048,576 counts as that. Up to
	// four times as many visits are made ready ahead, no more, so that the best hosts go first. SetFetchers
	// changes it.
	Fetchers int
	// Extra is the number of further callers of Next that the caller starts at most to make up for slow visits: see
	// Frontier.Slow. 0 means none.
	Extra int
	// Shards is the number of goroutines that own hosts: 0 means GOMAXPROCS; at most 8 are made.
	Shards int
	// Resume says that a process that has ended may have visited hosts just before: each then waits its whole
	// delay before its first visit.
	Resume bool
	// Seed makes the jitter of back-off repeatable.
	Seed uint64
	// Now replaces the clock, which must not go back: nil means time.Now. Any goroutine calls it.
	Now func() time.Time

	// OnDrop, if set, receives URLs of a host that the frontier gives up without an outcome. Refillers call it,
	// several at once, in no order, until Close; while it runs, its refiller does nothing else.
	OnDrop func(host urlkey.HostKey, urls []Candidate)
	// OnHost, if set, receives what should survive a restart, whenever a host fails, is throttled, falls asleep
	// or answers again after that. Shards and Done call it, several at once, in order for one host unless its address
	// changed meanwhile. It must not block.
	OnHost func(host urlkey.HostKey, s HostState)
	// OnForgive, if set, receives each host whose last failure is taken back because the local network seems to have
	// caused it, in memory or not, before the host is visited again. Done calls it. It must not block.
	OnForgive func(host urlkey.HostKey)
	// OnError, if set, receives the error of a refill, on the goroutine of its refiller; the host goes dormant if
	// it has no URLs. An error of Source.Hosts comes with an empty host.
	OnError func(host urlkey.HostKey, err error)
}

// HostState is what is worth remembering of a host.
type HostState struct {
	NotBefore    time.Time     // it must not be visited earlier
	Failures     int           // visits in a row that failed
	Sleeps       int           // times it fell asleep since it last answered
	Throttles    int           // answers in a row that demanded a pause (429, 503)
	ResponseTime time.Duration // of the last answer; 0: not known
	Asleep       bool          // until NotBefore
	// Forgiven says that the local network caused the last sleep of a host that is not in memory: of what was received
	// for it before, NotBefore is replaced, Failures is 0 and Sleeps one less; the rest still holds.
	Forgiven bool
}

// withDefaults returns the options with all defaults but those that depend on Delay: see pace.
func (o Options) withDefaults() (Options, error) {
	if o.Source == nil {
		return o, errors.New("opening the frontier: Options.Source is nil; set it")
	}
	for _, d := range []struct {
		name  string
		field *int
		value int
	}{
		{"MaxFailures", &o.MaxFailures, defaultMaxFailures},
		{"MaxHosts", &o.MaxHosts, defaultMaxHosts},
		{"MaxQueued", &o.MaxQueued, defaultMaxQueued},
		{"Refillers", &o.Refillers, defaultRefillers},
		{"PerHost", &o.PerHost, 1},
		{"VisitURLs", &o.VisitURLs, defaultVisitURLs},
		{"Fetchers", &o.Fetchers, defaultFetchers},
		{"Shards", &o.Shards, runtime.GOMAXPROCS(0)},
	} {
		if *d.field == 0 {
			*d.field = d.value
		} else if *d.field < 0 {
			return o, fmt.Errorf("opening the frontier: Options.%s is %d; set 0 for the default, or more",
				d.name, *d.field)
		}
	}
	o.Shards = min(o.Shards, maxShards)
	o.Fetchers, o.Extra = min(o.Fetchers, maxFetchers), min(max(o.Extra, 0), maxFetchers)
	if o.MaxCrawlDelay == 0 {
		o.MaxCrawlDelay = defaultMaxCrawlDelay
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}
