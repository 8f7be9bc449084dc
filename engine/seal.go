// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// segmentBuilder collects the parse records of an open segment, from live fetches or from its WARC
// read back, and seals it. Safe for concurrent use; each caller brings its own scratch.
type segmentBuilder struct {
	e   *Engine
	seg storage.Segment

	mu sync.Mutex // guards all below
	// Texts lie here as they are. To pack them one by one with S2 until they are sealed takes a fifth off the memory of a
	// crawl without index, and adds a sixth to its time.
	links, text, cdx *storage.Sorter
	report           FetchReport
	linkCount        uint64
	held             int64 // bytes in the sorters
}

// scratch is what one goroutine needs to parse pages one after another without making garbage.
type scratch struct {
	page    parse.Page
	outcome storage.FetchOutcome
	text    storage.ParseText
	cdx     storage.CDX
	key     []byte
	links   []byte
	body    []byte
	tags    []string
	fields  []warc.Field
	keys    []byte // of the page's links, end to end
	ends    []int  // of each of them
	memo    urlkey.KeyMemo
}

func newSegmentBuilder(e *Engine, seg storage.Segment) *segmentBuilder {
	// A URL that was fetched twice within a segment, which only a crash can cause, keeps its later
	// outcome.
	return &segmentBuilder{e: e, seg: seg, links: e.newSorter(foldLast), text: e.newSorter(foldLast), cdx: e.newSorter(foldLast)}
}

// exchange is the end of one fetch: a response, or the reason why there is none.
type exchange struct {
	url     urlkey.URL
	at      time.Time
	resp    *fetch.Response // nil when nothing was received
	failure fetch.Failure
	// preferences are what robots.txt said about uses of the page, see preferences.go.
	preferences string
	took        time.Duration // from the begin of the fetch to its end
	loc         warc.Location
	digest      [20]byte // SHA-1 of the payload
}

// add classifies and parses an exchange and adds its records. The outcome stays in s until the
// next call.
func (b *segmentBuilder) add(x *exchange, s *scratch) error {
	b.e.readOutcome(x, s)
	o := &s.outcome
	s.key = x.url.AppendKey(s.key[:0])
	s.links = storage.AppendFetchOutcome(s.links[:0], o)
	s.body = s.body[:0]
	if o.Status == storage.FetchSuccess && o.Flags&(storage.FlagNoIndex|storage.FlagNotParsed) == 0 {
		s.body = storage.AppendParseText(s.body, &s.text)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.links.Add(s.key, s.links); err != nil {
		return err
	}
	if len(s.body) > 0 {
		if err := b.text.Add(s.key, s.body); err != nil {
			return err
		}
	}
	if x.resp != nil {
		s.cdx = storage.CDX{Segment: b.seg.Number, Location: x.loc, HTTPStatus: o.HTTPStatus, MediaType: o.MediaType, Digest: x.digest}
		if err := b.cdx.Add(storage.AppendCDXKey(nil, s.key, o.Time), storage.AppendCDX(nil, &s.cdx)); err != nil {
			return err
		}
	}
	b.held += int64(3*len(s.key) + len(s.links) + len(s.body))
	b.linkCount += uint64(len(o.Outlinks))
	b.report.count(o)
	return nil
}

// count adds one outcome to a report.
func (r *FetchReport) count(o *storage.FetchOutcome) {
	r.Bytes += uint64(o.Bytes)
	switch {
	case o.Failure == failureRobots:
		r.RobotsDenied++
		return
	case o.Status == storage.FetchSuccess:
		r.Fetched++
		return
	case o.Status == storage.FetchNotModified:
		r.NotModified++
		return
	case o.Status == storage.FetchRedirTemp || o.Status == storage.FetchRedirPerm:
		r.Redirected++
		return
	case o.Status == storage.FetchGone:
		r.Gone++
	}
	r.Failed++
	if r.Failures == nil {
		r.Failures = map[string]uint64{}
	}
	name := o.Failure
	if name == "" {
		name = fmt.Sprintf("http_%d", o.HTTPStatus)
	}
	r.Failures[name]++
}

// pages is the number of outcomes collected so far.
func (b *segmentBuilder) pages() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.report.Attempts()
}

// sizes returns the bytes that were fetched, and those that are held in memory.
func (b *segmentBuilder) sizes() (fetched uint64, held int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.report.Bytes, b.held
}

// seal writes everything as tables and makes the segment sealed, in one ingestion. The WARC files
// are closed and synced before.
func (b *segmentBuilder) seal(ctx context.Context, files []warc.FileInfo) (SealReport, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.e.clock.time(stageSeal)()
	start := time.Now()
	seg := b.seg
	seg.State, seg.Sealed = storage.SegmentSealed, b.e.o.Now()
	seg.WARC = nil
	for _, f := range files {
		seg.WARC = append(seg.WARC, storage.WARCFile{Name: f.Name, Size: f.Size, Records: uint64(f.Records)})
	}
	r := &b.report
	seg.Counts = storage.SegmentCounts{Generated: seg.Counts.Generated, Fetched: r.Fetched, Failed: r.Failed, Redirected: r.Redirected,
		Gone: r.Gone, NotModified: r.NotModified, RobotsDenied: r.RobotsDenied, Links: b.linkCount, Bytes: r.Bytes}
	ing := b.e.store.NewIngestion()
	defer ing.Abort()
	report := SealReport{Segment: seg.Number, Pages: r.Attempts(), Links: b.linkCount, Bytes: r.Bytes}
	for _, t := range []struct {
		sorter *storage.Sorter
		to     storage.Range
	}{{b.links, storage.ParseLinks(seg.Number)}, {b.text, storage.ParseTextRange(seg.Number)}, {b.cdx, storage.CDXRange()}} {
		if t.to != storage.CDXRange() {
			if err := b.replace(ing, t.to); err != nil {
				return report, err
			}
		}
		if err := writeRun(ctx, t.sorter, ing.Table(t.to)); err != nil {
			return report, fmt.Errorf("sealing segment %d: %w", seg.Number, err)
		}
	}
	if err := ing.PutSegment(seg); err != nil {
		return report, err
	}
	if err := ing.Commit(); err != nil {
		return report, fmt.Errorf("sealing segment %d: %w", seg.Number, err)
	}
	report.Seconds = since(start)
	b.e.reached(seg.Number, storage.SegmentSealed)
	b.e.done(report)
	return report, nil
}

// replace sees to it that parsing again leaves nothing of what an earlier parser made. A range that is empty, which is the
// rule, is left alone: a tombstone would have its tables written again.
func (b *segmentBuilder) replace(ing *storage.Ingestion, r storage.Range) error {
	made := b.e.store.Scan(r, nil, nil)
	defer made.Close()
	if !made.Next() {
		return made.Err()
	}
	return ing.DeleteRange(r)
}

func (b *segmentBuilder) close() {
	for _, s := range []*storage.Sorter{b.links, b.text, b.cdx} {
		s.Close()
	}
}

// Seal makes the parse records of a segment from its WARC and seals it: Nutch's parse. It runs
// again on a sealed segment that was not updated yet, after a change of parser for example.
func (e *Engine) Seal(ctx context.Context, segment uint32) (SealReport, error) {
	seg, err := e.segmentFor(segment, "parse", storage.SegmentOpen, storage.SegmentSealed)
	if err != nil {
		return SealReport{Segment: segment}, err
	}
	b := newSegmentBuilder(e, seg)
	defer b.close()
	files, torn, err := e.readBack(ctx, seg, b, nil)
	if err != nil {
		return SealReport{Segment: segment}, fmt.Errorf("parsing segment %d: %w", segment, err)
	}
	report, err := b.seal(ctx, files)
	report.Torn = torn
	return report, err
}

// readBack repairs the segment's WARC files and adds every exchange in them to the builder. each,
// if not nil, is told of every URL, by several goroutines.
func (e *Engine) readBack(ctx context.Context, seg storage.Segment, b *segmentBuilder, each func(key []byte)) ([]warc.FileInfo, int64, error) {
	names, err := e.segmentFiles(seg.Number)
	if err != nil {
		return nil, 0, err
	}
	var files []warc.FileInfo
	var torn int64
	for _, name := range names {
		path := e.warcDir() + "/" + name
		size, removed, err := e.repair(path)
		if err != nil {
			return nil, torn, err
		}
		torn += removed
		records, err := e.readFile(ctx, path, size, b, each)
		if err != nil {
			return nil, torn, fmt.Errorf("reading %s back: %w", path, err)
		}
		files = append(files, warc.FileInfo{Name: name, Size: size, Records: records})
	}
	return files, torn, nil
}

// repair cuts the torn tail off a file that was being written. A file that begins with zeros was
// never synced: its length reached the disk before its bytes did, so nothing in it was acknowledged.
func (e *Engine) repair(path string) (size, removed int64, err error) {
	size, removed, err = warc.Repair(e.warcFS, path)
	if err == nil {
		return size, removed, nil
	}
	f, ferr := e.warcFS.Open(path)
	if ferr != nil {
		return 0, 0, fmt.Errorf("repairing %s: %w", path, errors.Join(err, ferr))
	}
	var head [16]byte
	n, _ := f.ReadAt(head[:], 0)
	if ferr := f.Close(); ferr != nil || n < len(head) || head != [16]byte{} {
		return 0, 0, fmt.Errorf("repairing %s: %w", path, errors.Join(err, ferr))
	}
	length, err := e.warcFS.Size(path)
	if err == nil {
		err = e.warcFS.Truncate(path, 0)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("emptying %s, which was never synced: %w", path, err)
	}
	e.warn(fmt.Errorf("%s was never synced: its %d bytes are dropped and their pages are due again", path, length))
	return 0, length, nil
}

// segmentPrefix begins the names of a segment's WARC files.
func segmentPrefix(segment uint32) string { return fmt.Sprintf("seine-%08d", segment) }

// segmentFiles lists a segment's WARC files in order.
func (e *Engine) segmentFiles(segment uint32) ([]string, error) {
	all, err := e.warcFS.List(e.warcDir())
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range all {
		if strings.HasPrefix(name, segmentPrefix(segment)+"-") && strings.HasSuffix(name, ".warc.gz") {
			names = append(names, name)
		}
	}
	return names, nil
}

func (e *Engine) readFile(ctx context.Context, path string, size int64, b *segmentBuilder, each func(key []byte)) (records int64, err error) {
	f, err := e.warcFS.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	// A power loss may keep later blocks of a file and lose earlier ones that were not synced either.
	// What is readable behind such a hole is taken; what was in it is due again.
	r := warc.NewReaderOptions(f, size, warc.ReaderOptions{File: path, Resync: true})
	g, ctx := errgroup.WithContext(ctx)
	lanes := make([]chan *exchange, runtime.GOMAXPROCS(0))
	for i := range lanes {
		lanes[i] = make(chan *exchange, readAhead)
		g.Go(func() error { return addAll(b, lanes[i], each) })
	}
	defer func() {
		for _, lane := range lanes {
			close(lane)
		}
		if failed := g.Wait(); failed != nil {
			err = failed
		}
	}()
	for ; ctx.Err() == nil; records++ {
		rec, err := r.Next()
		var hole *warc.CorruptError
		if isEOF(err) || errors.Is(err, warc.ErrTorn) {
			return records, nil
		} else if errors.As(err, &hole) && b.seg.State == storage.SegmentOpen {
			e.warn(fmt.Errorf("reading back: %w", err))
			if hole.Next < 0 {
				return records, nil
			}
			continue
		} else if err != nil {
			return records, err
		}
		x, ok, err := storedExchange(rec)
		if err != nil {
			return records, fmt.Errorf("record at offset %d: %w", rec.Location.Offset, err)
		}
		if !ok {
			continue
		}
		x.loc.File = baseName(path)
		select { // the exchanges of a URL stay in order
		case lanes[xxh3.HashString(rec.URI)%uint64(len(lanes))] <- x:
		case <-ctx.Done():
		}
	}
	return records, ctx.Err()
}

// addAll adds exchanges that were read back.
func addAll(b *segmentBuilder, lane chan *exchange, each func(key []byte)) error {
	var s scratch
	for x := range lane {
		if err := b.add(x, &s); err != nil {
			return err
		}
		if x.resp != nil {
			x.resp.Release()
		}
		if each != nil {
			each(s.key)
		}
	}
	return nil
}
