// SPDX-License-Identifier: Apache-2.0

package simweb

import "time"

// Params describe a web. Start from Default, Small, Lively, Heavy or Bench and change fields; the zero value is not
// valid. Fields lists them for flags. Shares are between 0 and 1; sizes are in bytes. Two webs with equal Params serve
// equal bytes.
//
// Sources named below: CC is Common Crawl's published statistics (commoncrawl.github.io/cc-crawl-monthly, crawls
// 2024-42 and 2026-21); wcxb is a corpus of 2,008 real pages, measured.
type Params struct {
	// Seed of every draw.
	Seed uint64

	// Hosts is the number of hosts.
	Hosts int
	// HostsPerDomain is the mean number of hosts of a registered domain, at least 1. CC: 47.55 million
	// hosts of 38.3 million domains, 1.24.
	HostsPerDomain float64
	// MeanPages is the mean number of pages of a host, MaxPages the largest number, PagesExponent the
	// exponent of the power law's density. CC: 52 URLs a host; exponent 1.7 to 1.9 (Huberman and
	// Adamic 1999).
	MeanPages, MaxPages int
	PagesExponent       float64
	// PerAddress is how many neighboring hosts share an IP address, except the share OwnAddress of hosts that have
	// their own. Most sites share theirs with more than ten others, 17.5% have their own server (Hoang and others
	// 2020).
	PerAddress int
	OwnAddress float64

	// PageBytes is the median size of a page, and PageSigma the sigma of the log-normal. wcxb: median
	// 115 KB, 10% below 39 and 10% above 479, so sigma 0.98; the median defaults to a tenth of that, the
	// page for which this project's CPU budgets are stated. A page is never shorter than its links.
	PageBytes int
	PageSigma float64
	// Links is the median out-degree beside navigation, LinksSigma the sigma of the log-normal. wcxb:
	// median 77, 90% below 197, so sigma 0.73; scaled down like PageBytes.
	Links      int
	LinksSigma float64
	// External is the share of those links that leave the host. wcxb: 19%.
	External float64
	// NavLinks is how many of a host's first pages each of its pages links to, beside the home page.
	NavLinks int
	// Fanout is how many pages each page introduces: page n links to pages n·Fanout+1 and following, so all pages can
	// be reached from the home page, and a host of N pages is about log N / log Fanout deep.
	Fanout int
	// TitleAnchors is the share of links whose text is the title of their target; the others say "more", or show the
	// bare path.
	TitleAnchors float64
	// NoFollowLinks is the share of links off the host that carry rel=nofollow.
	NoFollowLinks float64

	// Duplicate pages have exactly the content of another page of their host. CC 2024-42: 2.8% of
	// captures.
	Duplicate float64
	// NearDuplicate pages have the text of another page except one line, and links of their own.
	// Fetterly and others 2003: 22.2% of pages are virtually identical to another.
	NearDuplicate float64
	// Redirects is the share of pages that answer 301 or 302. Of these the share Temporary answers 302, and the share
	// RedirectsOut leads to the home page of another host; the others lead to a page of the same host. CC 2026-21: 5.7%
	// and 2.7% of requests.
	Redirects, Temporary, RedirectsOut float64
	// Missing is the share that answers 404, or 410 in one of 25 cases. CC 2026-21: 4.9% and 0.2%.
	Missing float64
	// Errors is the share that always answers 500, 502 or 503. CC 2026-21: 2.3% exceptions.
	Errors float64
	// NoIndex and NoFollow are the shares with a robots meta tag of that name.
	NoIndex, NoFollow float64
	// Queries is the share of pages that have a query in their URL.
	Queries float64

	// Restricted is the share of hosts whose robots.txt forbids /private/, Forbidden the share of their pages that are
	// there. CC: 2% to 6% of what was due was denied.
	Restricted, Forbidden float64
	// NoRobots is the share of hosts that answer 404 for robots.txt, RobotsErrors of those that answer 503: a polite
	// crawler then requests nothing else (RFC 9309, 2.3.1.4).
	NoRobots, RobotsErrors float64
	// Delayed is the share of hosts with a Crawl-delay, CrawlDelay its value.
	Delayed    float64
	CrawlDelay time.Duration
	// Sitemaps is the share of hosts that have a sitemap.
	Sitemaps float64

	// HTTPS is the share of hosts whose URLs are https, to be served with ServerOptions.TLS. HTTP Archive 2025: 97% of
	// home pages. It is 0 by default, because a crawler must be set up to trust the server's authority.
	HTTPS float64

	// Languages are the shares of hosts by language: en, de, zh, ja, ar, ru.
	Languages Mix
	// OldCharsets is the share of hosts that are not in UTF-8 but GBK or Big5, Shift_JIS, windows-1251,
	// -1252 or -1256, by language. W3Techs 2026: 1.1% of sites.
	OldCharsets float64
	// CharsetInHeader is the share of hosts whose Content-Type names the charset; the others name it only in a meta
	// tag.
	CharsetInHeader float64
	// NativePaths is the share of hosts with their own script in the paths, among those not in English.
	NativePaths float64

	// Latency is the median time to the first byte, LatencySigma the sigma of the log-normal over hosts and of the
	// jitter over pages; 0 answers at once. HTTP Archive 2025: 55% of origins answer within 0.8 s, which a median of
	// 350 ms and sigma 1 fit. Off by default.
	Latency      time.Duration
	LatencySigma float64
	// SlowHosts is the share of hosts that take SlowLatency for each page. CC: 4.1% of the schedule was
	// dropped for too low a throughput.
	SlowHosts   float64
	SlowLatency time.Duration

	// ChangeEvery is the mean time between two changes of a page, each with a Poisson process of its own; 0: pages
	// never change. A change leaves the links alone.
	ChangeEvery time.Duration
}

// Default is a web of 1,000 hosts shaped like the real one, as far as sources go, with pages of a tenth of the size.
func Default() Params {
	return Params{
		Seed: 1, Hosts: 1000, HostsPerDomain: 1.24,
		MeanPages: 52, MaxPages: 1_000_000, PagesExponent: 1.8,
		PerAddress: 16, OwnAddress: 0.175,

		PageBytes: 12 << 10, PageSigma: 0.98,
		Links: 40, LinksSigma: 0.73, External: 0.19, NavLinks: 8, Fanout: 10,
		TitleAnchors: 0.7, NoFollowLinks: 0.1,

		Duplicate: 0.028, NearDuplicate: 0.222,
		Redirects: 0.084, Temporary: 0.32, RedirectsOut: 0.15,
		Missing: 0.051, Errors: 0.006,
		NoIndex: 0.02, NoFollow: 0.005, Queries: 0.1,

		Restricted: 0.3, Forbidden: 0.1, NoRobots: 0.3,
		Delayed: 0.03, CrawlDelay: 2 * time.Second, Sitemaps: 0.3,

		Languages:   Mix{{"en", 0.5}, {"de", 0.12}, {"zh", 0.12}, {"ja", 0.1}, {"ar", 0.08}, {"ru", 0.08}},
		OldCharsets: 0.02, CharsetInHeader: 0.8, NativePaths: 0.3,

		LatencySigma: 1, SlowLatency: 5 * time.Second,
	}
}

// Small is a web of 30 hosts and about 3,000 pages in all languages and charsets that a crawl can finish: no page fails
// forever and no host asks for a delay. For demonstrations and tests.
func Small() Params {
	p := Default()
	p.Hosts, p.MeanPages, p.MaxPages, p.PerAddress, p.OwnAddress = 30, 100, 600, 2, 0.3
	p.PageBytes, p.PageSigma, p.Links, p.NavLinks, p.Fanout = 6000, 0.6, 16, 4, 8
	p.NearDuplicate, p.Errors, p.Delayed, p.OldCharsets = 0.1, 0, 0, 0.4
	return p
}

// Lively is Small with what makes a crawl endless: pages that always fail, hosts that ask for a delay, slow hosts, a
// broken robots.txt, and change.
func Lively() Params {
	p := Small()
	p.Errors, p.Delayed, p.CrawlDelay, p.RobotsErrors = 0.02, 0.15, time.Second, 0.05
	p.Latency, p.SlowHosts, p.SlowLatency = 20*time.Millisecond, 0.05, time.Second
	p.ChangeEvery = 24 * time.Hour
	return p
}

// Heavy is Default with pages as large, and with as many links, as measured.
func Heavy() Params {
	p := Default()
	p.PageBytes, p.Links = 115<<10, 77
	return p
}

// Bench is for benchmarks of throughput: English pages of 12 KB with 50 links, all alike, all answering 200, on hosts
// of equal size with an address each.
func Bench(hosts, pagesPerHost int) Params {
	return Params{
		Seed: 1, Hosts: hosts, HostsPerDomain: 1, PerAddress: 1,
		MeanPages: pagesPerHost, MaxPages: pagesPerHost, PagesExponent: 1.8,
		PageBytes: 12 << 10, Links: 42, External: 0.19, NavLinks: 7, Fanout: 10, TitleAnchors: 1,
		CharsetInHeader: 1, Languages: Mix{{"en", 1}},
	}
}
