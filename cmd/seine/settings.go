// SPDX-License-Identifier: Apache-2.0

package main

// settings is the one list of settings, for flags and TOML keys; settingHelp has the help of each. Times, sizes and
// lists are strings, as people write them; options parses them.
type settings struct {
	Dir          string `toml:"dir"`
	Memory       string `toml:"memory"`
	UserAgent    string `toml:"user-agent"`
	Contact      string `toml:"contact"`
	Hosts        string `toml:"hosts"`
	Resolver     string `toml:"resolver"`
	Proxy        string `toml:"proxy"`
	InsecureTLS  bool   `toml:"insecure-tls"`
	AllowPrivate bool   `toml:"allow-private"`
	Delay        string `toml:"delay"`
	Concurrency  int    `toml:"concurrency"`
	PerHost      int    `toml:"per-host"`
	Timeout      string `toml:"timeout"`
	Scope        string `toml:"scope"`
	MaxDepth     int    `toml:"max-depth"`
	MaxRedirects int    `toml:"max-redirects"`
	HostPages    int    `toml:"host-pages"`
	StripParams  bool   `toml:"strip-tracking"`
	Rewrite      string `toml:"url-rewrite"`
	RewriteIn    string `toml:"url-rewrite-scopes"`
	RewriteHosts string `toml:"rewrite-hosts"`
	Protocols    string `toml:"protocols"`
	Slashes      string `toml:"slashes"`
	MergeSlashes bool   `toml:"merge-slashes"`
	SortQuery    bool   `toml:"sort-query"`
	Requisites   bool   `toml:"requisites"`
	Forms        bool   `toml:"forms"`
	Sitemaps     bool   `toml:"sitemaps"`
	TrapPercent  int    `toml:"trap-duplicates"`
	DomainPages  int    `toml:"domain-pages"`
	HostBytes    string `toml:"host-bytes"`
	DomainBytes  string `toml:"domain-bytes"`
	HostTime     string `toml:"host-time"`
	DomainTime   string `toml:"domain-time"`
	RefuseTypes  string `toml:"refuse-types"`
	PDF          bool   `toml:"pdf"`
	DenyHosts    string `toml:"deny-hosts"`
	AllowHosts   string `toml:"allow-hosts"`
	PrefixFile   string `toml:"url-prefixes"`
	SuffixFile   string `toml:"url-suffixes"`
	URLLength    int    `toml:"url-length"`
	FilterFile   string `toml:"url-filter"`
	Scoring      string `toml:"scoring"`
	Schedule     string `toml:"schedule"`
	Signature    string `toml:"signature"`
	NoIndex      bool   `toml:"no-index"`
	DedupOrder   string `toml:"dedup-order"`
}

// settingHelp is the help of each setting, by its name as a flag.
var settingHelp = map[string]string{
	"dir": "data directory",
	"memory": "memory for caches, sorting and pages, such as 512MB or 2GB (auto: a quarter of the machine's memory, " +
		"at least 1GB)",
	"user-agent":     "User-Agent header; its product name selects the robots.txt group",
	"contact":        "URL or mail address by which webmasters reach you; required beyond loopback addresses",
	"hosts":          "hosts(5) file, read before DNS",
	"resolver":       "name servers to use instead of the system's, such as 9.9.9.9 or 127.0.0.1:5353",
	"proxy":          "proxy for all requests: http://[user:password@]host:port or socks5://…",
	"insecure-tls":   "accept any certificate; records say that it was not verified",
	"allow-private":  "allow loopback and private addresses, and any port",
	"delay":          "pause between two requests to a host; 0s for none",
	"concurrency":    "number of fetchers",
	"per-host":       "simultaneous requests to one host; use more than 1 only for your own servers",
	"timeout":        "longest time for one fetch",
	"scope":          "how far to follow links: page, prefix, host, domain or any",
	"max-depth":      "most links from a seed (0: no limit)",
	"max-redirects":  "longest chain of redirects to follow",
	"host-pages":     "most pages of one host (0: no limit)",
	"strip-tracking": "drop tracking parameters (utm_source, gclid…) and session ids from URLs",
	"url-rewrite":    "file of substitutions in URLs (Nutch: regex-normalize.xml)",
	"url-rewrite-scopes": "files of substitutions for seeds, links or redirects only: " +
		"inject=FILE,outlink=FILE,fetcher=FILE",
	"rewrite-hosts": "file of host aliases: FROM TO on a line turns URLs of FROM into URLs of TO (*.example.com: " +
		"example.com and all hosts below it)",
	"protocols":     "file of \"HOST https\" or \"HOST http\" lines: the protocol of a host's URLs",
	"slashes":       "file of \"HOST -\" or \"HOST +\" lines: whether a host's paths end with a slash",
	"merge-slashes": "replace several slashes in a path by one",
	"sort-query":    "sort query parameters by name",
	"requisites":    "also fetch the images, scripts and style sheets of pages, within the scope",
	"forms":         "also follow forms that only send a GET request, without filling them in",
	"sitemaps":      "also fetch the sitemaps that robots.txt files name",
	"trap-duplicates": "close a part of a site when this percentage of its last 200 pages are copies of one another " +
		"(0: never)",
	"domain-pages": "most pages of one registered domain (0: by reputation; no limit for domains of seeds)",
	"host-bytes":   "most bytes received from one host, such as 500MB (0: no limit)",
	"domain-bytes": "most bytes received from one registered domain (0: no limit)",
	"host-time":    "longest time that fetchers spend on one host, such as 30m (0: no limit)",
	"domain-time":  "longest time that fetchers spend on one registered domain (0: no limit)",
	"refuse-types": "media types whose bodies are not downloaded",
	"pdf":          "read PDF files, each in a process with bounded memory and time",
	"deny-hosts":   "file of hosts not to fetch from, one per line, including all hosts below; re-read when it changes",
	"allow-hosts":  "file of the only hosts to fetch from; re-read when it changes",
	"url-prefixes": "file of URL prefixes; only URLs with one of them are fetched (Nutch: prefix-urlfilter.txt); " +
		"re-read when it changes",
	"url-suffixes": "file of URL suffixes to refuse, or the only ones to fetch (Nutch: suffix-urlfilter.txt), " +
		"instead of the built-in list; re-read when it changes",
	"url-length": "longest URL, in bytes (0: 2048)",
	"url-filter": "file of +regex and -regex lines (Nutch: regex-urlfilter.txt); re-read when it changes",
	"scoring":    "score policy: vote or opic",
	"schedule":   "re-fetch policy: fixed or adaptive",
	"signature": "what makes pages duplicates: content, text, bytes, or Nutch's body and profile (default: what " +
		"the data directory was created with; content for a new one)",
	"no-index":    "crawl without indexing; run \"seine index\" later",
	"dedup-order": "which of several equal pages stays: a list of score, time, length, https",
}

// defaults are the settings without flags and without a file.
func defaults() settings {
	return settings{
		Dir:          "./seine-data",
		Memory:       autoMemory,
		Delay:        "1s",
		Concurrency:  64,
		Timeout:      "60s",
		Scope:        "host",
		PerHost:      1,
		MaxRedirects: 10,
		StripParams:  true,
		TrapPercent:  80,
		HostBytes:    "0",
		DomainBytes:  "0",
		HostTime:     "0",
		DomainTime:   "0",
		RefuseTypes:  "image/*,audio/*,video/*,font/*",
		PDF:          true,
		Scoring:      "vote",
		Schedule:     "fixed",
		DedupOrder:   "score,length",
	}
}
