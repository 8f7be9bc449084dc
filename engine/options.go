// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// Version is the version of seine, as it names itself to servers and in WARC files.
const Version = "0.1.0"

// Options of an Engine. The zero value of every field but Dir is a sensible default.
type Options struct {
	// Dir is the data directory; it is created when missing, unless MustExist.
	Dir       string
	MustExist bool
	// Memory is the budget in bytes for caches, sorters and response bodies; 0 means 1 GiB.
	Memory int64

	// UserAgent is sent with every request; "" means "Mozilla/5.0 (compatible; seine/VERSION; +CONTACT)".
	// Its product token also selects the group of robots.txt.
	UserAgent string
	// Contact is a URL or mail address by which a webmaster reaches whoever runs the crawl. It, or
	// one inside UserAgent, is required to fetch from anything but loopback addresses.
	Contact string
	// Hosts are names and their addresses, asked before DNS; fetch.LoadHosts reads a hosts(5) file.
	Hosts fetch.Hosts
	// NameServers are asked instead of those of /etc/resolv.conf.
	NameServers []netip.AddrPort
	// Proxy, "http://[user:password@]host:port" or "socks5://…", carries all requests.
	Proxy string
	// InsecureTLS takes any certificate; the page's record says so.
	InsecureTLS bool
	// AllowPrivate permits loopback and private addresses, and every port.
	AllowPrivate bool
	// Delay is the least time between two requests to a host: 0 means 1 s, negative means none.
	// A longer Crawl-delay in robots.txt wins.
	Delay time.Duration
	// Concurrency is the number of fetchers; 0 means 64. One host is never asked twice at once.
	Concurrency int
	// PerHost is the number of requests at once to one host and to one address: 0 means 1. More is rude
	// to all but one's own servers.
	PerHost int
	// FetchTimeout bounds one fetch from its start to its last byte; 0 means 60 s.
	FetchTimeout time.Duration

	// Scope says how far links are followed; the zero value is the seeds' hosts.
	Scope policy.Scope
	// MaxDepth is the greatest number of links from a seed; 0 means no bound.
	MaxDepth int
	// MaxRedirects is the longest chain of redirects that is followed: 0 means 10, at most 60.
	MaxRedirects int
	// HostPages and DomainPages are the most pages of one host, and of one registered domain, that are
	// fetched: 0 means no bound for hosts, and for domains as many as its reputation allows, see
	// budget.go. Neither binds seeds' hosts and domains unless it is given.
	HostPages, DomainPages int64
	// HostBytes and DomainBytes are the most bytes received, HostTime and DomainTime the longest time that
	// fetchers are at it, over all the life of the data directory; 0 means no bound. The fetches that are
	// under way when a bound is reached may go beyond it; what else is due stays so.
	HostBytes, DomainBytes int64
	HostTime, DomainTime   time.Duration
	// Sitemaps has the sitemaps that robots.txt files name fetched like any page in scope, and their entries
	// taken as links. Without it, sitemaps are read only where a page links to one.
	Sitemaps bool
	// TrapDuplicates closes a part of a site (a folder, a page with a query) when of its last 200 pages
	// so many in a hundred were copies of one another; 0 means 80, negative that none is ever closed.
	TrapDuplicates int
	// RefuseTypes are media types, or groups such as "video/*", whose bodies are not read; nil means
	// images, sound, video and fonts, an empty slice none.
	RefuseTypes []string
	// URLLength is the most bytes of a URL; 0 means urlkey.MaxLength.
	URLLength int
	// LiveFilters are filters whose answers may change while a crawl runs, such as files that policy.WatchFile
	// follows. What they refuse from then on is not requested any more, down to the request that is under way; what
	// they come to permit is found, also links of pages that were fetched before.
	LiveFilters []policy.LiveFilter
	// HostPolicy gives single hosts a delay, headers, cookies, a login, a scope and budgets of their own; nil: none.
	HostPolicy policy.HostPolicy
	// MaxInterval is the longest time between two fetches of a URL (Nutch: db.fetch.interval.max), in whole seconds;
	// 0 means 90 days.
	MaxInterval time.Duration

	// Policies: nil means the default, an empty slice means none. To add to a default, append to it:
	//
	//	Filters: append(policy.DefaultFilters(time.Now()), mine)

	// Normalizers rewrite URLs; nil means policy.DefaultNormalizers.
	Normalizers policy.URLNormalizers
	// NormalizerScopes take the place of Normalizers for seeds, for links or for redirects.
	NormalizerScopes policy.NormalizerScopes
	// Filters refuse URLs for good; nil means policy.DefaultFilters.
	Filters policy.URLFilters
	// Scorer and Schedule: nil means policy.VoteScorer and policy.FixedSchedule.
	Scorer   policy.Scorer
	Schedule policy.FetchSchedule
	// DedupOrder is the order by which Dedup keeps the best of equal pages: "score,length" means the highest score, then
	// the shortest URL. Others are "time" (fetched last) and "https". The key decides what they leave open; "" means
	// "score,length".
	DedupOrder string
	// NoIndex makes Crawl leave its segments linked: Index, or a crawl without it, indexes them later.
	NoIndex bool
	// IndexFilters change documents on their way into the index, or keep them out.
	IndexFilters []policy.IndexFilter
	// Parsers say how pages are parsed.
	Parsers parse.Options
	// OnPage, if not nil, is called with the end of every fetch: pages, redirects and failures. It runs on PageWorkers
	// goroutines at once (0 means one for each processor), in no order, while fetchers go on; when all of them are
	// busy, fetchers wait. It is called once the fetch is stored, which is up to 100 ms before it is durable: a
	// page that a crash takes back is fetched and delivered again. Crawl and Fetch return after the last call. It may
	// call any method of the Engine but Close, Crawl and Fetch.
	OnPage      func(*Page)
	PageWorkers int
	// Signature names the signature by which pages are duplicates of one another: "content" (parse.ContentSignature),
	// "text" (parse.TextSignature), "bytes" (parse.BytesSignature), "body" (parse.RawSignature, Nutch's MD5Signature) or
	// "profile" (parse.TextProfileSignature, Nutch's). A store has the one that it was made with: "" means that, and content
	// for a new one. Parsers.Signer comes before it.
	Signature string
	// Protocol replaces the HTTP client, for tests and for other transports.
	Protocol fetch.Protocol
	// Resolver replaces hosts file and DNS.
	Resolver fetch.Resolver
	// Dial replaces the guarded dialer; it must enforce its own address policy.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)

	// Events are told what happens; nil functions are not called.
	Events EventListener
	// FS replaces the disk; Now replaces the wall clock. For simulation and fault tests.
	FS  storage.FS
	Now func() time.Time
	// OnFatal is called when the store cannot go on (a failed sync, a full disk in the write-ahead
	// log). nil means a panic. The process should exit and be started again.
	OnFatal func(error)
}

// withDefaults returns a copy with every default in place.
func (o Options) withDefaults() Options {
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.Delay == 0 {
		o.Delay = defaultDelay
	}
	if o.PerHost == 0 {
		o.PerHost = 1
	}
	if o.TrapDuplicates == 0 {
		o.TrapDuplicates = defaultTrapDuplicates
	}
	if o.DedupOrder == "" {
		o.DedupOrder = "score,length"
	}
	if o.MaxRedirects == 0 {
		o.MaxRedirects = defaultRedirects
	}
	if o.RefuseTypes == nil {
		o.RefuseTypes = policy.DefaultRefuseTypes()
	}
	if o.MaxInterval == 0 {
		o.MaxInterval = policy.DefaultMaxInterval * time.Second
	}
	if o.UserAgent == "" {
		o.UserAgent = "Mozilla/5.0 (compatible; seine/" + Version + ")"
		if o.Contact != "" {
			o.UserAgent = "Mozilla/5.0 (compatible; seine/" + Version + "; +" + o.Contact + ")"
		}
	}
	if o.Normalizers == nil {
		o.Normalizers = policy.DefaultNormalizers()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Filters == nil {
		o.Filters = policy.DefaultFilters(o.Now())
	}
	if o.URLLength > 0 {
		o.Filters = append(slices.Clone(o.Filters), policy.LengthFilter(o.URLLength))
	}
	if o.Scorer == nil {
		o.Scorer = policy.VoteScorer{}
	}
	if o.Schedule == nil {
		o.Schedule = policy.FixedSchedule{MaxInterval: uint32(o.MaxInterval / time.Second)}
	}
	return o
}

// normalizers returns those for URLs of a scope.
func (o *Options) normalizers(scope policy.NormalizerScope) policy.URLNormalizers {
	return o.NormalizerScopes.Of(scope, o.Normalizers)
}

// validate reports every fault at once, by field, value and rule.
func (o *Options) validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if o.Dir == "" {
		fault("Dir is empty: name a data directory")
	}
	if o.Memory < 64<<20 {
		fault("Memory %d: at least 64 MiB (67108864) is needed", o.Memory)
	}
	if o.URLLength < 0 {
		fault("URLLength %d: want 0 or more", o.URLLength)
	}
	if o.Signature != "" && !slices.Contains(signerNames, o.Signature) {
		fault("Signature %q: want %s", o.Signature, strings.Join(signerNames, ", "))
	}
	if o.Concurrency < 1 || o.Concurrency > concurrencyMax {
		fault("Concurrency %d: want 1 to %d", o.Concurrency, concurrencyMax)
	}
	if o.MaxDepth < 0 || o.MaxDepth > 65_000 {
		fault("MaxDepth %d: want 0 (no bound) to 65000", o.MaxDepth)
	}
	if o.PageWorkers < 0 {
		fault("PageWorkers %d: want 0 (one for each processor) or more", o.PageWorkers)
	}
	if o.MaxInterval < time.Second {
		fault("MaxInterval %s: want at least a second", o.MaxInterval)
	}
	if _, err := phases.ParseDedupOrder(o.DedupOrder); err != nil {
		fault("DedupOrder: %w", err)
	}
	if o.PerHost < 1 || o.PerHost > 64 {
		fault("PerHost %d: want 1 to 64", o.PerHost)
	}
	if o.MaxRedirects < 0 || o.MaxRedirects > redirectsMax {
		fault("MaxRedirects %d: want 1 to %d", o.MaxRedirects, redirectsMax)
	}
	if o.TrapDuplicates > 100 {
		fault("TrapDuplicates is %d, must be at most 100", o.TrapDuplicates)
	}
	for _, b := range []struct {
		name  string
		value int64
	}{{"HostPages", o.HostPages}, {"DomainPages", o.DomainPages}, {"HostBytes", o.HostBytes}, {"DomainBytes", o.DomainBytes},
		{"HostTime", int64(o.HostTime)}, {"DomainTime", int64(o.DomainTime)}} {
		if b.value < 0 {
			fault("%s is %d: want 0 (no bound) or more", b.name, b.value)
		}
	}
	if strings.ContainsFunc(o.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }) {
		fault("UserAgent %q: only printable ASCII may be sent in a request", o.UserAgent)
	}
	return errors.Join(faults...)
}

// hasContact reports whether a webmaster could find out whom to ask.
func (o *Options) hasContact() bool {
	return o.Contact != "" || strings.Contains(o.UserAgent, "@") || strings.Contains(o.UserAgent, "http://") || strings.Contains(o.UserAgent, "https://")
}

// acceptsType reports whether a page's body is wanted, by its media type.
func (o *Options) acceptsType(mediaType string) bool {
	for _, t := range o.RefuseTypes {
		if group, ok := strings.CutSuffix(t, "*"); t == mediaType || ok && strings.HasPrefix(mediaType, group) {
			return false
		}
	}
	return true
}

// agentToken is the product token of the user agent that robots.txt groups are matched with: the
// name inside "compatible; NAME/…" as crawlers write it, else the first product.
func (o *Options) agentToken() string {
	s := o.UserAgent
	if _, rest, ok := strings.Cut(s, "compatible;"); ok {
		s = strings.TrimSpace(rest)
	}
	end := strings.IndexFunc(s, func(r rune) bool {
		return !(r == '_' || r == '-' || 'a' <= r|0x20 && r|0x20 <= 'z')
	})
	if end > 0 {
		s = s[:end]
	}
	return s
}
