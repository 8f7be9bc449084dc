// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Version is the version of seine, as servers and WARC files see it.
const Version = "0.1.0"

// Options of an Engine. Every field but Dir may be zero. Open copies the struct; what its fields point to must not
// change afterwards. Functions and interfaces are called from several goroutines at once, unless they say otherwise.
type Options struct {
	// Dir is the data directory. Open creates it if it is missing; with MustExist that is ErrNoStore.
	Dir       string
	MustExist bool
	// ReadOnly opens a directory only to read it, and implies MustExist: nothing is written to it, so it may be a copy
	// on a file system that takes no writes. Methods that write return ErrReadOnly. WARC files that are missing are
	// warnings then; what a crash left stays.
	ReadOnly bool
	// RebuildIndex empties the index when the directory is opened: Index with IndexOptions.Refresh then makes it again
	// of the pages. Without it, an index of another format, or with words of another analyzer, is an ErrIndexFormat.
	RebuildIndex bool
	// Memory bounds, in bytes, what an Engine holds: caches, sorters, bodies, pages, hosts and queued URLs, in shares
	// that memory.go lists; 0 means 1 GiB, the least is 64 MiB. A program that calls debug.SetMemoryLimit with it, as
	// the seine command does, and takes little itself, has a resident set of at most 1.25 times Memory, from 256 MiB
	// on. What callbacks keep and fields of Options hold is the program's own.
	Memory int64
	// Processors is how many processors the work on pages, segments and searches keeps busy side by side; 0 means
	// GOMAXPROCS when the directory is opened.
	Processors int
	// PreferSearches makes searches wait less for a crawl beside them: while they come, and for ten seconds after, it
	// raises GOMAXPROCS of the whole process above the number of processors, unless the variable of that name is set or
	// a quota bounds the process. A crawl at full speed takes a tenth more processor time meanwhile.
	PreferSearches bool

	// UserAgent is sent with every request; "" means "Mozilla/5.0 (compatible; seine/VERSION; +CONTACT)". Its product
	// token selects the group in robots.txt. Only printable ASCII is allowed.
	UserAgent string
	// Contact is a URL or mail address by which a webmaster reaches whoever runs the crawl. Without one here or in
	// UserAgent, only loopback addresses are fetched from: a crawl or fetch of which all hosts lie elsewhere is
	// ErrNoContact.
	Contact string
	// Hosts are names with their addresses, looked up before DNS; fetch.LoadHosts reads a hosts(5) file.
	Hosts fetch.Hosts
	// NameServers replace those of /etc/resolv.conf; empty means these.
	NameServers []netip.AddrPort
	// Proxy carries all requests: "http://[user:password@]host:port" or "socks5://…"; "" means none.
	Proxy string
	// InsecureTLS accepts any certificate. The page's WARC record says so.
	InsecureTLS bool
	// AllowPrivate permits loopback and private addresses, and every port.
	AllowPrivate bool
	// Delay is the least time between two requests to a host; 0 means 1 s, negative means none. A longer Crawl-delay in
	// robots.txt takes precedence. Engine.SetDelay changes it.
	Delay time.Duration
	// MaxCrawlDelay bounds robots.txt's Crawl-delay (Nutch: fetcher.max.crawl.delay). A host that demands more is not
	// crawled: its URLs become db_gone, like those that robots.txt disallows. 0 means no such bound, and that a delay
	// of more than 5 minutes counts as 5 minutes; negative means that any delay is kept, as with Nutch's -1.
	MaxCrawlDelay time.Duration
	// Concurrency is the number of fetchers, 1 to 100,000; 0 means 64. Engine.SetConcurrency changes it. A visit that
	// lasts longer than two seconds no longer counts: an extra fetcher stands in for it, as far as memory (one for each
	// MiB of Memory) and file descriptors allow. Beyond that, such visits are cut off while other hosts wait.
	Concurrency int
	// PerHost is the number of simultaneous requests to one host and to one address, 1 to 64; 0 means 1. Raise it only
	// for your own servers: more than one is impolite. The starts lie Delay / PerHost apart, and a whole Crawl-delay.
	// Unless Delay is none, each lies 250 ms after the end of any request to the address too, so for a server that
	// answers quickly more than 3 changes little.
	PerHost int
	// FetchTimeout bounds one fetch, from its start to its last byte; 0 means 60 s.
	FetchTimeout time.Duration

	// Scope says how far links are followed; the zero value is the seeds' hosts.
	Scope policy.Scope
	// MaxDepth is the greatest number of links from a seed, up to 65,000; 0 means no bound.
	MaxDepth int
	// MaxRedirects is the longest chain of redirects that is followed, up to 60; 0 means 10, negative none.
	MaxRedirects int
	// HostPages and DomainPages bound the pages that are fetched of one host and of one registered domain. 0 means no
	// bound for hosts; domains other than the seeds' then have 10,000 pages, and as many again for each other domain
	// that links to them. These pages are fetched again when they are due; no others are fetched.
	HostPages, DomainPages int64
	// HostBytes and DomainBytes bound the bytes received, HostTime and DomainTime the time that fetchers spend, over
	// the life of the data directory; 0 means no bound. Fetches in flight when a bound is reached may exceed it. What
	// else is due stays due.
	HostBytes, DomainBytes int64
	HostTime, DomainTime   time.Duration
	// ChooseRedirectURL makes hits show, of a page that a redirect leads to and that redirect, the URL that
	// policy.ChooseRedirectURL chooses, and searches find the words of that one. Without it it is always the page's
	// own: so does Nutch, whose field url has it although Nutch chooses. UpdateDB decides, when it brings in the
	// redirect; the metadata of the page's record then has it as policy.MetaRedirectURL.
	ChooseRedirectURL bool
	// Sitemaps fetches the sitemaps that robots.txt files name, if they are in scope, and takes their entries as links.
	// Without it a sitemap is read only where a page links to it. Any sitemap may have what the protocol permits,
	// 50 MiB and 50,000 entries, as far as Memory suffices for what is sent; Events.Warning names those that are cut.
	Sitemaps bool
	// TrapDuplicates closes a part of a site (a folder, or a page with a query) when this percentage of its last 200
	// pages were copies of one another; 0 means 80, negative closes nothing.
	TrapDuplicates int
	// RefuseTypes are media types, or groups such as "video/*", whose bodies are not read, in upper or lower case; nil
	// means policy.DefaultRefuseTypes (images, sound, video and fonts), an empty slice none.
	RefuseTypes []string
	// URLLength is the longest URL in bytes; 0 means urlkey.MaxLength.
	URLLength int
	// LiveFilters are filters whose answers may change while a crawl runs, such as files that policy.WatchFile follows.
	// What they begin to refuse is no longer requested, a request in flight is cut off, and documents leave the index
	// at the end of the crawl, with Index if it refreshes, or with Purge. What they begin to permit is found, also
	// links of pages that were fetched before.
	LiveFilters []policy.LiveFilter
	// HostPolicy gives hosts, and as a policy.URLPolicy also URLs, settings of their own: delay, headers, cookies,
	// login, user agent, scope, depth, interval, budgets and limits of a fetch; nil means none. See
	// policy.NewHostTable.
	HostPolicy policy.HostPolicy
	// Links says which links of a page count, by where they lead from the page; the zero value lets all count.
	Links policy.LinkRule
	// NoAdditions makes links, redirects and sitemaps add no URLs to crawldb, only seeds (Nutch:
	// db.update.additions.allowed). What the scope refuses is still kept for later.
	NoAdditions bool
	// PurgeGone removes the records of pages that are gone from every range, and PurgeOrphans those of orphans (Nutch:
	// db.update.purge.404 and db.update.purge.orphans): InvertLinks at its end, once all segments that were fetched are
	// linked, and a crawl when it settles. A page that links to such a URL, and is fetched later, makes it new again.
	PurgeGone, PurgeOrphans bool
	// GoneUnlinked and OrphanUnlinked are the times after which a page that no page links to any more is db_gone, and
	// db_orphan; 0: never (Nutch: scoring.orphan.mark.gone.after, 30 days, and scoring.orphan.mark.orphan.after, 40
	// days). InvertLinks at its end, and a crawl when it settles, compare crawldb with linkdb and note since when pages
	// have no links; their documents leave the index with the status. Seeds, sitemaps and what only redirects lead to
	// need no links.
	GoneUnlinked, OrphanUnlinked time.Duration
	// SettleEvery is how often a crawl settles beside its fetchers what it settles at its end: ranks (LinkRank),
	// duplicates by scores, links that pages dropped, and the documents that others link to by new texts; pages that
	// are fetched meanwhile are searchable after it, and index writers get what changed. (What is gone or an orphan
	// leaves at the end only, and all is left to the end while the disk has no room for the store's tables once more.)
	// 0 means 24 hours, from one to the next; negative: at the end only.
	SettleEvery time.Duration
	// SeedScore is the score of seeds whose line has none, and of sitemaps (Nutch: db.score.injected); 0 means 1,
	// negative means 0.
	SeedScore float64
	// Interval is the time between two fetches of a URL whose seed line says nothing else (Nutch:
	// db.fetch.interval.default), in whole seconds, at most MaxInterval; 0 means 30 days, or MaxInterval if that is
	// less. URLs that crawldb has keep theirs.
	Interval time.Duration
	// MaxInterval is the longest time between two fetches of a URL (Nutch: db.fetch.interval.max), in whole seconds
	// from 1 s to 136 years; 0 means 90 days.
	MaxInterval time.Duration

	// Policies: nil means the default, an empty slice none. To add to a default, append to it:
	//
	//	Filters: append(policy.DefaultFilters(time.Now()), mine)

	// Normalizers rewrite URLs; nil means policy.DefaultNormalizers.
	Normalizers policy.URLNormalizers
	// NormalizerScopes replace Normalizers for seeds, for links or for targets of redirects.
	NormalizerScopes policy.NormalizerScopes
	// Filters refuse URLs for good; nil means policy.DefaultFilters.
	Filters policy.URLFilters
	// Scorer and Schedule: nil means policy.VoteScorer and policy.FixedSchedule.
	Scorer   policy.Scorer
	Schedule policy.FetchSchedule
	// TypeSchedules change the schedule by media type. HostPolicy has bounds of intervals for hosts, which come after
	// these.
	TypeSchedules policy.TypeRules
	// ScheduleHints takes the dates of sitemaps and feeds, and the changefreq of sitemaps, as hints when pages of the
	// same host are to be fetched again. What they say moves the next fetch to no less than a fourth of the interval
	// and to no more than twice of it, so a site that lies loses none of its pages. What is to be fetched first, as
	// what a sitemap makes known, is moved after that fetch, by the changefreq.
	ScheduleHints bool
	// NoFollowLinks makes linkdb, and so the index, also keep links that must not be followed: those marked nofollow,
	// ugc or sponsored, and all links of pages that forbid to follow theirs. Without it linkdb does not have them, as
	// in Nutch. Crawldb never takes URLs from them.
	NoFollowLinks bool
	// MaxInlinks is the number of links to one page of which linkdb keeps the texts, of one segment, and of which the
	// index reads them (compare Nutch's linkdb.max.inlinks), 1 to 10,000; 0 means 10,000. Of more links those of the
	// pages with the best scores have their texts; that the others link to the page is known all the same. AnchorLength
	// is the number of characters that linkdb keeps of an anchor text (Nutch: linkdb.max.anchor.length), 1 to 256; 0
	// means 256. No anchor has more than 256 bytes.
	MaxInlinks, AnchorLength int
	// LinkRank makes a crawl rank links at its end and as SettleEvery says, before Dedup and Index: "page", "host" or
	// "domain" is the graph of PageRank, "inlink-domains" is the other measure, as LinkRankOptions have them, whose
	// other fields have their defaults. "" means that only Linkdb.Rank does.
	LinkRank string
	// DedupOrder says which of equal pages Dedup keeps: "score,length" keeps the one with the highest score, then the
	// one with the shortest URL. "time" (fetched last) and "https" exist too. What is still undecided, the key decides.
	// "" means "score,length".
	DedupOrder string
	// NearDuplicates says what Dedup does with pages whose fingerprints (storage.SimHash) are of one group. With
	// "collapse" a search shows one of them if SearchOptions.Collapse says so. With "mark" all but the best are
	// db_duplicate, as equal pages are, and leave the index. "" means "collapse".
	NearDuplicates string
	// NoIndex makes Crawl and Recover leave segments linked. Index, or a crawl without NoIndex, indexes them later.
	NoIndex bool
	// IndexFilters change documents before they are indexed, or keep them out; they run in order.
	IndexFilters []policy.IndexFilter
	// IndexWriters bring what is indexed to other search engines or files, too: Index, Delete, Purge and Crawl send
	// what changed. Package engine/writers has some. A crawl sends while it runs and at its end; an engine that cannot
	// be reached holds it up for ten minutes at most, at its end, and gets the rest from the next run. Engine.Close
	// does not wait for it.
	IndexWriters []policy.IndexWriter
	// Parsers say how pages are parsed.
	Parsers parse.Options
	// ParseLater makes a fetch only store responses (Nutch: fetcher.parse=false). Engine.Fetch leaves its segment open;
	// Seal parses it, and so does the next Crawl or Recover. A crawl needs the links, so it parses each segment from
	// its WARC when the segment is sealed. OnPage then gets pages without Parsed and Links.
	ParseLater bool
	// NoContent leaves the bodies of pages out of the WARC (Nutch: fetcher.store.content=false): heads, texts and links
	// are kept. Pages are then parsed while they are fetched, and never again: Seal refuses such segments, exports have
	// no content, and what a crash leaves in a segment that was not sealed is due again, although it was counted and
	// passed to OnPage and PageStored before.
	NoContent bool
	// OnPage, if not nil, is called once for every fetch that was stored: pages, redirects and failures.
	//
	// It runs on PageWorkers goroutines of its own (0 means one for each processor), several calls at once, in no
	// order. When all of them are busy, fetchers wait. Crawl and Fetch return after the last call, even when they are
	// aborted, so a call that never returns blocks them; a panic in a call ends the process. It may call any method of
	// the Engine but Close and Delete, which would wait for it; Crawl and Fetch are ErrBusy.
	//
	// It is called up to 100 ms before the fetch is durable: a page that is lost in a crash is fetched and delivered
	// again.
	OnPage      func(*Page)
	PageWorkers int
	// Signature names the signature by which pages count as equal: "content" (parse.ContentSignature), "text"
	// (parse.TextSignature), "bytes" (parse.BytesSignature), "body" (parse.RawSignature, Nutch's MD5Signature) or
	// "profile" (parse.TextProfileSignature, Nutch's). A store keeps the one that it was created with: "" means that
	// one, or "content" for a new store; another is a *storage.IdentityError. Parsers.Signer takes precedence.
	Signature string
	// Protocol replaces the HTTP client: for tests and for other transports. It is not held to a contact, to private
	// addresses or to RefuseTypes, and Dial and InsecureTLS have no effect beside it. FetchTimeout ends the context of
	// each of its fetches. What its responses leave zero is set, see fetch.Checked.
	Protocol fetch.Protocol
	// Resolver replaces Hosts, NameServers and DNS.
	Resolver fetch.Resolver
	// Dial replaces the guarded dialer. It must enforce an address policy of its own.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)

	// CrawlLog writes down each fetch, for people and their tools.
	CrawlLog CrawlLogOptions
	// Events receives what happens; nil functions are not called.
	Events EventListener
	// FS replaces the disk, for simulations and fault tests.
	FS storage.FS
	// Now replaces the clock, for tests; nil means the system's, which the engine keeps from going back. It is the
	// engine's only clock and must not go back. While it stands still, no delay ends. Its year must be 1971 to 2261.
	Now func() time.Time
	// OnFatal is called when the store cannot continue: a sync failed, or the write-ahead log cannot be written. The
	// process should exit and start again; what was acknowledged is kept. It is called on any goroutine, with locks
	// held, and must not call the Engine. nil means a panic.
	OnFatal func(error)

	repairing  bool // a Repair or Rebuild holds the lock of the directory, see lockRebuild
	rebuilding bool // the store is the one that it makes
}

// EventListener receives what the engine does. Each function may be nil. They run on the goroutine where the event
// happened and hold it up, several at once, so they must be quick. They must not call the Engine: locks are held.
type EventListener struct {
	// PageStored: the outcome of a fetch is on disk and will survive a crash. Calls come one at a time, in the order of
	// storing, within about 100 ms of the fetch. o has no outlinks and is valid during the call.
	PageStored func(u urlkey.URL, o *storage.FetchOutcome)
	// SegmentState: a segment reached a state. Calls for one segment come in the order of its states.
	SegmentState func(segment uint32, state storage.SegmentState)
	// PhaseDone: a phase, a fetch or a crawl ended without an error. r is the type that its method returns.
	PhaseDone func(r Report)
	// HostAsleep: a host is not visited until the given time, because it failed too often, or because of what its
	// robots.txt or the options say: why. The time is zero if the options forbid to reach it.
	HostAsleep func(host urlkey.HostKey, until time.Time, why Cause)
	// RebuildStarts: Rebuild, or Repair that found damage, is about to make a new store. Nothing was changed yet. The
	// new store depends on the options, which should be those of the crawl.
	RebuildStarts func()
	// Warning: something that a person should know and that stops nothing.
	Warning func(err error)
}

// withDefaults returns a copy with every default set.
func (o Options) withDefaults() Options {
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	o.Processors = cmp.Or(o.Processors, defaultProcessors())
	o.Concurrency = cmp.Or(o.Concurrency, defaultConcurrency)
	if o.Delay == 0 {
		o.Delay = defaultDelay
	}
	if o.PerHost == 0 {
		o.PerHost = 1
	}
	if o.TrapDuplicates == 0 {
		o.TrapDuplicates = defaultTrapDuplicates
	}
	o.DedupOrder = cmp.Or(o.DedupOrder, "score,length")
	o.NearDuplicates = cmp.Or(o.NearDuplicates, nearCollapse)
	switch {
	case o.MaxRedirects == 0:
		o.MaxRedirects = defaultRedirects
	case o.MaxRedirects < 0:
		o.MaxRedirects = 0
	}
	if o.RefuseTypes == nil {
		o.RefuseTypes = policy.DefaultRefuseTypes()
	}
	o.RefuseTypes = lowerCase(o.RefuseTypes)
	if o.MaxInterval == 0 {
		o.MaxInterval = policy.DefaultMaxInterval * time.Second
	}
	if o.Interval == 0 {
		o.Interval = min(policy.DefaultInterval*time.Second, o.MaxInterval)
	}
	if o.SeedScore == 0 {
		o.SeedScore = 1
	}
	if o.MaxInlinks == 0 {
		o.MaxInlinks = inlinksMax
	}
	if o.AnchorLength == 0 {
		o.AnchorLength = storage.AnchorMaxBytes
	}
	if o.UserAgent == "" {
		contact := ""
		if o.Contact != "" {
			contact = "; +" + o.Contact
		}
		o.UserAgent = "Mozilla/5.0 (compatible; seine/" + Version + contact + ")"
	}
	if o.Normalizers == nil {
		o.Normalizers = policy.DefaultNormalizers()
	}
	if o.Now == nil {
		o.Now = (&clock{read: time.Now}).now
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

// lowerCase returns a list of its own; nil stays nil.
func lowerCase(list []string) []string {
	list = slices.Clone(list)
	for i, s := range list {
		list[i] = strings.ToLower(s)
	}
	return list
}

// purged are the statuses of records that are removed.
func (o *Options) purged() (list []storage.Status) {
	if o.PurgeGone {
		list = append(list, storage.StatusGone)
	}
	if o.PurgeOrphans {
		list = append(list, storage.StatusOrphan)
	}
	return list
}

// settleEvery is never, about, where a crawl settles at its end only.
func (o *Options) settleEvery() time.Duration {
	if o.SettleEvery < 0 {
		return math.MaxInt64
	}
	return cmp.Or(o.SettleEvery, defaultSettleEvery)
}

// marksOrphans reports whether pages without links change their status.
func (o *Options) marksOrphans() bool { return o.GoneUnlinked > 0 || o.OrphanUnlinked > 0 }

// tidies reports whether records are marked or removed unasked.
func (o *Options) tidies() bool { return o.marksOrphans() || len(o.purged()) > 0 }

// frontierCrawlDelay is where the frontier caps a Crawl-delay; 0: at its default, 5 minutes.
func (o *Options) frontierCrawlDelay() time.Duration {
	if o.MaxCrawlDelay < 0 {
		return crawlDelayMax
	}
	return o.MaxCrawlDelay
}

// normalizers returns the chain for URLs of a scope.
func (o *Options) normalizers(scope policy.NormalizerScope) policy.URLNormalizers {
	return o.NormalizerScopes.Of(scope, o.Normalizers)
}

// hasContact reports whether a webmaster can find out how to reach whoever runs the crawl.
func (o *Options) hasContact() bool {
	agent := o.UserAgent
	return o.Contact != "" || strings.Contains(agent, "@") || strings.Contains(agent, "http://") ||
		strings.Contains(agent, "https://")
}

// needsContact reports whether only loopback addresses may be fetched from. An embedder's Protocol decides for itself.
func (o *Options) needsContact() bool { return o.Protocol == nil && !o.hasContact() }

// acceptsType reports whether a body of a media type is read.
func (o *Options) acceptsType(mediaType string) bool {
	for _, t := range o.RefuseTypes {
		if group, ok := strings.CutSuffix(t, "*"); t == mediaType || ok && strings.HasPrefix(mediaType, group) {
			return false
		}
	}
	return true
}

// agentToken is the product token that selects a group in robots.txt: NAME in "compatible; NAME/…", as crawlers write
// it, or else the first product of the user agent.
func (o *Options) agentToken() string { return agentToken(o.UserAgent) }

// agentOf is the product token for a host. Where the policy of hosts names no user agent it is agentToken.
func (o *Options) agentOf(h urlkey.HostKey) string {
	if o.HostPolicy != nil {
		if set := o.HostPolicy.Settings(h); set != nil && set.UserAgent != "" {
			return agentToken(set.UserAgent)
		}
	}
	return o.agentToken()
}

func agentToken(s string) string {
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

// settingSignature is the store's setting that names the signature. Stores from before this setting have the text's.
const (
	settingSignature = "signature"
	signatureText    = "text"
	signatureContent = "content" // of new stores
)

// signers are the signatures by name.
var signers = map[string]parse.SignerFunc{
	signatureContent: parse.ContentSignature,
	signatureText:    parse.TextSignature,
	"bytes":          parse.BytesSignature,
	"body":           parse.RawSignature,
	"profile":        parse.TextProfileSignature,
}

// signerNames are the names in the order in which errors list them.
var signerNames = []string{signatureContent, signatureText, "bytes", "body", "profile"}

// chooseSigner takes the signature that the store was created with. A different Options.Signature is an error: pages
// that are signed in two ways are never duplicates of one another.
func (o *Options) chooseSigner(store *storage.Store) error {
	name, ok, err := store.Setting(settingSignature)
	if err != nil {
		return err
	}
	if !ok {
		name = signatureText
	}
	if o.Signature != "" && o.Signature != name {
		return &storage.IdentityError{Dir: o.Dir, Setting: settingSignature, Stored: name, Given: o.Signature}
	}
	signer := signers[name]
	if signer == nil {
		return fmt.Errorf("opening %s: it was created with signature %q, which seine %s does not know: "+
			"use the version that created it", o.Dir, name, Version)
	}
	if o.Parsers.Signer == nil {
		o.Parsers.Signer = signer
	}
	return nil
}
