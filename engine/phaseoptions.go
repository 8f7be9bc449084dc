// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// InjectOptions name seeds and say what happens to URLs that crawldb has already. The sources are read one after
// another: URLs, Files, Readers. No source injects nothing.
type InjectOptions struct {
	URLs  []string  // seed lines; see Engine.Inject
	Files []string  // names of files of seed lines; "-" is Stdin
	Stdin io.Reader // what "-" in Files reads; nil: "-" is a file of that name
	// Readers have more seed lines. They are read, not closed; the end of the context does not wait for a Read.
	Readers []io.Reader
	// Overwrite replaces the record of a known URL. Update changes only its score, interval and metadata. Without
	// either the record stays as it is.
	Overwrite, Update bool
}

// SeedReader is one of InjectOptions.Readers that has a name: messages quote lines of it by name and number, as those
// of a file.
type SeedReader struct {
	io.Reader
	Name string
}

func (o *InjectOptions) empty() bool { return len(o.URLs)+len(o.Files)+len(o.Readers) == 0 }

// GenerateOptions bound fetchlists. The zero value makes one, of the million best URLs that are due. Negative bounds
// are refused.
type GenerateOptions struct {
	Top          int // URLs of a fetchlist; 0 means a million
	MaxPerHost   int // URLs of one host in a fetchlist; 0 means no bound
	MaxPerDomain int // of one registered domain; 0 means no bound
	// MaxPerAddress is that of one IP address, as it was when the host was last visited; 0 means no bound. Hosts that
	// were never visited count by themselves.
	MaxPerAddress int
	// Lists is the number of fetchlists to make, one segment each; 0 means one. What the bounds of one keep out goes
	// to the next one. There are fewer if not so many are needed.
	Lists        int
	AddDays      int            // choose as if it were so many days later
	IgnoreMarked bool           // also choose URLs that wait in the fetchlist of an unfinished segment
	MinScore     float64        // leave out lower scores
	MaxInterval  time.Duration  // leave out URLs with a longer interval (Nutch: generate.min.interval); 0: none
	Status       storage.Status // choose only URLs of this status (Nutch: generate.restrict.status); 0: of any
	DryRun       bool           // report what would be chosen, and write nothing
}

// validate returns an error for what means nothing, and names it.
func (o *GenerateOptions) validate() error {
	for _, bound := range []struct {
		name  string
		value int64
	}{
		{"Top", int64(o.Top)}, {"MaxPerHost", int64(o.MaxPerHost)}, {"MaxPerDomain", int64(o.MaxPerDomain)},
		{"MaxPerAddress", int64(o.MaxPerAddress)}, {"Lists", int64(o.Lists)}, {"AddDays", int64(o.AddDays)},
		{"MaxInterval", int64(o.MaxInterval)},
	} {
		if bound.value < 0 {
			return fmt.Errorf("%s %d: want 0 or more", bound.name, bound.value)
		}
	}
	if math.IsNaN(o.MinScore) {
		return fmt.Errorf("MinScore %v: want a number", o.MinScore)
	}
	if int(o.Status) >= storage.StatusCount {
		return fmt.Errorf("Status %d: want one of package storage, or 0", o.Status)
	}
	return nil
}

// FetchOptions say what to fetch. Segment is required.
type FetchOptions struct {
	Segment uint32 // an open segment made by Generate
	Limits
	// Patience is as in CrawlOptions; 0 means 10 s, and negative values are refused.
	Patience time.Duration
	// Progress, if not nil, is called about once a second. It runs on the goroutine that called Fetch and holds it
	// up: while it runs, Fetch notices neither the end nor a limit. It must not call Engine.Close, which waits for
	// Fetch. Its MaxPages is the number of URLs in the fetchlist, unless Limits has a lower one.
	Progress func(Progress)

	parse bool // also with Options.ParseLater: the segment goes on to updatedb
}

func (o *FetchOptions) validate() error {
	return cmp.Or(o.Limits.validate(), notNegative("Patience", o.Patience))
}

// DedupOptions say which pages are compared and which of equal ones is kept. The zero value compares all pages.
type DedupOptions struct {
	// Segments limits the comparison to pages whose signature occurs in these segments, or that have the signature that
	// a page had until a fetch there brought no content; nil means all pages.
	Segments []uint32
	// Order replaces Options.DedupOrder for this call; "" means that order.
	Order string

	signatures []storage.Signature    // without Segments: the only ones that are compared; nil: all
	restored   func(key []byte) error // is called with every page that is a duplicate no more; nil: nobody asks
}

// IndexOptions say what to index. The zero value indexes every linked segment.
type IndexOptions struct {
	// Segments are linked segments whose pages become documents; nil means every linked segment.
	Segments []uint32
	// Refresh also brings every document up to date: pages whose anchor texts changed, pages that are no longer
	// duplicates, pages that are gone. After that the index is a function of crawldb, linkdb and parse records, and of
	// the live filters: what they refuse is not found. The first refresh looks at all pages. A later one looks at those
	// that may be others since, which the phases note, unless there are live filters or index filters: nobody knows
	// what these refuse or do by now.
	Refresh bool
	// EveryDocument makes Refresh look at all pages all the same. A document whose page, record and links are as before
	// stays as it is: after an index filter changed, or what it reads, open the directory with RebuildIndex.
	EveryDocument bool
	// Resend makes the index writers get all documents again, for example after the other engine lost them.
	Resend bool
	// MaxSegments has index segments merged until there are at most so many, and none has deleted documents: with 1,
	// searches of an index that stays as it is are fastest. 0 merges what is to be merged anyway; what the end of a
	// crawl leaves of it is done here, beside the next crawl, or by `seine serve`. It takes as long as writing the
	// merged part again, beside searches; there may be more where Options.Memory is too little.
	MaxSegments int
	// MergeOnly has Index do nothing but merge the smallest index segments, until there are at most MaxSegments or two:
	// for an index that is searched and hardly changes, as "seine serve" has it. It works beside searches, which go
	// first, and beside everything else. Deleted documents stay where nothing else is merged, so that little is written
	// again where little changed; with too little room on the disk nothing is. What it finds is the same.
	MergeOnly bool

	keys *storage.Sorter // of more pages
}

func (o *IndexOptions) validate() error {
	switch {
	case o.MaxSegments < 0:
		return fmt.Errorf("MaxSegments %d: want 0 (what merges leave) or more", o.MaxSegments)
	case o.MergeOnly && (o.Segments != nil || o.Refresh || o.EveryDocument || o.Resend):
		return errors.New("MergeOnly does nothing else: want no Segments, Refresh, EveryDocument or Resend beside it")
	}
	return nil
}

// Limits end a crawl or a fetch early. What else is due stays due. 0 means no bound; negative values are refused.
type Limits struct {
	// MaxPages bounds the number of fetched pages. It is exact.
	MaxPages int64
	// MaxBytes bounds the bytes received, heads, framing and TLS included, MaxTime the time from the start. When one
	// of them is reached, fetches in flight are cut off and count as not made; MaxBytes may be exceeded by what they
	// received.
	MaxBytes int64
	MaxTime  time.Duration
}

func (l Limits) validate() error {
	if l.MaxPages < 0 || l.MaxBytes < 0 || l.MaxTime < 0 {
		return fmt.Errorf("limits: MaxPages %d, MaxBytes %d, MaxTime %s: want 0 (no bound) or more",
			l.MaxPages, l.MaxBytes, l.MaxTime)
	}
	return nil
}

// CrawlOptions say what a crawl begins with and when it ends. The zero value crawls what crawldb holds until nothing
// is due.
type CrawlOptions struct {
	// Inject names seeds that are injected first. Without any, the crawl continues with what crawldb holds. Seeds of
	// which none can be used are an error.
	Inject InjectOptions
	// Limits count from the start of this crawl; Engine.SetLimits replaces them.
	Limits
	// Patience is how long a crawl with nothing else to do waits for hosts that sleep after failures, and for a full
	// disk to gain space; 0 means 10 s, and negative values are refused. For hosts that requested a pause (429, 503) a
	// crawl waits seven times as long. What these hosts still have is due in the next crawl.
	Patience time.Duration
	// Abort ends the crawl at once when it is canceled: phases are cut short, and only the OnPage calls for fetches
	// that were stored, up to one for each fetcher, are waited for. What was synced is kept, and the next crawl takes
	// it up. nil: only ctx ends the crawl, cleanly.
	Abort context.Context
	// Progress, if not nil, is called about every ProgressEvery (0 means one second) and once at the end, also of a
	// crawl that fails. It runs on the goroutine that called Crawl, one call at a time, and must be quick: while it
	// runs, no segment is sealed. It may call any method of the Engine but Close, Crawl, Fetch and Delete: a deletion
	// waits for the crawl to seal what it has.
	Progress      func(Progress)
	ProgressEvery time.Duration
}

func (o *CrawlOptions) validate() error {
	return cmp.Or(
		o.Limits.validate(), notNegative("Patience", o.Patience), notNegative("ProgressEvery", o.ProgressEvery),
	)
}

func notNegative(name string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s %s: want 0 (the default) or more", name, d)
	}
	return nil
}
