// SPDX-License-Identifier: Apache-2.0

package bench

// section is a part of BENCHMARKS.md: a layer's benchmarks, what they measure and what limits it.
type section struct {
	layer   string // first part of the benchmarks' names
	title   string
	what    string
	command string
	units   []string // columns; the first is the one that ratios are of; nil: all
	limits  string   // the profile's lesson
	plots   []plot
}

var sections = []section{
	{layer: "URL", title: "URLs", command: "go test -bench URL ./bench",
		what: `One link of a page resolved and brought into canonical form, and its key.`},
	{layer: "Crawl", title: "Whole crawls", command: "bin/seine bench --pages … --runs 5 --profile",
		what: `A simweb of hosts of 100 pages, 12 KB and 50 links each, no delay between requests, and seine from one seed, as two
processes on the same cores. seine stores everything (WARC, parse records, crawldb, linkdb) and indexes; seine-no-index does not
index; floor-fasthttp is fasthttp's client in a loop over the same pages, known beforehand, keeping nothing. Real sites are
Debian packages' documents, served by simweb too.`,
		units: []string{"cpu-µs/page", "pages/s", "server-cpu-µs/page", "peak-MB", "warc-B/page", "store-B/URL"},
		plots: []plot{{file: "crawl-cpu.svg", title: "Processor time of the crawler, µs a page", unit: "cpu-µs/page", x: "pages=", xLabel: "pages of the web"},
			{file: "crawl-rate.svg", title: "Pages a second", unit: "pages/s", x: "pages=", xLabel: "pages of the web"}}},
	{layer: "Stages", title: "Processor time by stage", command: "bin/seine bench --profile",
		what: `What the program accounts to each stage, always, by its threads' clocks, beside what a CPU profile of the same run says.
points-apart is the difference in hundredths of the whole.`,
		units: []string{"clock-µs/page", "profile-µs/page", "points-apart"}},
}
