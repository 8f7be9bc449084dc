// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/seine-crawler/seine/engine"

// setting is one row of the table of settings. A new setting needs a row here, its row in README (the test
// TestReadmeSettings prints it), and in policies.go what its value makes if that is more than one field of the
// engine's options. Flags, help, keys of TOML files, environment variables and the comments of "seine init" come from
// the row.
type setting struct {
	name string
	kind kind
	def  string
	// used are the commands on which the setting has an effect. The others do not accept it.
	used uses
	// flag also makes it a flag of these commands. A flag is for what people change often: crawl has room for few.
	flag bool
	// lasting says what it means to change a setting whose effect outlasts the run; "": it has none. The store
	// remembers the value, see lasting.go.
	lasting string
	help    string
	// into is the field of the options that the value is for; nil: policies.go reads it.
	into func(o *engine.Options) any
	// zeroIsNone says that 0 means none where the engine's 0 means a default.
	zeroIsNone bool
}

// What it means to change a setting with a lasting effect.
const (
	keepScope    = "URLs that were refused are found again once the scope permits them"
	keepSchedule = "pages that were fetched before keep their dates until the next fetch"
	keepScores   = "scores that are there stay, and those of both kinds mix"
	keepInterval = "URLs that are known already keep their interval"
	keepLinks    = "links of pages that were fetched before stay as they are until the next fetch"
	keepShown    = "redirects that were followed before stay as they are until the next fetch"
	keepSpelling = "URLs that are known already keep their spelling, and may be fetched again under another"
)

// settingGroup is a group of settings, with its title in README, in help and in seine.toml.
type settingGroup struct {
	title    string
	settings []setting
}

// settingGroups is the one table of all settings.
var settingGroups = []settingGroup{
	{"What to crawl", []setting{
		{name: "seeds", kind: aSeedList, used: inCrawl | inInject, flag: true,
			help: "files of seed URLs, one per line; `-` on the command line is standard input"},
		{name: "scope", kind: aScope, def: "host", used: deciding, flag: true, lasting: keepScope,
			help: "how far to follow links: `page` (seeds only), `prefix` (the seeds' folders), `host`, `domain` or " +
				"`any`",
			into: func(o *engine.Options) any { return &o.Scope }},
		{name: "max-depth", kind: aCount, def: "0", used: inCrawl | inGenerate | inCheckURL, flag: true,
			help: "most links from a seed; 0: no limit",
			into: func(o *engine.Options) any { return &o.MaxDepth }},
		{name: "max-redirects", kind: aCount, def: "10", used: deciding &^ inCheckURL, zeroIsNone: true,
			help: "longest chain of redirects to follow; 0: follow none",
			into: func(o *engine.Options) any { return &o.MaxRedirects }},
		{name: "sitemaps", kind: aSwitch, def: "false", used: inCrawl | inUpdateDB,
			help: "also fetch the sitemaps that robots.txt files name, and take their entries as links",
			into: func(o *engine.Options) any { return &o.Sitemaps }},
		{name: "requisites", kind: aSwitch, def: "false", used: filtering | parsing | inFilter,
			help: "also fetch the images, scripts and style sheets of pages, within the scope, for an archive",
			into: func(o *engine.Options) any { return &o.Parsers.Requisites }},
		{name: "forms", kind: aSwitch, def: "false", used: parsing,
			help: "also follow forms that only send a GET request, without filling them in",
			into: func(o *engine.Options) any { return &o.Parsers.Forms }},
		{name: "schedule", kind: oneOf("fixed", "adaptive", "freshness"), def: "fixed",
			used: inCrawl | inUpdateDB, lasting: keepSchedule,
			help: "when pages are fetched again: `fixed` or `adaptive`, as in Nutch, or `freshness`, which " +
				"estimates how often each changes and fetches where that keeps most of them fresh, one that changes " +
				"once in `interval` once in it"},
		{name: "type-schedule", kind: aList, def: "", used: inCrawl | inUpdateDB, lasting: keepSchedule,
			help: "how pages of some media types are fetched again: bounds of the interval, and rates of the " +
				"adaptive schedule, such as `text/html inc=0.2 dec=0.5 max=168h, image/* min=720h` (Nutch: " +
				"adaptive-mimetypes.txt)"},
		{name: "schedule-hints", kind: aSwitch, def: "false", used: inCrawl | inUpdateDB, lasting: keepSchedule,
			help: "what sitemaps and feeds say of changes moves the next fetch of a page of their host, to between " +
				"a fourth and twice of its interval",
			into: func(o *engine.Options) any { return &o.ScheduleHints }},
		{name: "interval", kind: aDuration, def: "0", used: making, lasting: keepInterval,
			help: "time between two fetches of a URL whose seed line says nothing else, such as 168h; 0: 30 days, or " +
				"max-interval if that is less (Nutch: db.fetch.interval.default)",
			into: func(o *engine.Options) any { return &o.Interval }},
		{name: "max-interval", kind: aTime, def: "2160h", used: making,
			lasting: keepSchedule,
			help:    "longest time between two fetches of a URL (Nutch: db.fetch.interval.max)",
			into:    func(o *engine.Options) any { return &o.MaxInterval }},
		{name: "ignore-external", kind: aSwitch, def: "false", used: linking, lasting: keepLinks,
			help: "links and redirects from one host to another do not count (Nutch: db.ignore.external.links); " +
				"unlike those that the scope refuses they are not kept for later",
			into: func(o *engine.Options) any { return &o.Links.IgnoreExternal }},
		{name: "ignore-internal", kind: aSwitch, def: "false", used: linking, lasting: keepLinks,
			help: "links and redirects within a host do not count (Nutch: db.ignore.internal.links)",
			into: func(o *engine.Options) any { return &o.Links.IgnoreInternal }},
		{name: "ignore-by", kind: oneOf("host", "domain"), def: "host", used: linking, lasting: keepLinks,
			help: "what the two settings above compare: `host` or registered `domain` (Nutch: " +
				"db.ignore.external.links.mode)"},
		{name: "no-additions", kind: aSwitch, def: "false", used: making,
			lasting: keepLinks,
			help: "only seeds become new URLs; links, redirects and sitemaps do not (Nutch: " +
				"db.update.additions.allowed=false)",
			into: func(o *engine.Options) any { return &o.NoAdditions }},
		{name: "purge-gone", kind: aSwitch, def: "false", used: inCrawl | inInvertlinks,
			help: "remove the records of pages that are gone, when invertlinks or the crawl ends (Nutch: " +
				"db.update.purge.404); a page that is fetched later and links to one makes it known again",
			into: func(o *engine.Options) any { return &o.PurgeGone }},
		{name: "gone-unlinked", kind: aDuration, def: "0", used: inCrawl | inInvertlinks,
			help: "time after which a page that no page links to any more is db_gone, when invertlinks or the crawl " +
				"ends; 0: never (Nutch: scoring.orphan.mark.gone.after)",
			into: func(o *engine.Options) any { return &o.GoneUnlinked }},
		{name: "orphan-unlinked", kind: aDuration, def: "0", used: inCrawl | inInvertlinks,
			help: "time after which it is db_orphan; 0: never (Nutch: scoring.orphan.mark.orphan.after)",
			into: func(o *engine.Options) any { return &o.OrphanUnlinked }},
		{name: "purge-orphans", kind: aSwitch, def: "false", used: inCrawl | inInvertlinks,
			help: "remove the records that are db_orphan, as purge-gone does those of gone pages (Nutch: " +
				"db.update.purge.orphans)",
			into: func(o *engine.Options) any { return &o.PurgeOrphans }},
		{name: "scoring", kind: oneOf("vote", "opic", "opic-distinct", "depth"), def: "vote",
			used: making | inLinkrank, lasting: keepScores,
			help: "which URLs come first: `vote` (each page splits one vote among the pages it links to), `opic` " +
				"(Nutch's: a page's score is divided by all its links; scores have 64 bits, Nutch's 32, so they " +
				"agree to six digits), `opic-distinct` (by the pages it links to) or `depth` (those with the fewest " +
				"links from a seed: a seed has 1, each link halves that; scores of another scoring stay until a link " +
				"to the URL is found again; Nutch: scoring-depth, whose scoring.depth.max is `max-depth`)"},
		{name: "linkrank", kind: oneOf("", "page", "host", "domain", "inlink-domains"),
			used: inCrawl, lasting: keepScores,
			help: "rank links at the end of a crawl and as settle-every says, as `seine linkrank --graph` does, or " +
				"with `inlink-domains` as `seine linkrank --by inlink-domains`; empty: only that command does",
			into: func(o *engine.Options) any { return &o.LinkRank }},
		{name: "settle-every", kind: aDuration, def: "24h", used: inCrawl, zeroIsNone: true,
			help: "time after which a crawl that goes on settles ranks, duplicates, dropped links and the texts of " +
				"links in the index, as it does at its end, where the disk has room for the tables once more; 0: " +
				"at its end only",
			into: func(o *engine.Options) any { return &o.SettleEvery }},
		{name: "score-internal", kind: aNumber, def: "1", used: making, lasting: keepScores,
			help: "weight of links within a host; `depth` has no weights (Nutch: db.score.link.internal)"},
		{name: "score-external", kind: aNumber, def: "1", used: making, lasting: keepScores,
			help: "weight of links between hosts, likewise (Nutch: db.score.link.external)"},
		{name: "score-filtered", kind: aSwitch, def: "false", used: inCrawl | inUpdateDB, lasting: keepScores,
			help: "`opic` also divides by links that filters or the scope refuse (Nutch: db.score.count.filtered)"},
		{name: "seed-score", kind: aNumber, def: "1", zeroIsNone: true, lasting: keepScores,
			used: making,
			help: "score of seeds whose line has none, and of sitemaps (Nutch: db.score.injected); `depth` has 1",
			into: func(o *engine.Options) any { return &o.SeedScore }},
	}},
	{"Politeness", []setting{
		{name: "contact", kind: aText, used: requesting, flag: true,
			help: "URL or mail address by which webmasters reach you; without it only loopback is crawled, which " +
				"also needs `allow-private`",
			into: func(o *engine.Options) any { return &o.Contact }},
		{name: "user-agent", kind: aText, used: requesting | inParse | inCheckURL, flag: true,
			help: "User-Agent header, `Mozilla/5.0 (compatible; seine/VERSION; +CONTACT)` unless set; its product " +
				"name " +
				"selects the robots.txt group",
			into: func(o *engine.Options) any { return &o.UserAgent }},
		{name: "delay", kind: aDuration, def: "1s", used: requesting | inStories, flag: true, zeroIsNone: true,
			help: "pause from the end of a request to a host to the start of the next; 0s for none; a longer " +
				"Crawl-delay wins",
			into: func(o *engine.Options) any { return &o.Delay }},
		{name: "max-crawl-delay", kind: aDelayBound, def: "0", used: requesting | inCheckURL,
			help: "a host whose robots.txt demands a longer Crawl-delay is not crawled (Nutch: " +
				"fetcher.max.crawl.delay); 0: no such bound, and more than 5 minutes counts as 5 minutes; `any`: " +
				"every Crawl-delay is kept, however long",
			into: func(o *engine.Options) any { return &o.MaxCrawlDelay }},
		{name: "per-host", kind: aPositive, def: "1", used: fetching,
			help: "simultaneous requests to one host; use more than 1 only for your own servers. They start that " +
				"part of the delay apart (a Crawl-delay counts whole) and, unless `--delay` is 0s, 250ms after the " +
				"end of each request to the same address",
			into: func(o *engine.Options) any { return &o.PerHost }},
	}},
	{"Network", []setting{
		{name: "concurrency", kind: aPositive, def: "64", used: fetching, flag: true,
			help: "number of fetchers",
			into: func(o *engine.Options) any { return &o.Concurrency }},
		{name: "timeout", kind: aTime, def: "60s", used: requesting,
			help: "longest time for one fetch",
			into: func(o *engine.Options) any { return &o.FetchTimeout }},
		{name: "hosts", kind: aFile, used: requesting, flag: true,
			help: "hosts(5) file, read before DNS; `/etc/hosts` is not read, and `localhost` is always loopback"},
		{name: "resolver", kind: aText, used: requesting,
			help: "name servers to use instead of the system's, such as 127.0.0.1:5353"},
		{name: "proxy", kind: aText, used: requesting,
			help: "http://[user:password@]host:port or socks5://…, for all requests",
			into: func(o *engine.Options) any { return &o.Proxy }},
		{name: "insecure-tls", kind: aSwitch, def: "false", used: requesting,
			help: "accept any certificate; records say that it was not verified",
			into: func(o *engine.Options) any { return &o.InsecureTLS }},
		{name: "allow-private", kind: aSwitch, def: "false", used: requesting | inCheckURL, flag: true,
			help: "allow loopback and private addresses, and any port",
			into: func(o *engine.Options) any { return &o.AllowPrivate }},
	}},
	{"URLs", []setting{
		{name: "strip-tracking", kind: aSwitch, def: "true", used: normalizing, lasting: keepSpelling,
			help: "drop tracking parameters (`utm_…`, `gclid`, `fbclid` and some forty more) and session ids"},
		{name: "sort-query", kind: aSwitch, def: "false", used: normalizing, lasting: keepSpelling,
			help: "sort query parameters by name"},
		{name: "merge-slashes", kind: aSwitch, def: "false", used: normalizing, lasting: keepSpelling,
			help: "replace several slashes in a path by one"},
		{name: "url-rewrite", kind: aFile, used: normalizing, lasting: keepSpelling,
			help: "file of substitutions, in the format of Nutch's regex-normalize.xml"},
		{name: "url-rewrite-scopes", kind: aFileList, used: normalizing, lasting: keepSpelling,
			help: "such files for seeds, links or redirects only: `inject=FILE,outlink=FILE,fetcher=FILE`"},
		{name: "rewrite-hosts", kind: aFile, used: normalizing, lasting: keepSpelling,
			help: "file of host aliases: `FROM TO` turns URLs of FROM into URLs of TO (`*.example.com`: and all " +
				"hosts " +
				"below it)"},
		{name: "protocols", kind: aFile, used: normalizing, lasting: keepSpelling,
			help: "file of `HOST https` or `HOST http` lines: the protocol of a host's URLs"},
		{name: "slashes", kind: aFile, used: normalizing, lasting: keepSpelling,
			help: "file of `HOST -` or `HOST +` lines: whether a host's paths end with a slash"},
	}},
	{"Filters", []setting{
		{name: "deny-hosts", kind: aFile, used: filtering | inFetch | showing,
			help: "file of hosts not to fetch from, one per line, including all hosts below"},
		{name: "allow-hosts", kind: aFile, used: filtering | inFetch | showing,
			help: "file of the only hosts to fetch from"},
		{name: "url-filter", kind: aFile, used: filtering | inFetch | showing,
			help: "file of `+regex` and `-regex` lines, as Nutch's regex-urlfilter.txt"},
		{name: "url-prefixes", kind: aFile, used: filtering | inFetch | showing,
			help: "file of URL prefixes, as Nutch's prefix-urlfilter.txt; only URLs with one of them are fetched"},
		{name: "url-suffixes", kind: aFile, used: filtering | inFetch | showing,
			help: "file of URL suffixes, as Nutch's suffix-urlfilter.txt, instead of the built-in list"},
		{name: "url-length", kind: aCount, def: "0", used: filtering | inFilter,
			help: "longest URL in bytes, at most 2048, which is also what 0 means",
			into: func(o *engine.Options) any { return &o.URLLength }},
	}},
	{"Budgets", []setting{
		{name: "host-pages", kind: aCount, def: "0", used: fetching | inGenerate | inCheckURL,
			help: "pages of one host; further ones are not fetched, and these again when they are due; 0: no limit",
			into: func(o *engine.Options) any { return &o.HostPages }},
		{name: "domain-pages", kind: aCount, def: "0", used: fetching | inGenerate | inCheckURL,
			help: "pages of one registered domain; further ones are not fetched, and these again when they are due; " +
				"0: by reputation, and no limit for domains of seeds",
			into: func(o *engine.Options) any { return &o.DomainPages }},
		{name: "host-bytes", kind: aSize, def: "0", used: fetching | inGenerate | inCheckURL,
			help: "bytes received from one host, such as 500MB, after which no fetch of it begins; 0: no limit",
			into: func(o *engine.Options) any { return &o.HostBytes }},
		{name: "domain-bytes", kind: aSize, def: "0", used: fetching | inGenerate | inCheckURL,
			help: "bytes received from one registered domain after which no fetch of it begins; 0: no limit",
			into: func(o *engine.Options) any { return &o.DomainBytes }},
		{name: "host-time", kind: aDuration, def: "0", used: fetching | inGenerate | inCheckURL,
			help: "longest time that fetchers spend on one host, such as 30m; 0: no limit",
			into: func(o *engine.Options) any { return &o.HostTime }},
		{name: "domain-time", kind: aDuration, def: "0", used: fetching | inGenerate | inCheckURL,
			help: "longest time that fetchers spend on one registered domain; 0: no limit",
			into: func(o *engine.Options) any { return &o.DomainTime }},
		{name: "trap-duplicates", kind: aCount, def: "80", used: deciding | inFetch | inDedup, zeroIsNone: true,
			help: "close a folder, or a page with parameters, when this percentage of its last 200 pages are " +
				"copies of " +
				"one another; 0: never",
			into: func(o *engine.Options) any { return &o.TrapDuplicates }},
	}},
	{"Content", []setting{
		{name: "refuse-types", kind: aList, def: "image/*,audio/*,video/*,font/*", used: requesting,
			help: "media types whose bodies are not downloaded; a robots.txt is, whatever its type",
			into: func(o *engine.Options) any { return &o.RefuseTypes }},
		{name: "pdf", kind: aSwitch, def: "true", used: parsing,
			help: "read PDF files, each in a process with bounded memory and time"},
		{name: "signature", kind: oneOf("", "content", "text", "bytes", "body", "profile"),
			used: inInject | inFreegen | inMergedb | parsing,
			help: "what makes pages duplicates: `content`, `text`, `bytes`, or Nutch's `body` and `profile`; " +
				"unless set, " +
				"what the data directory was created with, `content` for a new one",
			into: func(o *engine.Options) any { return &o.Signature }},
		{name: "dedup-order", kind: aText, def: "score,length",
			used: inCrawl | inDedup | restoring | inStories,
			help: "which of several equal pages stays: a list of `score`, `time`, `length`, `https`; ties are " +
				"decided " +
				"by the key",
			into: func(o *engine.Options) any { return &o.DedupOrder }},
		{name: "near-duplicates", kind: oneOf("collapse", "mark"), def: "collapse",
			used: inCrawl | inDedup | restoring,
			help: "pages whose main text is nearly the same: `collapse` them, so that a search shows one, or `mark` " +
				"all but one as duplicates, so that the index has one",
			into: func(o *engine.Options) any { return &o.NearDuplicates }},
	}},
	{"Index and storage", []setting{
		{name: "parse-later", kind: aSwitch, def: "false", used: fetching,
			help: "`fetch` only stores responses, and `seine parse` parses them (Nutch: fetcher.parse=false); " +
				"`crawl` parses each segment when it is full",
			into: func(o *engine.Options) any { return &o.ParseLater }},
		{name: "no-content", kind: aSwitch, def: "false", used: fetching,
			help: "store no bodies, only heads, texts and links (Nutch: fetcher.store.content=false): nothing can be " +
				"parsed again or exported, and after a crash the pages of the unfinished segment are fetched again",
			into: func(o *engine.Options) any { return &o.NoContent }},
		{name: "nofollow-links", kind: aSwitch, def: "false", used: inCrawl | inInvertlinks, lasting: keepLinks,
			help: "also keep links in linkdb that must not be followed; Nutch does not",
			into: func(o *engine.Options) any { return &o.NoFollowLinks }},
		{name: "max-inlinks", kind: aPositive, def: "10000",
			used: inCrawl | inInvertlinks | indexing | inExport, lasting: keepLinks,
			help: "most links to one page of which linkdb keeps the texts of a segment, those of the best pages, and " +
				"the index reads them (compare Nutch: linkdb.max.inlinks)",
			into: func(o *engine.Options) any { return &o.MaxInlinks }},
		{name: "anchor-length", kind: aPositive, def: "256", used: inCrawl | inInvertlinks, lasting: keepLinks,
			help: "characters that linkdb keeps of a link's text, which has 256 bytes at most " +
				"(Nutch: linkdb.max.anchor.length)",
			into: func(o *engine.Options) any { return &o.AnchorLength }},
		{name: "choose-redirect", kind: aSwitch, def: "false", used: inCrawl | inUpdateDB, lasting: keepShown,
			help: "show a page behind a redirect by the better known of the two URLs, as Nutch chooses it; else " +
				"always by its own, as Nutch shows it; hits in JSON have its own as `page`",
			into: func(o *engine.Options) any { return &o.ChooseRedirectURL }},
		{name: "no-index", kind: aSwitch, def: "false", used: inCrawl,
			help: "crawl without indexing; `seine index` does it later",
			into: func(o *engine.Options) any { return &o.NoIndex }},
		{name: "index-to", kind: aWriterList, used: inCrawl | indexing, flag: true,
			help: "other search engines, or files, that get what is indexed: `opensearch=URL`, `solr=URL` or " +
				"`jsonl=FILE`"},
		{name: "index-login", kind: aText, used: inCrawl | indexing,
			help: "`USER:PASSWORD` for the engines of index-to whose URL has none; sent to https and loopback only"},
		{name: "index-api-key", kind: aText, used: inCrawl | indexing,
			help: "API key for these engines, in place of a password"},
		{name: settingDir, kind: aFolder, def: "./seine-data", used: inAll, flag: true,
			help: "data directory: `store` (Pebble), `warc` (WARC 1.1) and `seine.toml`; it is all that you need to " +
				"back up",
			into: func(o *engine.Options) any { return &o.Dir }},
		{name: "memory", kind: aMemory, def: autoMemory, used: inAll, flag: true,
			help: "memory that the process may take, such as 512MB or 8GB; auto: a quarter of the machine's, at " +
				"least 1 GB",
			into: func(o *engine.Options) any { return &o.Memory }},
	}},
	{"Logs", []setting{
		{name: "crawl-log", kind: aFile, used: storing,
			help: "file that gets a line for each fetch: status, size, URL, how it was reached and from where, type, " +
				"time, digest, failure",
			into: func(o *engine.Options) any { return &o.CrawlLog.Path }},
		{name: "crawl-log-format", kind: oneOf("json", "heritrix"), def: "json", used: storing,
			help: "`json`, one object a line, or `heritrix`, the layout of Heritrix's crawl.log",
			into: func(o *engine.Options) any { return &o.CrawlLog.Format }},
		{name: "crawl-log-size", kind: aSomeSize, def: "256MB", used: storing,
			help: "size at which the file is renamed to FILE.00001, FILE.00002 and so on",
			into: func(o *engine.Options) any { return &o.CrawlLog.MaxBytes }},
		{name: "crawl-log-keep", kind: aCount, def: "0", used: storing,
			help: "number of such files that stay; 0: all",
			into: func(o *engine.Options) any { return &o.CrawlLog.Keep }},
		{name: "log", kind: aFile, used: changing,
			help: "file that gets the messages of the program, beside stderr, at the level of log-level"},
		{name: "log-format", kind: oneOf("", "text", "json"), used: changing,
			help: "`text` (key=value) or `json`; without `log` this is how messages look on stderr"},
		{name: "log-level", kind: oneOf("debug", "info", "warn", "error"), def: "info", used: changing,
			help: "least level of messages that log and log-format concern: `debug` (also each segment), `info` " +
				"(phases, hosts that are left alone), `warn` or `error`"},
	}},
}

// settingDir names the setting that no settings file of a data directory can have.
const settingDir = "dir"

// allSettings are the settings of all groups by name.
var allSettings = func() map[string]*setting {
	all := map[string]*setting{}
	for g := range settingGroups {
		for i := range settingGroups[g].settings {
			s := &settingGroups[g].settings[i]
			all[s.name] = s
		}
	}
	return all
}()
