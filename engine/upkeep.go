// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/storage"
)

// Upkeep is the part of an Engine that keeps the databases in order between crawls: lists of URLs, other data
// directories, segments, and filters that came later. An Engine has its methods.
type Upkeep struct {
	w       *work
	g       *guard
	running *sync.Mutex // held by a crawl or fetch
}

// DedupURLsOptions name lines of URLs, as those of seeds are named, and say where each goes. A nil writer drops its
// list.
type DedupURLsOptions struct {
	URLs    []string    // lines; see Engine.Inject
	Files   []string    // names of files of lines; "-" is Stdin
	Stdin   io.Reader   // what "-" in Files reads; nil: "-" is a file of that name
	Readers []io.Reader // more lines; they are read, not closed

	// Known gets the first line of each URL that crawldb has, New that of each other URL, and Duplicates every later
	// line of a URL: in the order of keys, as the lines were given, without white space around them.
	Known, New, Duplicates io.Writer
	// Refused gets the lines that Inject would not take, in no order, each after its reason and a TAB. Of a line longer
	// than 64 KiB it gets the beginning, after the reason "malformed, cut".
	Refused io.Writer
}

// DedupURLsReport counts lines. Lines is the sum of the other counts.
type DedupURLsReport struct {
	Lines      uint64   `json:"lines"`      // without comments and empty lines
	Known      uint64   `json:"known"`      // the first of each URL that crawldb has
	New        uint64   `json:"new"`        // the first of each other URL
	Duplicates uint64   `json:"duplicates"` // the later ones of each URL
	Filtered   uint64   `json:"filtered"`   // whose URL a filter refuses
	Malformed  uint64   `json:"malformed"`  // that are no seed
	Examples   []string `json:"examples,omitempty"`
	Took       Duration `json:"seconds"`
}

func (r DedupURLsReport) String() string {
	return fmt.Sprintf("dedup-urls: %d new, %d known, %d duplicates of %d lines (%d filtered, %d malformed) in %.2fs",
		r.New, r.Known, r.Duplicates, r.Lines, r.Filtered, r.Malformed, r.Took.Seconds())
}

// DedupURLs sorts lines of URLs, of any number, into those that crawldb has, new ones and duplicates. Lines are
// parsed, normalized and filtered as those of seeds: what is new is what Inject would add. It changes nothing, takes
// the memory of one phase, then disk, and may run beside everything else.
func (u *Upkeep) DedupURLs(ctx context.Context, o DedupURLsOptions) (DedupURLsReport, error) {
	leave, err := u.g.enter()
	if err != nil {
		return DedupURLsReport{}, err
	}
	defer leave()
	inner, cancel := u.g.within(ctx)
	defer cancel()
	start := u.w.now()
	in := InjectOptions{Files: o.Files, Stdin: o.Stdin, Readers: o.Readers}
	sources, closeAll, err := in.open(inner)
	if err != nil {
		return DedupURLsReport{}, fmt.Errorf("dedup-urls: %w", err)
	}
	defer closeAll()
	c, err := u.w.phases.Classify(inner, phases.URLLists{
		Lines: o.URLs, Sources: sources,
		Known: o.Known, New: o.New, Duplicates: o.Duplicates, Refused: o.Refused,
	})
	return DedupURLsReport{
		Lines: c.Lines, Known: c.Known, New: c.New, Duplicates: c.Duplicates, Filtered: c.Filtered,
		Malformed: c.Malformed, Examples: c.Examples, Took: u.w.took(start),
	}, u.g.ended(ctx, err)
}

// FreeGenerateOptions name lines of URLs, as those of seeds are named.
type FreeGenerateOptions struct {
	URLs    []string
	Files   []string    // "-" is Stdin
	Stdin   io.Reader   // nil: "-" is a file of that name
	Readers []io.Reader // more lines; they are read, not closed
}

// FreeGenerateReport says what became of lines.
type FreeGenerateReport struct {
	Segment   uint32   `json:"segment"`  // that has the fetchlist
	Selected  uint64   `json:"selected"` // URLs in it
	Lines     uint64   `json:"lines"`    // without comments and empty lines
	Merged    uint64   `json:"merged"`   // lines with the same URL as another
	Filtered  uint64   `json:"filtered"`
	Malformed uint64   `json:"malformed"`
	Examples  []string `json:"examples,omitempty"` // the first lines that were filtered or are malformed, and why
	Took      Duration `json:"seconds"`
}

func (r FreeGenerateReport) String() string {
	return fmt.Sprintf("freegen: segment %d, %d URLs of %d lines (%d merged, %d filtered, %d malformed) in %.2fs",
		r.Segment, r.Selected, r.Lines, r.Merged, r.Filtered, r.Malformed, r.Took.Seconds())
}

// FreeGenerate writes the fetchlist of a new segment from lines of URLs, whether crawldb has them and whether they
// are due (Nutch: freegen). Fetch and the phases after it treat the segment as any other: its outcomes come into
// crawldb.
//
// Errors: ErrNothingDue without a URL that may be crawled, and ErrBusy while a crawl is running.
func (u *Upkeep) FreeGenerate(ctx context.Context, o FreeGenerateOptions) (FreeGenerateReport, error) {
	leave, err := u.g.begin(ctx, "freegen", true)
	if err != nil {
		return FreeGenerateReport{}, err
	}
	defer leave()
	w, start := u.w, u.w.now()
	if w.crawling.Load() { // nothing of a pipe is read in vain
		return FreeGenerateReport{}, wrapf(ErrBusy, "freegen")
	}
	in := InjectOptions{Files: o.Files, Stdin: o.Stdin, Readers: o.Readers}
	sources, closeAll, err := in.gather(ctx, w.store)
	if err != nil {
		return FreeGenerateReport{}, fmt.Errorf("freegen: %w", err)
	}
	defer closeAll()
	w.crawldbMu.Lock()
	defer w.crawldbMu.Unlock()
	if w.crawling.Load() { // a crawl has begun meanwhile
		return FreeGenerateReport{}, wrapf(ErrBusy, "freegen")
	}
	f, err := w.phases.FreeGenerate(ctx, phases.FreeList{Lines: o.URLs, Sources: sources})
	r := FreeGenerateReport{
		Segment: f.Segment, Selected: f.Selected, Lines: f.Lines, Merged: f.Merged, Filtered: f.Filtered,
		Malformed: f.Malformed, Examples: f.Examples,
	}
	if err != nil {
		return r, err
	}
	r.Took = w.took(start)
	w.reached(r.Segment, storage.SegmentOpen)
	w.done(r)
	return r, nil
}
