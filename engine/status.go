// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/seine-crawler/seine/storage"
)

// Status is an Engine at one moment: whether a crawl runs, how fast, what holds it up, and whether it will end well.
// What is marked "now" is read when Status is called. Names of JSON say their units; times are in UTC. It survives the
// way through JSON.
type Status struct {
	Time    time.Time `json:"time"`    // when it was read, by Options.Now
	Running bool      `json:"running"` // a crawl runs, or a call of Fetch; it does until that returns

	// Of the crawl or fetch that runs, or of the last one that this Engine ran, or else of the last crawl of an earlier
	// process, of which Progress and Newest are not known; all are zero if there was none.
	Started  time.Time  `json:"started,omitzero"`
	Ended    time.Time  `json:"ended,omitzero"`    // zero while it runs, and of StopKilled
	Stopping bool       `json:"stopping"`          // it runs and its end was requested: by Stop, or by its context
	Stopped  StopReason `json:"stopped,omitempty"` // "" while it runs
	Error    string     `json:"error,omitempty"`   // that Crawl returned
	Progress *Progress  `json:"progress,omitempty"`
	Newest   *Sample    `json:"newest,omitempty"` // the rates of its last second; nil before there is one

	// What follows is empty while no crawl runs.

	// Fetchers counts the fetchers by what they do, now, in the order of a visit, zeros included. The sum is the number
	// of fetchers, extra ones for slow visits included.
	Fetchers []FetcherCount `json:"fetchers,omitempty"`
	// Refills is the number of hosts whose URLs are being chosen in crawldb or wait for that, now. Lookups is how many
	// of them wait for the addresses of the host from DNS, at most 64 at once: fetchers get addresses that are known,
	// so slow DNS shows here.
	Refills int `json:"refills"`
	Lookups int `json:"lookups"`
	// HostsLimit and QueuedLimit are the greatest values of Progress.HostsActive and Progress.Queued: Options.Memory
	// has room for so many. What is beyond waits in crawldb.
	HostsLimit  int `json:"hosts_limit"`
	QueuedLimit int `json:"queued_limit"`
	// TopHosts are the hosts of which most pages were fetched in the last minute, at most 20, most first.
	TopHosts []HostRate `json:"top_hosts,omitempty"`

	Memory MemoryStatus `json:"memory"`
	Store  StoreStatus  `json:"store"`
	Alerts []Alert      `json:"alerts,omitempty"` // the worst first
}

// FetcherCount is the number of fetchers that do one thing.
type FetcherCount struct {
	Doing FetcherDoing `json:"doing"`
	Count int          `json:"count"`
}

// FetcherDoing names what a fetcher does or waits for.
type FetcherDoing string

// What fetchers do, in the order of a visit. An embedder's Options.Protocol says nothing of what it does: all of it
// counts as DoingRequest.
const (
	DoingHeld       FetcherDoing = "held"       // nothing: it is held back, by what Progress.Cause says
	DoingIdle       FetcherDoing = "idle"       // nothing: no host may be visited
	DoingPrepare    FetcherDoing = "prepare"    // reads what is known of URL and host
	DoingRobots     FetcherDoing = "robots"     // is connected and waits for robots.txt, or for who requests it
	DoingRequest    FetcherDoing = "request"    // a request, of which is not known how far it is
	DoingDNS        FetcherDoing = "dns"        // waits for addresses; most come from refills: see Status.Lookups
	DoingConnection FetcherDoing = "connection" // waits for room for one more connection
	DoingConnect    FetcherDoing = "connect"    // waits for TCP, or for a proxy
	DoingTLS        FetcherDoing = "tls"        // waits for the TLS handshake
	DoingFirstByte  FetcherDoing = "first_byte" // sends the request and waits for the head of the answer
	DoingBody       FetcherDoing = "body"       // receives the body
	DoingMemory     FetcherDoing = "memory"     // waits for memory for the body
	DoingSlot       FetcherDoing = "slot"       // has an answer; waits for its turn to parse, or lets a search go first
	DoingWrite      FetcherDoing = "write"      // compresses and appends to the WARC file, or waits for who does
	DoingParse      FetcherDoing = "parse"      // decodes and parses, makes the parse record
	DoingPage       FetcherDoing = "page"       // hands the page to OnPage
)

// HostRate says how many pages of a host were fetched in the last minute: 50 to 60 s, in steps of 10 s. Hosts beyond
// the first 10,000 of a step are not counted in it.
type HostRate struct {
	Host           string  `json:"host"`
	Pages          uint64  `json:"pages"`
	Failed         uint64  `json:"failed"` // as in FetchReport
	Bytes          uint64  `json:"bytes"`  // received, with those of failures
	PagesPerSecond float64 `json:"pages_per_second"`
}

// MemoryStatus compares the memory of the process with Options.Memory, now. LimitBytes is Options.Memory. HeapBytes are
// Go's objects, with those that the collector has not freed yet; GoBytes all that Go's runtime has from the system,
// less what it gave back: what the limit of package runtime/debug counts.
type MemoryStatus struct {
	LimitBytes int64  `json:"limit_bytes"`
	HeapBytes  uint64 `json:"heap_bytes"`
	GoBytes    uint64 `json:"go_bytes"`
	// Shares are the parts of the limit of which is measured what they use.
	Shares []MemoryShare `json:"shares,omitempty"`
}

// MemoryShare is one part of Options.Memory: "cache" (blocks of the store), "memtables", "bodies" (answers as
// received), "segment" (parse records of the open segment), "hosts" (robots.txt and other facts) and "answers" (to
// searches, see Answers).
type MemoryShare struct {
	Name       string `json:"name"`
	UsedBytes  int64  `json:"used_bytes"`
	LimitBytes int64  `json:"limit_bytes"`
}

// StoreStatus says what is stored. Counting takes longer the more there is, so counts may be older than the rest: AsOf
// says how old, and is zero until the first count has ended.
type StoreStatus struct {
	// The space is that of the store's file system, or of the WARC files' if that is full before.
	DiskFreeBytes  uint64 `json:"disk_free_bytes"`  // for this user, now; 0: not known
	DiskTotalBytes uint64 `json:"disk_total_bytes"` // 0: not known
	// DiskPendingBytes are free bytes that what was fetched takes until it is searchable, about, now.
	DiskPendingBytes uint64 `json:"disk_pending_bytes"`
	// Documents are those of the index that are not deleted, now.
	Documents uint64 `json:"documents"`
	// IndexChanges counts the times that searches began to find something else, since the engine was opened.
	IndexChanges uint64 `json:"index_changes"`

	AsOf     time.Time                    `json:"as_of,omitzero"`
	Hosts    uint64                       `json:"hosts"` // in hostdb, with records in crawldb
	URLs     map[storage.Status]uint64    `json:"urls"`  // records of crawldb, without zeros
	Segments map[storage.SegmentState]int `json:"segments"`
	Ranges   []RangeBytes                 `json:"ranges,omitempty"` // in the order of a URL's life
	// WARCFiles and WARCBytes are those in the data directory.
	WARCFiles int    `json:"warc_files"`
	WARCBytes uint64 `json:"warc_bytes"`

	Tables StoreTables `json:"tables"`
}

// RangeBytes is the size on disk of a kind of key range, compressed, estimated from the indexes of tables; small writes
// of the last minutes that are still in memory are not in it.
type RangeBytes struct {
	Name  string `json:"name"`
	Bytes uint64 `json:"bytes"`
}

// StoreTables is the state of the store's tables, now. Counters count since Open.
type StoreTables struct {
	Count            uint64 `json:"count"`
	Bytes            uint64 `json:"bytes"`                 // of live tables
	LogBytes         uint64 `json:"log_bytes"`             // of the write-ahead log
	DebtBytes        uint64 `json:"compaction_debt_bytes"` // that compactions have yet to rewrite, estimated by Pebble
	ReadAmp          int    `json:"read_amplification"`    // places where a Get may have to look
	Compactions      int64  `json:"compactions"`
	Flushes          int64  `json:"flushes"`
	Ingestions       uint64 `json:"ingestions"`
	WrittenBytes     uint64 `json:"written_bytes"`     // by flushes, compactions and ingestions
	Stalls           uint64 `json:"stalls"`            // times that writes had to wait for compactions
	SlowWrites       uint64 `json:"slow_writes"`       // disk operations that took longer than 5 s
	BackgroundErrors uint64 `json:"background_errors"` // flushes and compactions that failed
	CacheHits        int64  `json:"cache_hits"`        // blocks read
	CacheMisses      int64  `json:"cache_misses"`      // blocks read
}

// Alert is something that does not work, or that will not for long.
type Alert struct {
	Kind  AlertKind  `json:"kind"`
	Level AlertLevel `json:"level"`
	Text  string     `json:"text"`           // for people, with its numbers
	Help  string     `json:"help,omitempty"` // what to do; "": nothing can be done here
}

// AlertLevel says how bad an alert is.
type AlertLevel string

// The levels.
const (
	AlertLook   AlertLevel = "look"   // it may get worse
	AlertBroken AlertLevel = "broken" // something does not work
)

// AlertKind names an alert, for programs.
type AlertKind string

// The alerts.
const (
	AlertDiskFull   AlertKind = "disk_full"   // too little space to fetch, or within a day at the present rate
	AlertDiskSilent AlertKind = "disk_silent" // a sync does not end, or disk operations took longer than 5 s
	AlertStore      AlertKind = "store"       // flushes or compactions failed
	AlertMemory     AlertKind = "memory"      // Go has more memory than Options.Memory
	AlertNetwork    AlertKind = "network"     // the local network, or DNS, does not answer
	AlertFailures   AlertKind = "failures"    // half of the fetches of the last minutes failed
	AlertWriter     AlertKind = "writer"      // an index writer did not take what it was sent
	AlertCrawl      AlertKind = "crawl"       // the last crawl failed
)
