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
	// HostsFile names a hosts(5) file that is asked before DNS.
	HostsFile string
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
	// FilterFile names a file of rules in the format of Nutch's regex-urlfilter.txt. A running crawl
	// reads it again when it changes.
	FilterFile string
	// PrefixFile names a file of the beginnings of the only URLs that are wanted, SuffixFile one of endings that are
	// not, or the only ones that are, in the formats of Nutch's prefix-urlfilter.txt and suffix-urlfilter.txt; "" means
	// none. They are read again as FilterFile is. A SuffixFile takes the place of the endings of Filters' default.
	PrefixFile, SuffixFile string
	// URLLength is the most bytes of a URL; 0 means urlkey.MaxLength.
	URLLength int
	// DenyHosts and AllowHosts, if not empty, name files of hosts, one a line with all below it, that are not
	// wanted, or the only ones that are (policy.HostsFilter). Files that change are read again while a crawl
	// runs: a host that is added to DenyHosts is not asked for anything any more.
	DenyHosts, AllowHosts string
	// MaxInterval is Nutch's db.fetch.interval.max in seconds; 0 means 90 days.
	MaxInterval uint32

	// Policies: nil means the default, an empty slice means none.
	Normalizers policy.URLNormalizers // nil: tracking parameters and session ids are dropped; policy has more
	// NormalizerScopes take the place of Normalizers for seeds, for links or for redirects.
	NormalizerScopes policy.NormalizerScopes
	Filters          policy.URLFilters // nil: file-name endings without text, and trap shapes
	Scorer           policy.Scorer
	Schedule         policy.FetchSchedule
	// NoIndex makes Crawl leave its segments linked: Index, or a crawl without it, indexes them later.
	NoIndex      bool
	IndexFilters []policy.IndexFilter
	Parsers      parse.Options
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

// ErrNoContact is wrapped by the error of a crawl that has no contact and would leave loopback.
var ErrNoContact = errors.New("no contact")

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
	if o.MaxRedirects == 0 {
		o.MaxRedirects = defaultRedirects
	}
	if o.RefuseTypes == nil {
		o.RefuseTypes = []string{"image/*", "audio/*", "video/*", "font/*"}
	}
	if o.MaxInterval == 0 {
		o.MaxInterval = policy.DefaultMaxInterval
	}
	if o.UserAgent == "" {
		o.UserAgent = "Mozilla/5.0 (compatible; seine/" + Version + ")"
		if o.Contact != "" {
			o.UserAgent = "Mozilla/5.0 (compatible; seine/" + Version + "; +" + o.Contact + ")"
		}
	}
	if o.Normalizers == nil {
		o.Normalizers = policy.URLNormalizers{policy.ParameterNormalizer{}}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Filters == nil {
		o.Filters = policy.URLFilters{policy.TrapFilter{Year: o.Now().Year()}}
		if o.SuffixFile == "" {
			o.Filters = append(o.Filters, policy.NewSuffixFilter())
		}
	}
	if o.URLLength > 0 {
		o.Filters = append(slices.Clone(o.Filters), policy.LengthFilter(o.URLLength))
	}
	if o.Scorer == nil {
		o.Scorer = policy.VoteScorer{}
	}
	if o.Schedule == nil {
		o.Schedule = policy.FixedSchedule{MaxInterval: o.MaxInterval}
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
	if o.Concurrency < 1 || o.Concurrency > 100_000 {
		fault("Concurrency %d: want 1 to 100000", o.Concurrency)
	}
	if o.MaxDepth < 0 || o.MaxDepth > 65_000 {
		fault("MaxDepth %d: want 0 (no bound) to 65000", o.MaxDepth)
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
