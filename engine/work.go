// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// work runs the phases: it is where the rooms meet. Around each phase it takes the locks, measures processor time,
// reports to the listener, and makes what was indexed searchable. It knows neither the conductor nor the Engine.
type work struct {
	o         Options
	store     *storage.Store
	warcFS    warc.FS
	index     *index.Index
	admission *admission.Admission
	segments  *segment.Segments
	phases    *phases.Phases
	inspect   *inspect.Inspect
	stages    stageClock
	net       network
	pages     deliveries
	live      settings
	busy      processors
	places    places
	crawlLog  *crawlLog // nil: Options name none
	answers   *Answers
	near      nearGroups
	looks     titleLooks
	// giveWay is called by phases where they sort and join: see index.Pace.
	giveWay func(worked time.Duration)
	// answering has them give way until the function that it returns is called: see index.Index.Answering.
	answering func() (end func())
	idle      atomic.Bool  // searches have the memory of a crawl
	unfit     atomic.Int64 // documents that the index refused

	// again says how to seal a segment that a lost store had sealed; nil: it was never sealed. Repair and Rebuild set
	// it.
	again *segment.Again

	// crawldbMu is held by the phases that read and write crawldb; indexMu by those that write the index: it is
	// index.Writing, which merges beside a crawl take for short steps. Order: crawldbMu before indexMu; see locks.go
	// for who has both.
	crawldbMu crawldbLock
	indexMu   *sync.Mutex
	sendMu    sync.Mutex // one goroutine at a time calls the index writers; no other lock is taken after it
	// blockMu is held while hosts are blocked, or no longer: the store and memory change in the same order.
	blockMu sync.Mutex
	// crawling says that a crawl hands out what is due, so Generate must not. It changes under crawldbMu.
	crawling atomic.Bool
}

// setCrawling notes that a crawl begins or has ended. It waits for a Generate under way, whose fetchlist the crawl then
// finds.
func (w *work) setCrawling(on bool) {
	w.crawldbMu.Lock()
	defer w.crawldbMu.Unlock()
	w.crawling.Store(on)
}

// setIdle gives searches the memory of a crawl, or takes it back.
func (w *work) setIdle(idle bool) {
	s := w.o.shares()
	limit, held := s.answers, int64(0)
	if idle {
		limit, held = s.idleAnswers, s.held
	}
	w.store.SetIdle(idle)
	w.answers.resize(limit)
	w.index.Hold(held)
	w.idle.Store(idle)
}

// takeMemory takes the memory of a crawl from searches. Whoever calls it holds Engine.running, and calls giveBack
// before that ends.
func (w *work) takeMemory() (giveBack func()) {
	w.setIdle(false)
	return func() { w.setIdle(true) }
}

// prefer makes room for a search beside a crawl, where that is wanted.
func (w *work) prefer() {
	if w.o.PreferSearches && !w.idle.Load() {
		w.places.searched()
	}
}

// settings are those that may change while a crawl runs. Whoever changes one holds mu until the running fetchers have
// it too, and whoever starts fetchers holds mu until they can be found: so no change is lost in between.
type settings struct {
	mu       sync.Mutex
	delay    atomic.Int64 // time.Duration
	fetchers atomic.Int64
	paused   atomic.Bool

	held    atomic.Int64 // bytes of parse records that are not searchable yet; set by who conducts a run of fetchers
	storing atomic.Bool  // these are stored while fetchers wait: a crawl runs
}

func (w *work) now() time.Time { return w.o.Now() }

func (w *work) warcDir() string { return w.o.warcDir() }

// sorter returns a sorter with a phase's share of memory.
func (w *work) sorter(combine func(dst, a, b []byte) []byte) *storage.Sorter {
	return w.sorterOf(w.o.shares().sorter)(combine)
}

// sorterOf returns a function that makes sorters of a size in bytes.
func (w *work) sorterOf(bytes int64) func(combine func(dst, a, b []byte) []byte) *storage.Sorter {
	return func(combine func(dst, a, b []byte) []byte) *storage.Sorter {
		return storage.NewSorter(storage.SorterOptions{
			Dir: w.store.SortDir(), FS: w.o.FS, MemoryBytes: bytes, Combine: combine,
			GiveWay: w.giveWay,
		})
	}
}

// network opens the network at its first call and returns it.
func (w *work) network() (*network, error) {
	w.net.once.Do(func() {
		if w.net.first, w.net.err = w.store.NextSegmentNumber(); w.net.err != nil {
			return
		}
		page := w.pages.callback(w.o.OnPage, cmp.Or(w.o.PageWorkers, w.o.Processors), w.o.shares().pages)
		w.net.err = w.net.open(&w.o, visit.Env{
			Store: w.store, Admission: w.admission, Now: w.o.Now, DiskFree: w.diskFree,
			Delay:         func() time.Duration { return time.Duration(w.live.delay.Load()) },
			MaxCrawlDelay: max(w.o.MaxCrawlDelay, 0),
			Slots:         w.o.shares().slots, FactsBytes: w.o.shares().facts, GiveWay: w.index.NewPace().Worked,
			Refills: max(refillsLeast, w.o.Processors),
			Busy:    func() func() { return w.stages.time(stageRefill) },
			Warn:    w.warn, Stored: w.o.Events.PageStored, Page: page,
		})
	})
	return &w.net, w.net.err
}

// requireContactDue is network.requireContact for the hosts that have something due.
func (w *work) requireContactDue(ctx context.Context) error {
	return w.net.requireContact(ctx, &w.o, func(each func(urlkey.HostKey) error) error {
		return w.phases.DueHosts(ctx, w.store, "", w.now().UnixMilli(), 0, each)
	})
}

// inState returns the numbers of the segments in a state, oldest first. A fetchlist that nobody has begun to fetch
// does not count as an open segment.
func (w *work) inState(state storage.SegmentState) ([]uint32, error) {
	list, err := w.store.SegmentList()
	if err != nil {
		return nil, err
	}
	var numbers []uint32
	for _, s := range list {
		if s.State != state {
			continue
		}
		waits, err := w.waitsForFetch(s)
		if err != nil {
			return nil, err
		}
		if !waits {
			numbers = append(numbers, s.Number)
		}
	}
	return numbers, nil
}

// waitsForFetch reports whether a segment is a fetchlist that nobody has begun to fetch.
func (w *work) waitsForFetch(s storage.Segment) (bool, error) {
	if s.State != storage.SegmentOpen || !s.Batch {
		return false, nil
	}
	files, err := w.segments.Files(s.Number)
	return len(files) == 0, err
}

func (w *work) warn(err error) {
	if err != nil && w.o.Events.Warning != nil {
		w.o.Events.Warning(err)
	}
}

// refusedNamed is how many documents that the index refused are named in warnings.
const refusedNamed = 20

// leftOut warns of a document that the index refused.
func (w *work) leftOut(err error) {
	switch n := w.unfit.Add(1); {
	case n < refusedNamed:
		w.warn(fmt.Errorf("%w: it is left out", err))
	case n == refusedNamed:
		w.warn(fmt.Errorf("%w: it is left out, like %d before it: further ones are not named", err, refusedNamed-1))
	}
}

// done reports to the listener that a phase ended.
func (w *work) done(r Report) {
	if w.o.Events.PhaseDone != nil {
		w.o.Events.PhaseDone(r)
	}
}

// reached reports to the listener that a segment reached a state.
func (w *work) reached(number uint32, state storage.SegmentState) {
	if w.o.Events.SegmentState != nil {
		w.o.Events.SegmentState(number, state)
	}
}

// took returns the time since start.
func (w *work) took(start time.Time) Duration { return Duration(w.now().Sub(start)) }

func (w *work) inject(ctx context.Context, o InjectOptions) (InjectReport, []urlkey.HostKey, error) {
	start := w.now()
	defer w.stages.time(stageInject)()
	sources, closeAll, err := o.gather(ctx, w.store)
	if err != nil {
		return InjectReport{}, nil, fmt.Errorf("injecting: %w", err)
	}
	defer closeAll()
	w.crawldbMu.Lock()
	defer w.crawldbMu.Unlock()
	in, err := w.phases.Inject(ctx, phases.InjectOptions{
		URLs: o.URLs, Sources: sources, Overwrite: o.Overwrite, Update: o.Update,
	})
	r := injectReport(in)
	if err != nil {
		return r, nil, err
	}
	r.Took = w.took(start)
	w.done(r)
	return r, in.Woken, nil
}

// seal makes the parse records of a segment from its WARC and seals it.
func (w *work) seal(ctx context.Context, number uint32) (SealReport, error) {
	start := w.now()
	seg, err := phases.SegmentIn(w.store, number, "parse", storage.SegmentOpen, storage.SegmentSealed)
	if err != nil {
		return SealReport{Segment: number}, err
	}
	sealed, err := w.segments.SealAgain(ctx, seg, w.again)
	if errors.Is(err, storage.ErrTransition) { // updatedb was quicker
		err = phases.WithText(ErrWrongState, "parse: %v", err)
	}
	return w.sealed(sealed, start, err)
}

// sealed makes the report of a segment that was sealed, or not if err is set.
func (w *work) sealed(s segment.Sealed, start time.Time, err error) (SealReport, error) {
	r := SealReport{
		Segment: s.Segment, Pages: s.Pages, Links: s.Links, Bytes: s.Bytes, Torn: s.Torn, Took: w.took(start),
	}
	if err != nil {
		return r, err
	}
	w.reached(s.Segment, storage.SegmentSealed)
	w.done(r)
	return r, nil
}

// updateDB also returns the hosts that have something due by it.
func (w *work) updateDB(ctx context.Context, number uint32) (UpdateReport, []urlkey.HostKey, error) {
	start := w.now()
	defer w.stages.time(stageUpdateDB)()
	w.crawldbMu.Lock()
	defer w.crawldbMu.Unlock()
	u, err := w.phases.UpdateDB(ctx, number)
	r := updateReport(number, u)
	if err != nil {
		return r, u.Woken, err
	}
	r.Took = w.took(start)
	w.reached(number, storage.SegmentUpdated)
	w.done(r)
	return r, u.Woken, nil
}

// readmit brings withheld links that are permitted now, and depths that fell, into crawldb. It returns the hosts that
// have something due by it, and the number of new URLs.
func (w *work) readmit(ctx context.Context) ([]urlkey.HostKey, uint64, error) {
	if unsettled, err := w.phases.Unsettled(); err != nil || !unsettled {
		return nil, 0, err
	}
	defer w.stages.time(stageUpdateDB)()
	w.crawldbMu.Lock()
	defer w.crawldbMu.Unlock()
	r, err := w.phases.Readmit(ctx)
	return r.Woken, r.New, err
}

func (w *work) invertLinks(ctx context.Context, number uint32) (InvertReport, error) {
	start := w.now()
	defer w.stages.time(stageInvertLinks)()
	w.crawldbMu.memory.Lock()
	defer w.crawldbMu.memory.Unlock()
	in, err := w.phases.InvertLinks(ctx, number)
	r := InvertReport{Segment: number, Targets: in.Targets, Inlinks: in.Inlinks}
	if err != nil {
		return r, err
	}
	w.crawlLog.hasLinks()
	r.Took = w.took(start)
	w.reached(number, storage.SegmentLinked)
	w.done(r)
	return r, nil
}

// mergeLinks takes dropped links out of linkdb, and merges rows of targets, of most rows (0: of all).
func (w *work) mergeLinks(ctx context.Context, most int) (phases.LinksMerged, error) {
	defer w.stages.time(stageInvertLinks)()
	w.crawldbMu.Lock()
	defer w.crawldbMu.Unlock()
	return w.phases.MergeLinks(ctx, most, nil)
}

// mergeAllLinks is mergeLinks of the rows from the place where it stands to the end of linkdb, a part at a time:
// segments come into crawldb between them.
func (w *work) mergeAllLinks(ctx context.Context) error {
	for {
		r, err := w.mergeLinks(ctx, linkRowsSettled)
		if err != nil || r.Ended {
			return err
		}
	}
}

func (w *work) dedup(ctx context.Context, o DedupOptions) (DedupReport, error) {
	start := w.now()
	defer w.stages.time(stageDedup)()
	lockAll(&w.crawldbMu.crawldb, w.indexMu)
	defer w.crawldbMu.crawldb.Unlock()
	defer w.indexMu.Unlock()
	if o.Order == "" {
		o.Order = w.o.DedupOrder
	}
	order, err := phases.ParseDedupOrder(o.Order)
	if err != nil {
		return DedupReport{}, fmt.Errorf("dedup: order %q: %w", o.Order, err)
	}
	d, err := w.phases.Dedup(ctx, phases.DedupOptions{
		Segments: o.Segments, Signatures: o.signatures, Order: order, Restored: o.restored,
		MarkNear: w.o.NearDuplicates == nearMark,
	})
	r := dedupReport(d)
	if d.Near > 0 {
		w.near.forget()
	}
	if err == nil && d.Deleted > 0 {
		err = wrapf(w.index.Refresh(), "dedup")
	}
	if err != nil {
		return r, err
	}
	r.Took = w.took(start)
	w.done(r)
	return r, nil
}

// buildIndex makes documents of pages, makes them searchable, and merges what is to be merged.
func (w *work) buildIndex(ctx context.Context, o IndexOptions) (IndexReport, error) {
	if o.Refresh { // documents lose the anchors that pages dropped
		if _, err := w.mergeLinks(ctx, linkRowsSettled); err != nil {
			return IndexReport{}, err
		}
	}
	return w.buildMerged(ctx, o, func(ctx context.Context) (index.MergeReport, error) {
		if o.MaxSegments > 0 {
			return w.index.MergeTo(ctx, o.MaxSegments)
		}
		return w.index.Merge(ctx)
	})
}

// settleIndex is buildIndex with Refresh at the end of a crawl, after mergeLinks. It merges no index segments but those
// with much that is deleted: nobody is to wait for what the next crawl, `seine serve` and `seine index` do beside other
// work. At 200,000 pages that was 5.5 s of 70.
func (w *work) settleIndex(ctx context.Context) (IndexReport, error) {
	return w.buildMerged(ctx, IndexOptions{Refresh: true}, w.index.Reclaim)
}

func (w *work) buildMerged(ctx context.Context, o IndexOptions, merge indexMerge) (IndexReport, error) {
	r, err := w.buildUnmerged(ctx, o)
	if err == nil {
		r.Merged, err = w.mergeIndex(ctx, merge)
	}
	return r, err
}

func (w *work) buildUnmerged(ctx context.Context, o IndexOptions) (IndexReport, error) {
	start := w.now()
	w.indexMu.Lock()
	defer w.indexMu.Unlock()
	if o.Segments == nil {
		var err error
		if o.Segments, err = w.inState(storage.SegmentLinked); err != nil {
			return IndexReport{}, err
		}
	}
	return w.indexSegments(ctx, o, start)
}

// indexLinked is buildUnmerged for those of some segments that are still linked. Others were indexed meanwhile by a
// call of Engine.Index, which takes every linked segment.
func (w *work) indexLinked(ctx context.Context, segments []uint32) (IndexReport, error) {
	start := w.now()
	w.indexMu.Lock()
	defer w.indexMu.Unlock()
	linked, err := w.inState(storage.SegmentLinked)
	if err != nil {
		return IndexReport{}, err
	}
	still := []uint32{}
	for _, number := range segments {
		if slices.Contains(linked, number) {
			still = append(still, number)
		}
	}
	return w.indexSegments(ctx, IndexOptions{Segments: still}, start)
}

// indexSegments indexes o.Segments for a call that began at start. indexMu is held.
func (w *work) indexSegments(ctx context.Context, o IndexOptions, start time.Time) (IndexReport, error) {
	defer w.stages.time(stageIndex)()
	files, err := shareFiles(openFiles())
	if err != nil {
		return IndexReport{}, err
	}
	x := indexing{
		walked: files.walks / 2, // texts and outcomes
		store:  w.store, index: w.index, filters: w.o.IndexFilters, denied: w.admission.Denied, leftOut: w.leftOut,
		clock: &w.stages, looks: &w.looks, inlinks: w.o.MaxInlinks, keys: o.keys,
		report: IndexReport{Segments: o.Segments}, refresh: o.Refresh,
		sorter: w.sorter, builders: min(w.o.Processors, indexBuilders),
	}
	if x.ranked, err = isRanked(w.store); err != nil {
		return x.report, err
	}
	if x.keys == nil {
		x.keys = w.sorter(storage.FoldLast)
	}
	defer func() { x.keys.Close() }()                            // those that reanchor left
	if len(w.o.LiveFilters) == 0 && len(w.o.IndexFilters) == 0 { // these may change at any time
		x.mark = binary.AppendUvarint([]byte{refreshVersion}, uint64(w.o.MaxInlinks))
		x.mark = strconv.AppendBool(x.mark, x.ranked)
		x.mark = append(x.mark, urlkey.SuffixList()...) // tells the domains of links apart, of which boosts are made
	}
	if err := x.run(ctx, o); err != nil {
		return x.report, fmt.Errorf("indexing: %w", err)
	}
	x.report.Took = w.took(start)
	for _, number := range o.Segments {
		w.reached(number, storage.SegmentIndexed)
	}
	w.done(x.report)
	return x.report, nil
}

// close closes what was opened: the network first, because it writes to the store, the store last.
func (w *work) close() error {
	w.places.close()
	return errors.Join(w.net.close(), w.crawlLog.close(), w.index.Close(), w.store.Close())
}

// deletes takes documents out of the index for dedup.
type deletes struct{ b *index.Builder }

func (d deletes) Delete(key urlkey.Key) error { return d.b.Delete(key) }
func (d deletes) Abort()                      { d.b.Abort() }
func (d deletes) Finish() (uint64, error) {
	r, err := d.b.Finish()
	return uint64(r.Deleted), err
}

// mergeOnly merges the smallest index segments until there are at most so many, 0 for servedSegments, if the disk has
// room for them twice.
func (w *work) mergeOnly(ctx context.Context, most int) (r IndexReport, err error) {
	defer w.stages.time(stageIndex)()
	start := w.now()
	if room, err := w.hasRoomTwice(); err != nil || !room {
		return r, err
	}
	merged, err := w.index.MergeSmallest(ctx, cmp.Or(most, servedSegments))
	r.Merged, r.Took = merged.Merged, w.took(start)
	return r, wrapf(err, "merging index segments")
}

// diskFree returns the space of the file system of the store or of the WARC files, of which others may have made two:
// of that which holds a crawl up first.
func (w *work) diskFree() (visit.Disk, error) {
	free, total, err := w.store.DiskFree("")
	disk := visit.Disk{
		Dir: w.o.Dir, Free: free, Total: total,
		Pending: storedTimes * uint64(w.live.held.Load()), Storing: w.live.storing.Load(),
	}
	free, total, warcErr := w.store.DiskFree(w.warcDir())
	warc := visit.Disk{Dir: w.warcDir(), Free: free, Total: total}
	room := func(d visit.Disk) int64 { return int64(d.Free - d.Low()) }
	if warcErr == nil && (err != nil || room(warc) < room(disk)) {
		return warc, nil
	}
	return disk, err
}

// hasRoomTwice reports whether the disk has room for the store's tables once more; true where that is not known.
func (w *work) hasRoomTwice() (bool, error) {
	c, err := w.store.Counters()
	if err != nil {
		return false, err
	}
	free, total, err := w.store.DiskFree("")
	return err != nil || roomTwice(free, total, c.TableBytes), nil
}

// roomTwice reports whether a disk with so many bytes, some of them free, has room for tables once more, and for a
// crawl to go on. total 0 means that it is not known.
func roomTwice(free, total, tables uint64) bool {
	return total == 0 || free >= visit.Disk{Total: total}.Enough()+tables
}

// indexMerge merges index segments, by some rule.
type indexMerge func(context.Context) (index.MergeReport, error)

// mergeAll merges what index.Index.Merge does.
func (w *work) mergeAll(ctx context.Context) error {
	_, err := w.mergeIndex(ctx, w.index.Merge)
	return err
}

// mergeIndex merges index segments and returns how many were replaced.
func (w *work) mergeIndex(ctx context.Context, merge indexMerge) (int, error) {
	defer w.stages.time(stageIndex)()
	r, err := merge(ctx)
	return r.Merged, wrapf(err, "merging index segments")
}
