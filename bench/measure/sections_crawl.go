// SPDX-License-Identifier: Apache-2.0

package measure

// crawlSections are about whole crawls and the databases that they fill.
var crawlSections = []section{
	{
		layer:   "Crawl",
		title:   "Whole crawls",
		command: "bin/seine bench --pages … --hosts … --profile",
		what: `
seine crawls a web on loopback from the first pages of its hosts, without delay between requests, on the cores that
the web's server runs on too. The synthetic web has pages of 12 KB with 50 links: 100 pages a host in pages=N, 20 in
hosts=N; with -gzip its responses are compressed at level 1, as nginx does. manuals and recipe-S are HTML documents of
Debian packages.

seine stores everything (WARC, parse records, crawldb, linkdb) and indexes; seine-no-index does not index; seine-log
also writes the crawl log, a line for each URL.
floor-fasthttp is fasthttp's client in a loop that knows all URLs beforehand, keeps nothing and decompresses nothing.
floor-libraries also lexes each page (tdewolff), digests it (SHA-1), compresses it (klauspost's fastest deflate) and
writes it: no crawler that stores pages with these libraries takes less.`,
		units: []string{
			"cpu-µs/page", "pages/s", "server-cpu-µs/page", "peak-MB", "warc-B/page", "store-B/URL",
		},
		plots: []plot{
			{
				file: "crawl-cpu.svg", title: "Processor time of the crawler, µs a page", unit: "cpu-µs/page",
				x: "pages=", xLabel: "pages of the web",
			},
			{file: "crawl-rate.svg", title: "Pages a second", unit: "pages/s", x: "pages=", xLabel: "pages of the web"},
		},
		means: `
A crawl is limited by processor time: about three tenths of it are the index, and about a fifth is what the
libraries alone take. A large web takes more memory than a small one, because segments grow as far as --memory allows.
Servers that compress their responses make a crawl cheaper, because the WARC keeps the compressed bytes as they came.`,
	},
	{
		layer:   "Long",
		title:   "Long crawls",
		command: "bin/seine bench long",
		what: `
The first pages of a web, and in a crawl of its own all of them. cpu is that of the whole process, so it has what is
left to do after the last page, which drain-s is the wall time of; pages/s are of the time in which pages are fetched.
least/mean is how many pages the slowest ten seconds fetch, as a part of the mean.`,
		units: []string{
			"cpu-µs/page", "cpu/short", "pages/s", "least-pages/s", "least/mean", "drain-s", "peak-MB",
		},
		drawn: "long.svg",
		means: `
A page costs more when much is known, because less of the store is in memory: more of --memory helps. Fetchers slow down
where updatedb and the index fall behind. The crawl ends with work that grows with the pages whose links changed.`,
	},
	{
		layer:   "Polite",
		title:   "Polite crawls",
		command: "bin/seine bench polite",
		what: `
A crawl as the real web needs it: hosts of very different sizes, some slow, some failing, some that ask for a second
between requests, and a delay for all the others; beside it the same web without a delay, up to as many pages. Most of
the time the crawler waits for hosts, and hosts come to their ends one after another. The servers judge that no request
came too soon. last/first is what one of the last quarter of the pages costs, in units of what one of the first does.
small-tables are those under 4 KB; written counts every byte that the crawler wrote to the disk. With --hosts 4000
--pages 1000 --delay 14s --concurrency 400 --max-time 1h it is an hour in which hosts have work to the end.`,
		units: []string{
			"cpu-µs/page", "cpu/without-delay", "last/first", "pages/s", "segments", "WARC-files", "tables",
			"small-tables", "KB/table", "written-KB/page", "peak-MB",
		},
		means: `
A polite crawl takes little of a machine, though a page costs it half as much again as one of a crawl without delays, or
more. The processor rests between pages: Go's scheduler sleeps and wakes, and after a pause little of what a page needs
is left in the caches, so that even parsing one takes longer. Small updates gather in memory before they become tables
of the store and segments of the index.`,
	},
	{
		layer:   "Scale",
		title:   "Growing databases",
		command: "bin/seine bench scale",
		what: `
The same segments, brought into crawldbs of growing sizes: pages of some three thousand hosts with 50 links each,
most of them within their host. Nothing is fetched. cpu is the processor time of a link in updatedb, in choosing the
next fetchlist, and in all compactions that these leave; bare is Pebble alone, which joins the same keys, sorted
beforehand, with the same records and writes as many. updatedb-µs is the time that updatedb takes, on all processors.
written counts what reaches tables for each new or fetched record. The last columns are about a crawldb of which
every URL was fetched.`,
		units: []string{
			"cpu-µs/link", "updatedb-cpu-µs/link", "updatedb-µs/link", "generate-cpu-µs/link", "bare-cpu-µs/link",
			"bare/updatedb", "written-B/record", "injected-crawldb-B/record", "updated-crawldb-B/record",
			"nothing-due-ms", "spread-due-ms", "scan-ms",
		},
		means: `
What a link costs grows far more slowly than crawldb. What remains is that the records of a segment lie further apart in
a large crawldb, which costs Pebble alone as much.`,
	},
	{
		layer:   "Peak",
		title:   "Peaks of memory",
		command: "bin/seine bench peaks",
		what: `
The largest resident set of a crawl of hosts that are meant to take memory: bodies that grow past what is decoded, in
each content coding and with the largest windows; bodies of 10 MB; bodies that grow when they are transcoded; pages
whose links are a million URLs; and pages of which no two parts are alike. There are as many hosts as fetchers.`,
		units: []string{"peak/memory", "peak-MB", "URLs", "pages/s"},
		means: `
A process stays within 1.25 times --memory, whatever servers send and however many fetchers there are. make bench fails
if one does not.`,
	},
	{
		layer:   "Serial",
		title:   "Work of one goroutine",
		command: "bin/seine bench --profile",
		what: `
The processor time of the goroutines that a crawl has only one of, by a CPU profile: what bounds the pages a second of a
machine with any number of cores. update is what leads the goroutines that seal segments and bring them into crawldb and
linkdb, index is dedup and what leads those that cut pages into words, main is the begin and the end of a crawl.`,
		units: []string{"serial-µs/page"},
		means: `
Many goroutines at once fetch, parse, compress, write segments and databases, and cut pages into words. Those of the
table work beside each other, so the one that takes longest is the bound.`,
	},
	{
		layer:   "Stages",
		title:   "Processor time by stage",
		command: "bin/seine bench --profile",
		what: `
The processor time that seine accounts to each stage by its threads' clocks, beside what a CPU profile of the same run
shows. points-apart is the difference in percent of the whole.`,
		units: []string{"clock-µs/page", "profile-µs/page", "points-apart"},
		means: `
Most of a page's processor time goes into the index, the WARC (mostly gzip) and parsing; fetching takes about a tenth.
The shares that a crawl prints at its end agree with a profile within a few percent, so no profiler is needed to see
where the time goes.`,
	},
}
