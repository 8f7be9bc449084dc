// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"slices"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

var urlParam = param{name: "url", kind: aText, required: true, about: "a URL; without a scheme it is tried with https"}

var hostParam = param{name: "host", kind: aText, required: true, about: "name of a host, or host:port"}

// hostOrderNames are the names of the orders of hosts.
func hostOrderNames() (names []string) {
	for _, by := range engine.HostOrders() {
		names = append(names, string(by))
	}
	return names
}

// reportNames are the names of the reports.
func reportNames() (names []string) {
	for _, kind := range engine.ReportKinds() {
		names = append(names, string(kind))
	}
	return names
}

// hostNames are what Block and Unblock are for.
type hostNames struct {
	Hosts []string `json:"hosts"`
}

var hostsBody = &body{about: "names of hosts, or host:port", value: hostNames{}}

// statusNames are the names of crawldb's statuses.
func statusNames() (names []string) {
	for i := 1; i < storage.StatusCount; i++ {
		names = append(names, storage.Status(i).String())
	}
	return names
}

// targets are what Recrawl and Delete are for.
type targets struct {
	Targets []string `json:"targets"`
}

var targetsBody = &body{
	about: "targets: each a URL, a prefix that ends with *, or a host with all its URLs", value: targets{},
}

// routes are the operations of the API.
var routes = slices.Concat(searchRoutes, readRoutes, storyRoutes, changeRoutes, maintainRoutes, listRoutes, crawlRoutes)

var searchRoutes = []route{
	{
		method: http.MethodGet, path: "/search", name: "search", about: "Search the index",
		params: []param{
			{name: "q", kind: aText, required: true, most: 4 << 10, about: "the query, in the query language"},
			{name: "limit", kind: aCount, least: 1, most: hitsMax, def: 10, about: "hits of a page"},
			{name: "offset", kind: aCount, most: hitsMax, about: "hits to skip; offset and limit reach 10,000 hits"},
			{name: "cursor", kind: aText, about: "next of the page before, in place of offset"},
			{name: "strict", kind: aSwitch, about: "refuse what is no query, and relax nothing"},
			{name: "sort", kind: aWord, words: index.OrderNames(), about: "order of the hits: newest and oldest by " +
				"date, largest and smallest by size, fetched by when it was fetched, the latest first"},
			{name: "facets", kind: aList, most: 256, about: "values to count of all matches: lang, type, host, year, " +
				"and fields of index filters"},
			{name: "facet_values", kind: aCount, least: 1, most: 1_000, def: 10, about: "values of each facet"},
			{name: "per_host", kind: aCount, most: hitsMax, about: "hits of one host at most; 0: any number"},
			{name: "count", kind: aCount, most: countMax, about: "matches at which counting may stop, which makes a " +
				"search for common words faster: total is then a lower bound, as at_least says; 0, or with facets: " +
				"never"},
			{name: "collapse", kind: aSwitch, def: true, about: "leave out near-duplicates of better hits"},
			{name: "freshness_seconds", kind: aNumber, most: 1e9, about: "half-life of what a date adds to a score"},
			{name: "deadline_seconds", kind: aNumber, most: searchTimeMax.Seconds(),
				about: "after it the search ends with what it has; 0: 1"},
			{name: "explain", kind: aSwitch, about: "show how each score came about"},
			{name: "html", kind: aSwitch, about: "snippets are HTML: escaped, the marks as they are"},
			{name: "mark_start", kind: aText, most: 64, about: "text before each match in a snippet"},
			{name: "mark_end", kind: aText, most: 64, about: "text behind each match in a snippet"},
			{name: "suggest", kind: aSwitch, about: "when little is found, also propose another query"},
		},
		result: SearchAnswer{}, do: (*Handler).search,
	},
	{
		method: http.MethodGet, path: "/suggest", name: "suggest", about: "Propose a query with other words",
		params: []param{
			{name: "q", kind: aText, required: true, most: 4 << 10, about: "the query"},
			{name: "deadline_seconds", kind: aNumber, most: searchTimeMax.Seconds(), about: "time to look; 0: 0.05"},
		},
		result: index.Suggestion{}, do: (*Handler).suggest,
	},
	{
		method: http.MethodGet, path: "/complete", name: "complete", about: "Complete the last word of a text",
		params: []param{
			{name: "q", kind: aText, required: true, most: 4 << 10, about: "the text"},
			{name: "limit", kind: aCount, least: 1, most: pageMax, def: 10, about: "words at most"},
		},
		result: Completions{}, do: (*Handler).complete,
	},
}

var readRoutes = []route{
	{
		method: http.MethodGet, path: "/record", name: "record", about: "The record of one URL",
		params: []param{urlParam}, result: engine.RecordView{}, status: []int{http.StatusNotFound},
		do: (*Handler).record,
	},
	{
		method: http.MethodGet, path: "/records", name: "records", about: "Records of crawldb, in the order of keys",
		params: append([]param{
			{name: "prefix", kind: aText, about: "beginning of the URLs or of the keys, or a host"},
			{name: "status", kind: aList, words: statusNames(), about: "only records of these statuses"},
			{name: "regex", kind: aText, most: 1_000, about: "only records whose URL matches this regular expression"},
			{name: "sample", kind: aCount, most: pageMax, about: "only this number of records, an even sample; 0: all"},
			{name: "top", kind: aCount, most: pageMax, about: "only this number of records, those with the highest " +
				"scores; 0: all"},
		}, listParams...),
		result: engine.RecordView{}, list: true, lasts: true, status: []int{http.StatusNotFound},
		do: (*Handler).records,
	},
	{
		method: http.MethodGet, path: "/stats", name: "stats", about: "Statistics over all records of crawldb",
		params: []param{{name: "hosts", kind: aSwitch, about: "also counts by status for each host"}},
		result: engine.CrawldbStats{}, lasts: true, do: (*Handler).stats,
	},
	{
		method: http.MethodGet, path: "/index", name: "index", about: "Counts of the index",
		result: index.Stats{}, do: (*Handler).indexStats,
	},
	{
		method: http.MethodGet, path: "/host", name: "host", about: "One host",
		params: []param{hostParam},
		result: engine.HostView{}, status: []int{http.StatusNotFound}, do: (*Handler).host,
	},
	{
		method: http.MethodGet, path: "/hosts", name: "hosts",
		about: "Hosts, in the order of keys, or those with the most of something",
		params: append([]param{
			{name: "top", kind: aCount, most: pageMax, about: "only this number of hosts, those with the most of by; " +
				"0: all, or with by a thousand"},
			{name: "by", kind: aWord, words: hostOrderNames(), about: "what there is most of; of top without it: urls"},
		}, listParams...),
		result: engine.HostView{}, list: true, lasts: true, do: (*Handler).hosts,
	},
	{
		method: http.MethodGet, path: "/links", name: "links", about: "Links to a URL, or all links by target",
		params: append([]param{{name: "url", kind: aText, about: "the target; none: all targets"}}, listParams...),
		result: engine.InlinkView{}, list: true, lasts: true, do: (*Handler).links,
	},
	{
		method: http.MethodGet, path: "/segments", name: "segments", about: "Segments, in the order of numbers",
		params: listParams, result: engine.SegmentView{}, list: true, do: (*Handler).segments,
	},
	{
		method: http.MethodGet, path: "/segments/{segment}", name: "segment", about: "One segment",
		params: []param{{name: "segment", kind: aCount, inPath: true, required: true, least: 1, most: 1<<32 - 1,
			about: "its number"}},
		result: engine.SegmentView{}, status: []int{http.StatusNotFound}, do: (*Handler).segment,
	},
	{
		method: http.MethodGet, path: "/parses", name: "parses",
		about: "Parse records of a segment, or the one of a URL",
		params: append([]param{
			{name: "segment", kind: aCount, most: 1<<32 - 1, about: "its number; 0: the newest that has some"},
			{name: "url", kind: aText, about: "only the parse record of this URL"},
		}, listParams...),
		result: engine.ParseView{}, list: true, lasts: true, status: []int{http.StatusNotFound},
		do: (*Handler).parses,
	},
	{
		method: http.MethodGet, path: "/check", name: "check",
		about: "What the crawl makes of a URL: whether it may be crawled, and why not",
		params: []param{
			{name: "url", kind: aText, required: true, about: "a URL, or a text that may be one"},
			{name: "scope", kind: aWord, words: []string{"inject", "outlink", "fetcher"},
				about: "where the URL comes from: a seed, a link, a redirect"},
		},
		result: engine.URLCheck{}, do: (*Handler).check,
	},
}

var storyRoutes = []route{
	{
		method: http.MethodGet, path: "/url", name: "url",
		about:  "The story of a URL: record, fetches, links, and why it is or is not fetched",
		params: []param{urlParam}, result: engine.URLStory{}, do: (*Handler).urlStory,
	},
	{
		method: http.MethodGet, path: "/captures", name: "captures", about: "Stored copies of a URL, newest first",
		params: append([]param{urlParam}, listParams...),
		result: engine.CaptureView{}, list: true, do: (*Handler).captures,
	},
	{
		method: http.MethodGet, path: "/host/story", name: "host_story",
		about:  "The story of a host: its URLs, robots.txt, failures and budgets",
		params: []param{hostParam}, result: engine.HostStory{}, lasts: true, status: []int{http.StatusNotFound},
		do: (*Handler).hostStory,
	},
	{
		method: http.MethodGet, path: "/host/now", name: "host_now", about: "What the running crawl does with a host",
		params: []param{hostParam}, result: engine.HostNow{}, do: (*Handler).hostNow,
	},
	{
		method: http.MethodGet, path: "/report/{report}", name: "report", about: "A report on crawls",
		params: append([]param{
			{name: "report", kind: aWord, inPath: true, required: true, words: reportNames(), about: "which report"},
			{name: "top", kind: aCount, most: pageMax, about: "only this number of rows; 0: all, and then hosts, " +
				"domains and complete are not sorted by number of URLs"},
		}, listParams...),
		result: reportRows{}, list: true, lasts: true, do: (*Handler).report,
	},
}

var changeRoutes = []route{
	{
		method: http.MethodPost, path: "/seeds", name: "inject", about: "Add seeds to crawldb",
		params: []param{
			{name: "overwrite", kind: aSwitch, about: "replace known records"},
			{name: "update", kind: aSwitch, about: "change score, interval and metadata of known records"},
			{name: "file", kind: aList, repeated: true, about: "of a multipart body: the name of each file, in " +
				"the order of the parts behind the first, which is urls"},
		},
		body: &body{
			about: "seed lines: as JSON, as text with one on each line, or as files of such text", value: seedLines{},
			types: []string{"text/plain", "multipart/form-data"},
		},
		result: engine.InjectReport{}, lasts: true,
		status: []int{http.StatusConflict, http.StatusUnprocessableEntity}, do: (*Handler).inject,
	},
	{
		method: http.MethodPost, path: "/recrawl", name: "recrawl", about: "Make URLs due now",
		body: targetsBody, result: engine.RecrawlReport{}, lasts: true, status: []int{http.StatusConflict},
		do: (*Handler).recrawl,
	},
	{
		method: http.MethodPost, path: "/delete", name: "delete", about: "Remove URLs from crawldb, linkdb and index",
		body: targetsBody, result: DeleteAnswer{}, lasts: true, status: []int{http.StatusConflict},
		do: (*Handler).delete,
	},
}

var crawlRoutes = []route{
	{
		method: http.MethodGet, path: "/status", name: "status", about: "The engine now: its crawl, its store, alerts",
		result: engine.Status{}, do: (*Handler).status,
	},
	{
		method: http.MethodGet, path: "/history", name: "history", about: "How crawls went, oldest sample first",
		params: []param{{name: "span_seconds", kind: aNumber, most: 1e9, about: "how far back; 0: all of it"}},
		result: History{}, do: (*Handler).history,
	},
	{
		method: http.MethodGet, path: "/events", name: "events", about: "The status again and again, as server-sent " +
			"events of the type status: each second while a crawl runs",
		result: engine.Status{}, events: true, do: (*Handler).events,
	},
	{
		method: http.MethodGet, path: "/blocked", name: "blocked", about: "Hosts that are not requested from",
		result: Blocked{}, do: (*Handler).blocked,
	},
	{
		method: http.MethodPost, path: "/block", name: "block", about: "Request nothing more from hosts",
		body: hostsBody, result: Blocked{}, status: []int{http.StatusConflict}, do: (*Handler).block,
	},
	{
		method: http.MethodPost, path: "/unblock", name: "unblock", about: "End a block of hosts",
		body: hostsBody, result: Blocked{}, status: []int{http.StatusConflict}, do: (*Handler).unblock,
	},
	{
		method: http.MethodPost, path: "/crawl/stop", name: "stop", about: "End the crawl cleanly",
		result: CrawlState{}, status: []int{http.StatusConflict}, do: (*Handler).stop,
	},
	{
		method: http.MethodPost, path: "/crawl/pause", name: "pause", about: "Begin no more requests until resume",
		result: CrawlState{}, do: (*Handler).pause,
	},
	{
		method: http.MethodPost, path: "/crawl/resume", name: "resume", about: "End a pause",
		result: CrawlState{}, do: (*Handler).resume,
	},
	{
		method: http.MethodPost, path: "/crawl/rate", name: "rate",
		about:  "Change the rate of this crawl and later ones",
		body:   &body{about: "what changes; what is not given stays", value: Rate{}},
		result: Rate{}, do: (*Handler).rate,
	},
}
