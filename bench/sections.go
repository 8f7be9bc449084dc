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
	{layer: "Crawl", title: "Whole crawls", command: "bin/seine bench --pages … --hosts … --profile",
		what: `A simweb of pages of 12 KB and 50 links each (pages=N: hosts of 100 pages; hosts=N: of 20), made beforehand, no delay between
requests, served as they are or, as most of the web is, compressed (-gzip: at level 1, nginx's; the floor does not decompress them), and seine from the hosts' first pages, as two processes on the same cores. seine stores everything (WARC, parse records, crawldb, linkdb) and indexes; seine-no-index does not
index; floor-fasthttp is fasthttp's client in a loop over the same pages, known beforehand, keeping nothing; floor-libraries is that loop
with every page's tokens looked at (tdewolff's lexer), digested (SHA-1), compressed (klauspost's fastest deflate) and written: what no
crawl goes below that reads and stores pages with these libraries. Real sites are
Debian packages' documents, served by simweb too.`,
		units: []string{"cpu-µs/page", "pages/s", "server-cpu-µs/page", "peak-MB", "warc-B/page", "store-B/URL"},
		plots: []plot{{file: "crawl-cpu.svg", title: "Processor time of the crawler, µs a page", unit: "cpu-µs/page", x: "pages=", xLabel: "pages of the web"},
			{file: "crawl-rate.svg", title: "Pages a second", unit: "pages/s", x: "pages=", xLabel: "pages of the web"}},
		limits: `Where a page's time goes is in the next table: a fourth is indexing, a fourth the WARC (four fifths of that gzip), somewhat less
parsing, a twelfth fetching. The libraries alone take nine to eleven times the bare loop. Both cores are busy but for the last moments, when what was fetched last is indexed. With many hosts links
lead to ever new pages, so that folding them by target saves less, a robots.txt is asked for every 20 pages, and connections are
new ones; the server's share grows, too. gzip takes 60 µs a page, and 27 when it is given the same page again and again: a processor learns a page's
branches by heart, so that compressors have to be measured on a thousand different ones. (There a deflate of our own that takes S2's
matches, found in assembly, was as fast as klauspost's and as small.) What profiles showed and what came of it, in µs a page: links
are folded by target in a table before they are sorted, for nine of ten lead to a target that the segment has had (updatedb 43 to 17,
invertlinks 38 to 20); dedup joins in place of looking up (24 to 4); WARC writes are gathered (16 to 5); words are looked up in a table
that holds them in its slots (a map of strings took 42, this takes 13). With 100,000 pages merging index segments took 130 and takes
20, since lists that are in order already are not gathered and sorted; scanning page texts in place of looking them up won 4% of
indexing, too little to keep. With 10,000 hosts: segments of 40,000 pages in place of 10,000, as memory allows, save 30 (joins, refills, compactions); page texts
read for the index by walking in place of searching 35; tables that a compaction soon rewrites left uncompressed 15; memory that
phases leave to their next run 10. Of a page that came compressed the WARC keeps what came, stored as it is: 95 become 30, but 40 to 60 are paid for
decompressing it to read it. Huge pages for the sorters' memory: two fifths fewer page faults, no time that the noise would show. Those
figures are of hosts on which a page took more than twice as long as on today's, some with 13 µs for each 4 KB of memory touched first:
they are to be compared with one another only. On today's host, three runs each in turns with 10,000 hosts: page texts in memory as they are, not packed
with S2 until they are sealed, without index 198 µs (182 to 209) became 170 (165 to 175), and 1,200 MB 1,500; with index the same, and tables that hold keys of one range only, so that parse records go to the last
level at once and no compaction writes them again, 302 µs (300 to 304) became 257 (248 to 264); some ten of that were
given back for compressing parse records well at once (sealing took 14 µs a page and takes 28). Words are looked up where
they stand in the text, eight bytes at once, since a processor that has just written single bytes cannot read them back as eight: of a crawl with index,
walking over texts was 14.2% and is 10.4, by perf, less than the noise of whole crawls. What is left:
gzip and SHA-1 (a deflate of our own that keeps its Huffman codes from page to page was 18% faster than klauspost's, too little to own
one), the lexer, compressing page texts for the store, system calls. With an index, compactions of linkdb that the last, small segments
of a crawl set off.`},
	{layer: "Stages", title: "Processor time by stage", command: "bin/seine bench --profile",
		what: `What the program accounts to each stage, always, by its threads' clocks, beside what a CPU profile of the same run says.
points-apart is the difference in hundredths of the whole.`,
		units: []string{"clock-µs/page", "profile-µs/page", "points-apart"}},
	{layer: "URL", title: "URLs", command: "SEINE_PAGES=… go test -bench URL ./bench",
		what: `The links of simweb's pages and of Debian's Python manual (docs) resolved, brought into canonical form and given their keys: seine,
and net/url with a key of its parts.`,
		units: []string{"ns/link", "allocs/op"},
		limits: `Relative links are written into a chunk of memory shared by some 70, which is the allocation that is left. Eight bytes are looked at
at once, origins and the hosts' part of keys are remembered, and a URL is three words, which pass in registers: least of twelve
short runs in turns, 98, 230 and 159 ns became 78, 114 and 83. What misses the fast path is links with upper case in the host,
escapes, unusual hosts.`},
	{layer: "Filter", title: "URL filters", command: "SEINE_PAGES=… go test -bench Filter ./bench",
		what: `Deciding about the URLs that links of simweb's pages and of Debian's Python manual (docs) lead to: seine's default filters, the rules
and the endings that come with Nutch, a million prefixes, a million hosts, the default normalizer; beside it Go's regexp with the same
rules but the one against loops, which it cannot have.`,
		units: []string{"ns/URL", "allocs/op"},
		limits: `Rules that are a few words at one end of a URL, or a set of characters, are compared, not matched: what was 2,399 and 4,029 ns is 250
and 385. The rest is regexp's, a microsecond or two a rule.`},
	{layer: "HTML", title: "HTML", command: "SEINE_PAGES=… go test -bench HTML ./bench",
		what: `Bytes to a page with links, text, main content, title, charset, signature and language (seine); reading every token (tdewolff's lexer,
x/net/html's tokenizer); building the tree and reading nothing of it (x/net/html). simweb are 12 KB pages with 50 links, docs
Debian's Python manual.`,
		units: []string{"ns/page", "MB/s", "links/page", "allocs/op"},
		limits: `Text, end tags and start tags as most are written are taken without the lexer, which takes the rest: text and values end where the
processor's widest registers find a mark, not a byte at a time. With tags in one table and white space taken at once, a third of the
lexer's speed became four to five tenths. What is left on simweb's pages and the manual's: main content 28% and 21% (the model a third of
that, boxes and blocks the rest; judging blocks one by one took several times as long as judging those that stand in boxes alike
together), text 11%, links 11% and 7%, language 8% and 4%. SimHash is computed only when asked for.`},
	{layer: "Language", title: "Languages", command: "SEINE_SENTENCES=… go test -bench Language ./bench",
		what: `Single sentences of lingua's test data, of which no model here was made, in the 30 languages with most speakers and the 30 in which
most of the web is: the mean over the languages of the part that is named rightly (seine looks for 75 languages, whatlanggo for
84).`,
		units: []string{"ns/sentence", "right-%", "allocs/op"},
		limits: `What common groups of letters add, in up to 75 languages, was four fifths of the time: groups that many languages have are added eight
languages at a time now. A page of ordinary text is told within 100 to 300 letters; at most 512 bytes are read.`},
	{layer: "WARC", title: "WARC", command: "go test -bench WARC ./bench",
		what: `One exchange of 12 KB written as request and response records, a gzip member each, with digests (seine); the same bytes through
klauspost's gzip at level 1 and one write.`,
		units: []string{"ns/op", "MB/s", "stored-B/op", "allocs/op"},
		limits: `78% is the compressor, 11% the SHA-1 digests that archives ask for, 4% the write. More can only come from a faster compressor or from
compressing on more cores.`},
	{layer: "Store", title: "Store", command: "go test -bench Store ./bench",
		what: `A million records: injected in no order; 1 in 4 updated by a merge-join with a sorted run; hosts chosen for a fetchlist; all scanned
and decoded. The floor does the same bytes on bare Pebble: sort, sstable writer, ingest, iterators.`,
		units: []string{"ns/key", "keys/s", "B/key"},
		limits: `Of inject 26% is sorting and 23% fetching each pair again from the sorter's arena in sorted order, which waits for memory. Of a
scan 41% is decoding records, half of that varints: callers that look only at status and time could decode these alone. Of
generate 18% is opening a scanner for each host.`},
	{layer: "Frontier", title: "Frontier", command: "go test -bench Frontier ./bench",
		what: `A visit from Next to Done with a virtual clock, with 1, 1,000 and 1,000,000 hosts that have URLs queued; bytes of memory for a host
and for a queued URL, key and text of the URL included. The floor is container/heap with as many times and nothing else.`,
		units: []string{"ns/op", "visits/s", "B/host", "B/URL", "allocs/op"},
		plots: []plot{{file: "frontier.svg", title: "A visit, ns", unit: "ns/op", x: "Frontier/", xLabel: "hosts"}},
		limits: `One caller asks, so with one host every visit waits for a round trip between two goroutines; with many, visits are made ready while
others are taken. The wheel takes 42 ns a timer with a million hosts, a heap 340; inbox and ring beside a mutex and a channel
are the next tables. A host of 1,083 bytes became one of 870 when the event of a visit was used for moving it too.
A window moves what is left of it when a tenth has gone, so that URLs that were visited take no memory: 0.2 µs a visit where windows are long.`},
	{layer: "Bounded", title: "A crawl of a web that is known", command: "go test -bench Bounded ./bench",
		what: `crawldb and hostdb hold every URL of a simweb, ten a host, due now; a crawl with a second between requests to a host works for a while
with a tenth of the hosts in the frontier. frontier-MB is what a heap profile has of memory allocated on the frontier's behalf, bound-%
its share of 1 KB a host and 100 bytes a queued URL; goroutines and open files are means of the two halves of the time. The sizes
that the bound is meant for, 10,000,000 hosts and 100,000,000 URLs, take a quarter of an hour: -bounded.hosts 10000000 -bounded.time 10m.`,
		units: []string{"hosts", "queued-URLs", "frontier-MB", "bound-%", "goroutines-1st-half", "goroutines-2nd-half", "files-1st-half", "files-2nd-half", "heap-MB"}},
	{layer: "NeverIdle", title: "Frontier: never idle", command: "go test -bench NeverIdle ./bench",
		what: `Hosts at a second's delay, 500 fetchers of 200 ms a page. With 100,000 hosts fetchers are the limit: busy-% is the share of the time
that they are at work. With 1,000 politeness is: permitted-% is how often quick hosts are visited, of once in 1.2 s each, also
when one host in ten takes two seconds.`, units: []string{"busy-%", "permitted-%", "visits/s"}},
	{layer: "Honest", title: "Honest hosts beside hostile ones", command: "go test -bench Honest ./bench",
		what: `Pages a second that a crawl stores of honest hosts with 200 ms between requests, alone and with as many hosts of the hostile web
beside them. kept-% is the share of their throughput that they keep.`, units: []string{"alone-pages/s", "pages/s", "kept-%"},
		limits: `This found a stall of ten seconds at each seal: hostdb's writer waited, with all hosts locked, for a server that kept its robots.txt to
itself. And segments that were sealed only when every host had run dry, or after 15 s: now they are when a quarter has.`},
	{layer: "Inbox", title: "Frontier: a shard's inbox", command: "go test -bench Inbox ./frontier", what: `Events from eight senders to one receiver.`, units: []string{"ns/op"},
		limits: `On two cores all three wait for the same cache line. What the stack is for: no sender waits while a shard is at work.`},
	{layer: "Ready", title: "Frontier: the ring of ready visits", command: "go test -bench Ready ./frontier", what: `One visit put in and one taken out by each of two goroutines in turn.`, units: []string{"ns/op"},
		limits: `In this tight loop a mutex is cheapest, because the goroutine that has it keeps it for many rounds and the other sleeps; fetchers that
come one at a time find neither contended. The ring stays for what a mutex cannot promise: a fetcher that is preempted holds up nobody.`},
	{layer: "Timers", title: "Frontier: a million timers", command: "go test -bench Timers ./frontier", what: `One timer of a million fires and is set again, a second later.`, units: []string{"ns/op"}},
	{layer: "Fetch", title: "Fetch", command: "go test -bench Fetch ./bench",
		what: `12 KB pages from a simweb in another process, 64 at once, on kept connections and on a new one for each page; the floor is
fasthttp.HostClient in a loop.`,
		units: []string{"cpu-µs/page", "pages/s", "allocs/op"},
		limits: `More than half is system calls: write 32%, read 17%, and 9% the two looks at a connection, when it is parked and when it is taken,
that tell whether the server said something unasked. Building the request head is 9%, allocation 7%, the deadline's context and
timer 7%. On new connections connect and close are over half.`},
	{layer: "Index", title: "Index: building", command: "go test -bench Index ./bench",
		what: `20,000 documents into one index segment, with positions. zipf is text of 55,000 different words, simweb of 850. The floor is our own
analysis of the same text into terms, without keeping them.`,
		units:  []string{"ns/document", "MB/s", "index-B/text-B"},
		limits: `78% is Builder.Add, 20% writing the lists. The stemmer's cache carries the list of its word, so an occurrence costs one lookup; it was two.`},
	{layer: "Search", title: "Index: searching", command: "go test -bench Search ./bench",
		what:  `Queries over these 20,000 documents, hits with their URLs and without snippets; matches/query says how many documents each finds.`,
		units: []string{"p50-ns", "p99-ns", "matches/query"},
		limits: `73% of a term's time is reading documents' keys from the store each time one enters the best ten, only to break ties: document numbers
are in key order already. Phrases are limited by decoding positions (60%). No bounds are kept on lists, so every match is visited.`},
	{layer: "Simweb", title: "Serving", command: "go test -bench Simweb ./bench/simweb",
		what: `What the synthetic web costs: 12 KB pages with 50 links, over 16 kept connections to a client that looks for the length and drops the
body, on the same two cores; made on request, and rendered beforehand.`, units: []string{"ns/op", "pages/s", "allocs/op"}},
	{layer: "PeerURL", title: "Peers: URLs", command: "cd bench/peers && go run . layers", what: `The same links by other libraries, as their users call them.`},
	{layer: "PeerURLFolder", title: "Peers: URLs of real pages", command: "SEINE_PAGES=… go run . layers", what: `The links of Debian's Python manual.`},
	{layer: "PeerHTML", title: "Peers: HTML", command: "cd bench/peers && go run . layers", what: `Links, title and text of the same pages by other libraries.`},
	{layer: "PeerHTMLFolder", title: "Peers: real HTML", command: "SEINE_PAGES=… go run . layers", what: `The pages of Debian's Python manual.`},
	{layer: "PeerIndex", title: "Peers: indexing", command: "cd bench/peers && go run . index", what: `The same documents into bleve's index and ours.`},
	{layer: "PeerSearch", title: "Peers: searching", command: "cd bench/peers && go run . index", what: `The same queries.`},
	{layer: "PeerCrawl", title: "Peers: whole crawls", command: "make bench-peers", what: `Other crawlers on the same simweb, in turns; pages are what the server saw, found/reachable the share of what there is to find.`,
		units: []string{"cpu-µs/page", "pages/s", "server-cpu-µs/page", "peak-MB", "asked-twice", "found/reachable"},
		limits: `All but seine (and wget2, which leaves bare files) have nothing when they end: no WARC, no records, no index, nothing to go on from
after a crash; and all but seine may ask one host many things at once. colly has a set of visited URLs of the program's own,
colly-bare only its own, which lets URLs come twice; nethttp is net/http and goquery with a queue and workers, written for this;
scrapy and crawlee use one core; wget2 opens a connection for each page; spider-rs crawls each host as a website of its own.`},
}
