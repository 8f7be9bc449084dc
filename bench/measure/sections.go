// SPDX-License-Identifier: Apache-2.0

package measure

import "slices"

// section is a part of BENCHMARKS.md: what was measured, a table, and what it means for a user. Lessons of profiles
// and things that were tried stand beside the code that they are about, not here.
type section struct {
	layer   string // first part of the benchmarks' names
	title   string
	what    string // what the rows and units are
	command string
	units   []string // columns; the first is the one that ratios are of; nil: all
	means   string   // at most three sentences, which TestSections counts; they give no figure that a run may change
	plots   []plot
	drawn   string // file among the plots that the command has drawn; "": none
}

// sections are in the order of BENCHMARKS.md.
var sections = slices.Concat(crawlSections, layerSections)

// layerSections are about parts of the program, and peers beside them.
var layerSections = []section{
	{
		layer:   "URL",
		title:   "URLs",
		command: "SEINE_PAGES=… go test -bench URL ./bench/measure",
		what: `
The links of simweb's pages and of Debian's Python manual (docs) are resolved, made canonical and turned into sort keys.
The floor is net/url with a key built from its parts.`,
		units: []string{"ns/link", "allocs/op"},
		means: `
seine is several times as fast as net/url, so the links of a page cost microseconds. Links with upper case in the host,
with escapes or with unusual hosts take a slower path.`,
	},
	{
		layer:   "Filter",
		title:   "URL filters",
		command: "SEINE_PAGES=… go test -bench Filter ./bench/measure",
		what: `
Deciding about the URLs that the links of simweb's pages and of Debian's Python manual (docs) lead to: seine's default
filters, the rules and suffixes that come with Nutch, a million prefixes, a million hosts, and the default normalizer.
The peer is Go's regexp with the same rules, less the one against loops, which it cannot express.`,
		units: []string{"ns/URL", "allocs/op"},
		means: `
The default filters cost a fraction of a microsecond a URL, and lists of a million prefixes or hosts cost no more.
Rules that are a few words at one end of a URL, or a set of characters, are compared directly. Any other rule costs what
Go's regexp takes for it, a microsecond or two.`,
	},
	{
		layer:   "HTML",
		title:   "HTML",
		command: "SEINE_PAGES=… go test -bench HTML ./bench/measure",
		what: `
seine turns bytes into a page with links, text, main content, title, charset, signature and language. The floors read
every token (tdewolff's lexer, x/net/html's tokenizer) or build the tree and read nothing of it (x/net/html). simweb is
400 pages of 12 KB with 50 links; docs is Debian's Python manual.`,
		units: []string{"ns/page", "MB/s", "links/page", "allocs/op"},
		means: `
Parsing a page completely takes less time than x/net/html takes to build its tree, about a third of it on real pages,
and two to four times that of the lexer alone. The largest part is finding the main content. Time grows with the bytes
of a page.`,
	},
	{
		layer:   "Language",
		title:   "Languages",
		command: "SEINE_SENTENCES=… go test -bench Language ./bench/measure",
		what: `
Single sentences of lingua's test data, which no model here has seen, in the 30 languages with most speakers and the 30
in which most of the web is written. right-% is the mean over the languages of the share of sentences that are named
rightly; seine chooses among 75 languages, whatlanggo among 84.`,
		units: []string{"ns/sentence", "right-%", "allocs/op"},
		means: `
Even single sentences are rarely given the wrong language, and the time it takes does not matter beside parsing. A page
of ordinary text is decided within 100 to 300 letters, and at most 512 bytes are read.`,
	},
	{
		layer:   "WARC",
		title:   "WARC",
		command: "go test -bench WARC ./bench/measure",
		what: `
One exchange of 12 KB is written as a request and a response record with digests, a gzip member each. The floor passes
the same bytes through klauspost's gzip at level 1 and writes them.`,
		units: []string{"ns/op", "MB/s", "stored-B/op", "allocs/op"},
		means: `
About four fifths of the time is gzip, and a tenth the SHA-1 digests that archives expect. WARC files could be written
faster only with a faster compressor or on more cores.`,
	},
	{
		layer:   "Store",
		title:   "Store",
		command: "go test -bench Store ./bench/measure",
		what: `
A million records: injected in random order; 1 in 4 updated by a merge-join with a sorted run; the URLs of hosts chosen
for a fetchlist; all scanned and decoded. The floor does the same to the same bytes with bare Pebble: sort, sstable
writer, ingest, iterators.`,
		units: []string{"ns/key", "keys/s", "B/key"},
		means: `
The phases that change crawldb run about as fast as bare Pebble can. A scan of everything takes longer than Pebble's
because every record is decoded.`,
	},
	{
		layer:   "Frontier",
		title:   "Frontier",
		command: "go test -bench Frontier ./bench/measure",
		what: `
A visit from Next to Done with a virtual clock, with 1, 1,000 and 1,000,000 hosts that have URLs queued; bytes of memory
for a host and for a queued URL, key and text of the URL included. The floor is container/heap with as many times and
nothing else.`,
		units: []string{"ns/op", "visits/s", "B/host", "B/URL", "allocs/op"},
		plots: []plot{{
			file: "frontier.svg", title: "A visit, ns", unit: "ns/op", x: "Frontier/", xLabel: "hosts",
		}},
		means: `
The frontier hands out far more visits a second than a crawl can fetch, with one host or a million. It takes less than
1 KB for a host and less than 100 bytes for a queued URL, so a million hosts with ten URLs each fit into 2 GB.`,
	},
	{
		layer:   "Bounded",
		title:   "A crawl of a web that is known",
		command: "go test -bench Bounded ./bench/measure",
		what: `
crawldb and hostdb hold every URL of a simweb, ten a host, all due; a crawl with a second between requests to a host
then runs for a while with a tenth of the hosts in the frontier. frontier-MB is what a heap profile shows of the
frontier's allocations, bound-% its share of 1 KB a host and 100 bytes a queued URL; goroutines and open files are means
of the first and the second half of the time. The bound is meant for 10,000,000 hosts and 100,000,000 URLs, which take a
quarter of an hour: -bounded.hosts 10000000 -bounded.time 10m.`,
		units: []string{
			"hosts", "queued-URLs", "frontier-MB", "bound-%", "goroutines-1st-half", "goroutines-2nd-half",
			"files-1st-half", "files-2nd-half", "heap-MB",
		},
		means: `
A bound-% below 100 keeps the promise above about memory. The two halves must agree: a crawl that leaks goroutines or
files shows it here.`,
	},
	{
		layer:   "NeverIdle",
		title:   "Frontier: never idle",
		command: "go test -bench NeverIdle ./bench/measure",
		what: `
Hosts with a delay of a second, and 500 fetchers that take 200 ms a page. With 100,000 hosts the fetchers are the limit:
busy-% is the share of the time in which they work. With 1,000 hosts politeness is the limit: permitted-% is how often
the quick hosts are visited, of once in 1.2 s each, also when one host in ten takes two seconds.`,
		units: []string{"busy-%", "permitted-%", "visits/s"},
		means: `
No fetcher waits while there is something to fetch. A small crawl visits each host as often as politeness permits, and
slow hosts do not hold up the others.`,
	},
	{
		layer:   "Honest",
		title:   "Honest hosts beside hostile ones",
		command: "go test -bench Honest ./bench/measure",
		what: `
Pages a second that a crawl stores of honest hosts with 200 ms between requests, alone and with as many hosts of the
hostile web beside them. kept-% is the share of their throughput that they keep.`,
		units: []string{"alone-pages/s", "pages/s", "kept-%"},
		means: `
Hosts that stall, flood, break off or lead in circles hardly slow down the crawl of the others, even when every second
host is one of them.`,
	},
	{
		layer:   "Inbox",
		title:   "Frontier: a shard's inbox",
		command: "go test -bench Inbox ./frontier",
		what:    `Events from eight senders to one receiver.`,
		units:   []string{"ns/op"},
		means: `
An event costs a fraction of a microsecond, so the inbox does not limit a crawl. The lock-free stack is used because no
sender waits while a shard works.`,
	},
	{
		layer:   "Ready",
		title:   "Frontier: the ring of ready visits",
		command: "go test -bench Ready ./frontier",
		what:    `One visit put in and one taken out by each of two goroutines in turn.`,
		units:   []string{"ns/op"},
		means: `
Handing over a visit costs about a tenth of a microsecond, so the ring does not limit a crawl. A mutex is cheaper in
this tight loop, but with the ring a fetcher that is preempted delays no other.`,
	},
	{
		layer:   "Timers",
		title:   "Frontier: a million timers",
		command: "go test -bench Timers ./frontier",
		what:    `One timer of a million fires and is set again, a second later.`,
		units:   []string{"ns/op"},
		means: `
With the timing wheel the delay of each host costs next to nothing, even with a million hosts waiting.`,
	},
	{
		layer:   "Fetch",
		title:   "Fetch",
		command: "go test -bench Fetch ./bench/measure",
		what: `
Pages of 12 KB from a simweb in another process, 64 at once, on kept connections and on a new one for each page. The
floor is fasthttp.HostClient in a loop.`,
		units: []string{"cpu-µs/page", "pages/s", "allocs/op"},
		means: `
Deadlines, byte budgets, guarded addresses and heads kept as they were sent add about half to the time of bare
fasthttp. More than half of the time is system calls. A page on a new connection takes about three times as long as one
on a kept connection.`,
	},
	{
		layer:   "DedupURLs",
		title:   "De-duplicating URLs",
		command: "go test -bench DedupURLs ./bench/measure",
		what: `
seine dedup-urls sorts lines of URLs, of which a third occurred before, into new ones and duplicates: into an empty
store, and into one that has them all. The floor is sort -u, which neither parses URLs nor looks them up. Both may use
all processors.`,
		units: []string{"cpu-ns/line", "lines/s"},
		means: `
To parse URLs, to make them canonical and to look them up takes as long as sort -u alone, or up to half as long again.`,
	},
	{
		layer:   "NearDuplicates",
		title:   "Near-duplicates",
		command: "go test -bench NearDuplicates ./bench/measure",
		what: `
What fingerprints find of simweb's near-duplicates, whose text differs in a line, by the number of bits that may differ;
seine's groups allow 3. recall is the share of the near-duplicates that is found, precision the share of true ones among
the pairs that are.`,
		units: []string{"recall", "precision", "pages"},
		means: `
Nearly all near-duplicates are found, and hardly a pair of other pages. A larger distance finds few more of them, and
the largest takes in other pages.`,
	},
	{
		layer:   "Schedules",
		title:   "Schedules",
		command: "bin/seine bench schedules",
		what: `
Each schedule spends the same fetches on the same changing pages of simweb, of six rates of changes. freshness is the
share of pages whose stored content is what their servers have, in the mean of the second half of the days.`,
		units: []string{"freshness", "fetches"},
		drawn: "schedules.svg",
		means: `
The schedule that spends fetches where freshness gains most keeps more pages fresh than one that treats all alike. The
adaptive one, as in Nutch, follows the pages that change fastest, and these are stale again at once.`,
	},
	{
		layer:   "Index",
		title:   "Index: building",
		command: "go test -bench Index ./bench/measure",
		what: `
5,000 documents of 7 to 8 KB indexed into one index segment, with positions. zipf is text of 55,000 different words,
simweb of 850. The floor is our own analysis of the same text into terms, without keeping them.`,
		units: []string{"ns/document", "MB/s", "index-B/text-B"},
		means: `
Indexing takes about four times as long as cutting the text into terms, and ten times for texts with many different
words. The index takes a quarter to a little more than a third of the size of the text.`,
	},
	{
		layer:   "Search",
		title:   "Index: searching",
		command: "go test -bench Search ./bench/measure",
		what: `
Queries over 20,000 such documents; hits come with their URLs and without snippets. matches/query is the mean number of
documents that match.`,
		units: []string{"p50-ns", "p99-ns", "matches/query"},
		means: `
Most queries take less than a millisecond; a phrase of frequent words takes about ten. Time grows with the number of
matching documents, because every match is counted. Phrases take longer because positions are decoded.`,
	},
	{
		layer:   "Deadline",
		title:   "Index: deadlines",
		command: "go test -bench Deadline ./bench/measure",
		what: `
The slowest queries that the language allows (40 of the most frequent words as alternatives, all required, in phrases
with slop, as prefixes, as fuzzy words) over 20,000 documents, with a deadline or a context that ends. ended-% is the
share of searches that did not finish by then, late-ms the longest that one went on.`,
		units: []string{"late-ms", "ended-%"},
		means: `
A search ends within about 10 ms of its deadline, whatever it does, on a machine with a core to run it. late-ms is the
longest of a run, and so it may show a moment in which the hardware, which several machines share, ran another one.`,
	},
	{
		layer:   "Deleted",
		title:   "Index: deleted documents",
		command: "go test -bench Deleted ./bench/measure",
		what: `
The same queries in two equal indexes, of which one has lost 19 of 100 documents, just too few to be written again.
ratio is its time to that of the other, first-ratio that of the first search of each query.`,
		units: []string{"ratio", "first-ratio", "ns/search"},
		means: `
Deleted documents cost searches next to nothing, and at one in five an index segment is written again without them.`,
	},
	{
		layer:   "Beside",
		title:   "Searching beside a crawl",
		command: "go test -bench Beside ./bench/measure -beside.docs 200000 -beside.pages 12000",
		what: `
Twenty searches a second, of six kinds, over an index of 200,000 documents: alone (rest), and beside a crawl of simweb
at full speed in the same process, whose servers run on the same cores (crawl). A latency counts from the moment at
which a search is due. alone-pages/s is the crawl without searches; seal-to-search the time from a segment's sealing
until its pages are found.`,
		units: []string{
			"rest-p50-ms", "rest-p99-ms", "crawl-p50-ms", "crawl-p99-ms", "pages/s", "alone-pages/s",
			"seal-to-search-p50-s", "seal-to-search-max-s",
		},
		means: `
Beside a crawl at full speed searches take up to half as long again as at rest: all share two cores, and searches go
first where the crawl can wait. The run has a few hundred searches, so one or two of them decide the 99th percentile.`,
	},
	{
		layer:   "Vocabulary",
		title:   "Index: a large vocabulary",
		command: "go test -bench Vocabulary ./bench/measure -vocabulary.words 1000000",
		what: `
Text whose words follow Zipf's law, twenty for each word of the vocabulary, indexed into one index segment. The halves
are of the text: the vocabulary grows during both.`,
		units: []string{"text-MB/cpu-s", "1st-half-MB/s", "2nd-half-MB/s", "index-B/text-B", "terms"},
		means: `
The rate falls as the vocabulary grows, because each new word takes a row of its own.`,
	},
	{
		layer:   "Values",
		title:   "Search: orders, counts and limits",
		command: "go test -bench Values ./bench/measure -values.documents 1000000",
		what: `
Short documents with dates, languages, hosts and near-duplicate groups. Each option searches in turns with the plain
search for the ten best; ratio is between the processor times.`,
		units: []string{"cpu-ns/query", "plain-cpu-ns", "ratio", "matches/query"},
		means: `
An order or a count looks at every match, so it costs what the matches do. Limits of hosts and groups look at the best
few, and search again only where too few of them may stay.`,
	},
	{
		layer:   "Suggest",
		title:   "Search: words while typing, and near words",
		command: "go test -bench Suggest ./bench/measure",
		what: `
Words of an index of about a million: those that begin as typed, those one or two letters away, and a better query. The
times are of calls after the vocabulary has been read into memory, which takes cold-s.`,
		units: []string{"p50-ns", "p99-ns", "p99-cpu-ns", "%found", "cold-s"},
		means: `
Words come while people type, from memory.`,
	},
	{
		layer:   "Snippets",
		title:   "Search: snippets",
		command: "SEINE_MANUALS=… go test -bench Snippets ./bench/measure",
		what: `
The snippets of a page of ten hits on Debian's manuals, whose pages have about 30 KB of text: for forty questions in
four languages, for their last two words as a phrase, and for their last word. marked-% are the hits whose snippet has
a match.`,
		units: []string{"cpu-µs/ten", "KB/ten", "marked-%"},
		means: `
Time grows with the text in front of the best passage. Only the passages that are chosen are analyzed.`,
	},
	{
		layer:   "Relevance",
		title:   "Search: judged collections",
		command: "SEINE_CONFORMANCE_DATA=… go test -bench Relevance ./bench/measure",
		what: `
Topics of Cranfield and CACM, sent to the index as they are in the collections; measures as in trec_eval, over all
topics and over every second one. empty counts topics for which nothing was found.`,
		units: []string{"MAP", "nDCG@10", "P@10", "empty", "ns/query"},
		means: `
Where half of the topics chose a weight, the other half says what it is worth.`,
	},
	{
		layer:   "Questions",
		title:   "Search: questions about Debian's manuals",
		command: "SEINE_MANUALS=… go test -bench Questions ./bench/measure",
		what: `
Forty questions in English, German, French and Japanese, as people type them, over the manuals in these languages;
right-in-3 counts those with a page that answers them among the first three.`,
		units: []string{"right-in-3", "questions", "empty", "ns/query"},
		means: `
The goal is 36 of 40.`,
	},
	{
		layer:   "KnownItem",
		title:   "Search: known items",
		command: "SEINE_MANUALS=… go test -bench KnownItem ./bench/measure",
		what: `
The text of a link is the query, and the page that it leads to is the one right answer. no-anchors indexes no texts of
links, other-anchors those that are not queries, anchors all of them; static adds the static score of the number of
texts. Half of the queries (tuned) chose its weight, the other half (reported) had no part in that.`,
		units: []string{"MRR", "success@1-%", "success@10-%", "empty", "ns/query"},
		means: `
The texts of links find pages that their own words do not, and how many texts there are tells which page is meant.`,
	},
	{
		layer:   "Simweb",
		title:   "Serving",
		command: "go test -bench Simweb ./bench/simweb",
		what: `
What the synthetic web costs: pages of 12 KB with 50 links, over 16 kept connections to a client that looks for the
length and drops the body, on the same cores; made on request, and rendered beforehand.`,
		units: []string{"ns/op", "pages/s", "allocs/op"},
		means: `
The server delivers more than ten times as many pages as seine can crawl on the same cores, so the crawler is what the
tables above measure. Rendering pages beforehand makes it up to half as fast again.`,
	},
	{
		layer:   "PeerURL",
		title:   "Peers: URLs",
		command: "cd bench/peers && go run . layers",
		what:    `The same links resolved by other libraries, called as their users call them.`,
		means: `
seine is several times as fast as net/url and fasthttp, and dozens of times as fast as whatwg-url. net/url and fasthttp
find other URLs where a link is odd.`,
	},
	{
		layer:   "PeerURLFolder",
		title:   "Peers: URLs of real pages",
		command: "SEINE_PAGES=… go run . layers",
		what:    `The links of Debian's Python manual.`,
		means:   `Real links are easier for the others; the order stays the same.`,
	},
	{
		layer:   "PeerHTML",
		title:   "Peers: HTML",
		command: "cd bench/peers && go run . layers",
		what:    `Links, title and text of the same pages by other libraries.`,
		means: `
seine is about twice as fast as the parsers alone, although it also detects charset and language, finds the main content
and computes a signature. It returns each link once, the others every time that it occurs.`,
	},
	{
		layer:   "PeerHTMLFolder",
		title:   "Peers: real HTML",
		command: "SEINE_PAGES=… go run . layers",
		what:    `The pages of Debian's Python manual.`,
		means:   `The longer the pages, the further the trees of the others fall behind.`,
	},
	{
		layer:   "PeerIndex",
		title:   "Peers: indexing",
		command: "cd bench/peers && go run . index",
		what:    `The same documents indexed by bleve and by seine.`,
		means: `
seine takes a fifth of bleve's time, with one goroutine, and makes an index of less than half of the size.`,
	},
	{
		layer:   "PeerSearch",
		title:   "Peers: searching",
		command: "cd bench/peers && go run . index",
		what:    `The same queries in both indexes.`,
		means: `
seine answers words and phrases in a quarter of bleve's time. Two words that need not stand together take both about as
long in an index as small as this; seine also looks how near to each other they stand. Both find the same documents
except for differences between their stemmers.`,
	},
	{
		layer:   "PeerRelevance",
		title:   "Peers: judged collections",
		command: "cd bench/peers && go run . relevance",
		what: `
The same topics and documents in tantivy, Lucene and bleve, with English stems and BM25 (bleve: its default score).
tantivy and Lucene drop stop words of the topics.`,
		units: []string{"MAP", "nDCG@10", "P@10", "empty"},
		means: `
All engines read the same documents in the same run.`,
	},
	{
		layer:   "PeerBuild",
		title:   "Peers: indexing at length",
		command: "cd bench/peers && go run . speed",
		what: `
English pages of Debian's manuals, and a million passages of 60 to 220 words of them, indexed with positions and
without stored text. The rate is by the processor time of the whole process.`,
		units: []string{"textMB/cpu-s", "indexB/textB", "peak-MB"},
		means: `
seine indexes title, text and URL as fields of their own, the others one field.`,
	},
	{
		layer:   "PeerSpeed",
		title:   "Peers: searching at length",
		command: "cd bench/peers && go run . speed",
		what: `
Nine classes of queries for the best ten: exact counts all matches, pruned only ranks. The latency is the engine's own,
from the text of the query to the best documents.`,
		units: []string{"p50-ns", "p99-ns", "matches/query"},
		means: `
The engines find the same documents, as matches/query shows, except where they cut words differently.`,
	},
	{
		layer:   "PeerCrawl",
		title:   "Peers: whole crawls",
		command: "make bench-peers",
		what: `
Other crawlers on the same simweb, in turns. Pages are what the server counted; found/reachable is the share found of
what there is to find. colly keeps a set of visited URLs of the program's own; colly-bare relies on colly's, which lets
URLs come twice. nethttp is net/http and goquery with a queue and workers, written for this comparison. scrapy and
crawlee use one core, wget2 opens a connection for each page, and spider-rs crawls each host as a website of its own.`,
		units: []string{
			"cpu-µs/page", "pages/s", "server-cpu-µs/page", "peak-MB", "asked-twice", "found/reachable",
		},
		means: `
seine takes less processor time a page than colly while it stores and indexes every page; a bare loop on net/http takes
half of seine's. The others keep nothing (wget2 keeps bare files): no WARC, no records, no index, and no way to continue
after a crash. Only seine and spider-rs send a host one request at a time.`,
	},
}
