// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// fetching is the fetchers at work: they take visits from the frontier, make one exchange each,
// and put what came of it into the open segment. Fetch runs it over one fetchlist; Crawl runs it
// over crawldb and changes segments underneath it.
type fetching struct {
	e        *Engine
	frontier *frontier.Frontier
	source   *source

	// seg is the open segment. Fetchers hold it for reading while they store an exchange; whoever
	// seals holds it for writing to put another in its place.
	segMu sync.RWMutex
	seg   *openSegment

	limits   Limits
	pages    pageLimit
	received atomic.Int64 // bytes
	began    time.Time
	followed time.Time // when the files of filters were looked at; of the loop that watches the fetchers
	flights  []*flight // of each fetcher
	disk     diskWatch
	gate     gate         // closed while sealed segments pile up or the disk is full
	busy     atomic.Int64 // visits taken and not yet stored
	changed  chan struct{}
	wg       sync.WaitGroup
	cancel   context.CancelFunc

	failMu sync.Mutex
	failed error // the first error that ends the whole run

	totalMu sync.Mutex
	total   FetchReport // outcomes that are synced
}

// openSegment is the segment that is being filled.
type openSegment struct {
	number  uint32
	created time.Time
	warc    *warc.Writer
	builder *segmentBuilder
	earlier []warc.FileInfo // files of a fetch that was cut short

	pendingMu sync.Mutex
	pending   []storedPage // appended to the WARC since the last sync
	keys      []uint64     // hashes of all URLs stored here, to be released after updatedb
}

// storedPage is an outcome that waits for its WARC to be synced before it counts.
type storedPage struct {
	url     urlkey.URL
	outcome storage.FetchOutcome
}

// openSegment makes a segment's WARC writer and builder.
func (e *Engine) openSegment(seg storage.Segment) (*openSegment, error) {
	w, err := warc.NewWriter(warc.WriterOptions{FS: e.warcFS, Dir: e.warcDir(), Prefix: segmentPrefix(seg.Number), Now: e.o.Now,
		Info: []warc.Field{{Name: "software", Value: "seine/" + Version}, {Name: "http-header-user-agent", Value: e.o.UserAgent},
			{Name: "robots", Value: "obey"}, {Name: "operator", Value: e.o.Contact}}})
	if err != nil {
		return nil, fmt.Errorf("opening the WARC of segment %d: %w", seg.Number, err)
	}
	return &openSegment{number: seg.Number, created: e.o.Now(), warc: w, builder: newSegmentBuilder(e, seg)}, nil
}

// start begins the fetchers and the syncer; stop ends them.
func (f *fetching) start(ctx context.Context) {
	ctx, f.cancel = context.WithCancel(ctx)
	f.began = time.Now()
	f.pages.max = f.limits.MaxPages
	f.changed = make(chan struct{}, 1)
	for range f.e.o.Concurrency {
		t := new(flight)
		f.flights = append(f.flights, t)
		f.wg.Add(1)
		go f.fetcher(ctx, t)
	}
	f.wg.Add(1)
	go f.syncer(ctx)
}

// stop ends the fetchers: visits in flight are cut off and count as not made.
func (f *fetching) stop() {
	f.cancel()
	f.pages.close()
	f.gate.open(heldByAny)
	f.frontier.Close()
	f.wg.Wait()
}

// fail ends the run with an error that concerns more than one URL.
func (f *fetching) fail(err error) {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, frontier.ErrClosed) {
		return
	}
	f.failMu.Lock()
	if f.failed == nil {
		f.failed = err
	}
	f.failMu.Unlock()
	f.cancel()
	f.notify()
}

func (f *fetching) err() error {
	f.failMu.Lock()
	defer f.failMu.Unlock()
	return f.failed
}

// notify tells whoever waits that something changed.
func (f *fetching) notify() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// store appends an exchange to the open segment's WARC and adds its parse record.
func (f *fetching) store(x *exchange, s *scratch) (err error) {
	f.segMu.RLock()
	defer f.segMu.RUnlock()
	seg := f.seg
	t := f.e.clock.page()
	defer t.stop(stageParse)
	if x.resp != nil {
		var w warc.Written
		s.fields = append(s.fields[:0], warc.Field{Name: fieldTook, Value: strconv.FormatInt(x.took.Milliseconds(), 10)})
		if x.preferences != "" {
			s.fields = append(s.fields, warc.Field{Name: fieldPreferences, Value: strings.ReplaceAll(x.preferences, "\n", preferenceBreak)})
		}
		w, err = seg.warc.AppendExchange(warcExchange(x.url, x.resp, s.fields...))
		x.loc, x.digest = w.Response, w.PayloadSHA1
	} else {
		x.loc, err = seg.warc.WriteMetadata(x.url.String(), x.at, []warc.Field{{Name: fieldFailure, Value: string(x.failure)},
			{Name: fieldTookMS, Value: strconv.FormatInt(x.took.Milliseconds(), 10)}})
	}
	if err != nil {
		return fmt.Errorf("storing %s: %w", x.url, err)
	}
	t.lap(stageWARC)
	if err := seg.builder.add(x, s); err != nil {
		return fmt.Errorf("storing %s: %w", x.url, err)
	}
	o := s.outcome
	o.Outlinks = nil
	seg.pendingMu.Lock()
	seg.pending = append(seg.pending, storedPage{x.url, o})
	seg.keys = append(seg.keys, xxh3.Hash(s.key))
	seg.pendingMu.Unlock()
	return nil
}

// keep appends an exchange that is no page to the open segment's WARC.
func (f *fetching) keep(x *warc.Exchange) error {
	f.segMu.RLock()
	defer f.segMu.RUnlock()
	_, err := f.seg.warc.WriteExchange(x)
	return err
}

// syncer makes what was stored durable, in groups, and counts it.
func (f *fetching) syncer(ctx context.Context) {
	defer f.wg.Done()
	tick := time.NewTicker(syncInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		f.segMu.RLock()
		err := f.sync(f.seg)
		f.segMu.RUnlock()
		f.fail(err)
	}
}

// sync makes a segment's pages durable and counts them.
func (f *fetching) sync(seg *openSegment) error {
	seg.pendingMu.Lock()
	pages := seg.pending
	seg.pending = nil
	seg.pendingMu.Unlock()
	if len(pages) == 0 {
		return nil
	}
	if err := seg.warc.Sync(); err != nil {
		return fmt.Errorf("syncing the WARC of segment %d: %w", seg.number, err)
	}
	f.totalMu.Lock()
	for i := range pages {
		f.total.count(&pages[i].outcome)
	}
	f.totalMu.Unlock()
	if stored := f.e.o.Events.PageStored; stored != nil {
		for i := range pages {
			stored(pages[i].url, &pages[i].outcome)
		}
	}
	return nil
}

// counts returns what was fetched and synced so far.
func (f *fetching) counts() FetchReport {
	f.totalMu.Lock()
	defer f.totalMu.Unlock()
	r := f.total
	r.Failures = make(map[string]uint64, len(f.total.Failures))
	for k, v := range f.total.Failures {
		r.Failures[k] = v
	}
	return r
}

// finish syncs, closes and seals a segment that nobody stores into any more.
func (f *fetching) finish(ctx context.Context, seg *openSegment) (SealReport, error) {
	defer seg.builder.close()
	if err := f.sync(seg); err != nil {
		return SealReport{}, err
	}
	files, err := seg.warc.Close()
	if err != nil {
		return SealReport{}, fmt.Errorf("closing the WARC of segment %d: %w", seg.number, err)
	}
	if err := f.e.hosts.flush(); err != nil {
		return SealReport{}, err
	}
	return seg.builder.seal(ctx, append(seg.earlier, files...))
}
