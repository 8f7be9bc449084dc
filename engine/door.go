// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// The phases, one call each. A phase takes the locks that it needs, so most may be called at any time, also while a
// crawl runs; the others return ErrBusy then. What must not be done is to take a segment of that crawl through a phase:
// the crawl fails with ErrWrongState when it finds the segment in another state. Only Index may take any linked
// segment.

// Inject makes crawldb records of seeds. A seed line is a URL, then optional key=value pairs, each after a TAB; empty
// lines and lines that begin with '#' are skipped. Malformed lines are counted, the first ones are quoted in the
// report, and the others are injected. The seeds' hosts become part of the scope.
//
// A running crawl fetches what is injected; one that has begun to end leaves it to the next crawl. Inject is durable
// when it returns; for many single URLs Enqueue is cheaper.
func (e *Engine) Inject(ctx context.Context, o InjectOptions) (InjectReport, error) {
	leave, err := e.begin(ctx, "injecting", true)
	if err != nil {
		return InjectReport{}, err
	}
	defer leave()
	r, woken, err := e.w.inject(ctx, o)
	if c := e.crawl.Load(); c != nil && err == nil {
		c.gained(r.New, woken)
	}
	return r, err
}

// Generate chooses the due URLs with the best scores and writes them as the fetchlist of a new open segment. Hosts with
// nothing due cost nothing. URLs in the fetchlist of an unfinished segment are left out for a week (Nutch:
// crawl.gen.delay). What a wider scope or other filters permit by now is found before, unless it is a dry run.
//
// Errors: ErrNothingDue without a due URL, and ErrBusy while a crawl is running, which hands out the due URLs itself.
func (e *Engine) Generate(ctx context.Context, o GenerateOptions) (GenerateReport, error) {
	leave, err := e.begin(ctx, "generating", !o.DryRun)
	if err != nil {
		return GenerateReport{}, err
	}
	defer leave()
	if !o.DryRun {
		if _, _, err := e.w.readmit(ctx); err != nil {
			return GenerateReport{}, err
		}
	}
	return e.w.generate(ctx, o)
}

// Fetch fetches the fetchlist of an open segment and seals the segment, unless Options.ParseLater is set. A fetch that
// a crash ended continues where it stopped: what is in the segment's WARC is not fetched again.
//
// When ctx ends, Fetch stops cleanly and without an error: what was fetched is kept, and the segment stays open for the
// next Fetch of it; Seal gives up what is left. With Options.NoContent, or when a limit is reached, the segment is
// sealed, and what is left is due again after UpdateDB. Before the first request the end of ctx is an error, and the
// fetchlist stays as it is. It also stays when nothing of it could be requested.
//
// Errors: ErrBusy, ErrNoSegment, ErrWrongState, ErrNoContact, ErrDiskLow.
func (e *Engine) Fetch(ctx context.Context, o FetchOptions) (FetchReport, error) {
	leave, err := e.enterToWrite("fetching")
	if err != nil {
		return FetchReport{}, err
	}
	defer leave()
	if !e.running.TryLock() {
		return FetchReport{}, wrapf(ErrBusy, "fetching segment %d", o.Segment)
	}
	defer e.running.Unlock()
	defer e.w.takeMemory()()
	ctx, cancel := e.within(ctx)
	defer cancel()
	run := &oneFetch{
		started: e.w.now(), o: o, ctx: ctx, stop: cancel, stages: e.w.stages.times(e.w.store),
	}
	e.fetch.Store(run)
	defer e.fetch.Store(nil)
	return e.w.fetch(ctx, o, run.live.Store)
}

// Crawl fetches until nothing is due, a limit is reached or ctx ends. It runs every phase over many small segments:
// while one segment is being filled, the one before it is in updatedb, and earlier ones are on their way into the
// index.
//
// First it finishes what an earlier process left behind, injects the seeds, and fetches the fetchlists that Generate
// made. So a killed crawl continues when Crawl is called again.
//
// When ctx ends, the crawl stops cleanly: everything fetched so far is brought into crawldb, linkdb and index, and
// Crawl returns no error, with StopInterrupted in the report. CrawlOptions.Abort ends a crawl at once.
//
// Errors: ErrBusy, ErrNoContact, ErrDiskLow, those of disk and store, and after an abort the error of its context. The
// report counts what was done, with or without an error.
func (e *Engine) Crawl(ctx context.Context, o CrawlOptions) (CrawlReport, error) {
	leave, err := e.enterToWrite("crawling")
	if err != nil {
		return CrawlReport{}, err
	}
	defer leave()
	if !e.running.TryLock() {
		return CrawlReport{}, wrapf(ErrBusy, "crawling")
	}
	defer e.running.Unlock()
	defer e.w.takeMemory()()
	if err := o.validate(); err != nil {
		return CrawlReport{}, fmt.Errorf("crawling: %w", err)
	}
	ctx, cancel := e.within(ctx)
	defer cancel()
	e.w.setCrawling(true)
	defer e.w.setCrawling(false)
	c := newConductor(e.w, o)
	c.ctx, c.stop = ctx, cancel
	sending, cancel := e.within(c.abort)
	defer cancel()
	c.sending = sending
	samples, err := startSampler(c, &e.history)
	if err != nil {
		return CrawlReport{}, fmt.Errorf("crawling: %w", err)
	}
	e.w.storeEnded(&endedCrawl{Started: c.started})
	e.crawl.Store(c) // now that it will run: deletions that find it wait for its end
	defer e.crawl.Store(nil)
	err = c.run(ctx)
	c.calms.close()
	if n := c.tasks.close(); n > 0 {
		e.w.warn(fmt.Errorf("%d enqueued URLs were not injected, because the crawl ended early: enqueue them again", n))
	}
	switch {
	case err != nil && c.abort.Err() != nil:
		c.stopped = StopAborted
	case err != nil:
		c.stopped = StopFailed
	}
	c.failed = err
	final := c.progress(phaseDone)
	report := c.report(final.Cause)
	c.show(final)
	samples.end()
	last := newLast(c.started, e.w.now(), c.stopped, err, final)
	e.last.Store(last)
	e.w.storeEnded(&last.endedCrawl)
	if err != nil {
		return report, fmt.Errorf("crawling: %w%s", err, advice(err))
	}
	e.w.done(report)
	return report, nil
}

// Seal makes the parse records of a segment from its WARC and seals the segment: Nutch's parse. A sealed segment that
// is not updated yet can be sealed again, for example after a change of parsers.
//
// Errors: ErrNoSegment, ErrWrongState, ErrNoContent, and ErrBusy while a crawl or fetch, which writes that WARC, or
// other work that runs alone, is running.
func (e *Engine) Seal(ctx context.Context, segment uint32) (SealReport, error) {
	leave, err := e.begin(ctx, "parsing", true)
	if err != nil {
		return SealReport{}, err
	}
	defer leave()
	if !e.running.TryLock() {
		return SealReport{Segment: segment}, wrapf(ErrBusy, "parsing segment %d", segment)
	}
	defer e.running.Unlock()
	defer e.w.takeMemory()()
	return e.w.seal(ctx, segment)
}

// UpdateDB brings the outcomes and links of a sealed segment into crawldb. Links that the scope or a live filter
// refuses are withheld; the next UpdateDB, Generate or Crawl that finds them permitted brings them in.
//
// Errors: ErrNoSegment, ErrWrongState.
func (e *Engine) UpdateDB(ctx context.Context, segment uint32) (UpdateReport, error) {
	leave, err := e.begin(ctx, "updatedb", true)
	if err != nil {
		return UpdateReport{}, err
	}
	defer leave()
	r, _, err := e.w.updateDB(ctx, segment)
	return r, err
}

// InvertLinks inverts the outlinks of an updated segment: linkdb gains, for each target, the pages of this segment that
// link to it, with their anchor texts. It keeps all links, also those within a host and those that leave the scope.
//
// Errors: ErrNoSegment, ErrWrongState.
func (e *Engine) InvertLinks(ctx context.Context, segment uint32) (InvertReport, error) {
	leave, err := e.begin(ctx, "invertlinks", true)
	if err != nil {
		return InvertReport{}, err
	}
	defer leave()
	r, err := e.w.invertLinks(ctx, segment)
	if err != nil || !e.w.o.tidies() || !e.running.TryLock() { // the next call, or a crawl, does it
		return r, err
	}
	defer e.running.Unlock()
	marked, purged, err := e.w.tidy(ctx)
	if r.Purged = purged.Records; err != nil {
		return r, err
	}
	if purged.any() { // one sending is for both
		marked = purged
	}
	return r, e.w.sendRemoved(ctx, &marked)
}

// Dedup finds pages with equal signatures, keeps the best of each group and marks the others db_duplicate. These leave
// the index in the same ingestion. A duplicate that is now the best of its group, or alone, is restored. Which page is
// the best depends on crawldb only: see Options.DedupOrder. It also groups near-duplicates, see Options.NearDuplicates;
// that takes work in proportion to the pages that are new, gone or changed since. The next Index adds restored pages to
// the index, and tells index writers what left it.
//
// Errors: ErrNoSegment, before anything is done.
func (e *Engine) Dedup(ctx context.Context, o DedupOptions) (DedupReport, error) {
	leave, err := e.begin(ctx, "dedup", true)
	if err != nil {
		return DedupReport{}, err
	}
	defer leave()
	return e.w.dedup(ctx, o)
}

// Index makes documents of the pages of linked segments and writes them as one index segment. They are searchable when
// it returns. Then the index writers get what changed. When ctx ends after the segment is written, while index segments
// are merged or writers get what changed, the error is that of ctx or ErrNotSent, and the documents of the report are
// searchable all the same.
//
// Errors: ErrNoSegment, ErrWrongState, ErrNotSent.
func (e *Engine) Index(ctx context.Context, o IndexOptions) (IndexReport, error) {
	leave, err := e.begin(ctx, "index", true)
	if err != nil {
		return IndexReport{}, err
	}
	defer leave()
	if err := o.validate(); err != nil {
		return IndexReport{}, fmt.Errorf("index: %w", err)
	}
	if o.MergeOnly {
		return e.w.mergeOnly(ctx, o.MaxSegments)
	}
	r, err := e.w.buildIndex(ctx, o)
	if err != nil {
		return r, err
	}
	r.Writers, err = e.w.sendAll(ctx, nil, sendOptions{resend: o.Resend})
	return r, err
}

// Recrawl makes URLs due now, whatever their status and schedule. They keep score, depth, interval and content until
// they are fetched. A target is a URL; a prefix that ends with "*", such as https://example.org/docs/*; or a host, such
// as example.org, with all its URLs. A running crawl fetches them, also those that it has just fetched.
func (e *Engine) Recrawl(ctx context.Context, targets ...string) (RecrawlReport, error) {
	leave, err := e.begin(ctx, "recrawl", true)
	if err != nil {
		return RecrawlReport{}, err
	}
	defer leave()
	r, woken, err := e.w.recrawl(ctx, targets)
	if c := e.crawl.Load(); c != nil && err == nil {
		c.gained(0, woken)
	}
	return r, err
}

// Delete removes URLs from crawldb, linkdb (links to them and from them), signatures, parse records, captures,
// fetchlists and index: nothing that is stored leads to them again. Targets are as in Recrawl. All of it is one
// ingestion: after a crash it is done or not begun. Then pages that were duplicates of deleted ones are restored, and
// documents lose the anchors of deleted pages; if that is cut short, the end of the next crawl does it.
//
// What it does not do: responses stay in the WARC files until Purge, so Rebuild and Repair find them again. A page that
// is fetched later and links to a deleted URL makes it known again, as does its seed; a filter keeps it out. Its host
// stays in scope, and depths and scores that other pages have by it stay.
//
// Beside a running crawl it cuts off requests for the targets, has everything that was fetched brought into crawldb and
// linkdb, deletes, and lets fetchers go on, which wait meanwhile. A crawl that prepares, fetches a fetchlist or is
// about to end is waited for. Callbacks of a crawl must not call it.
//
// Errors: ErrBusy while work that runs alone, other than a crawl, is running, and ErrWrongState while a segment is
// fetched and not linked yet: see Recover. ErrNotSent of index writers.
func (e *Engine) Delete(ctx context.Context, targets ...string) (DeleteReport, error) {
	leave, err := e.begin(ctx, "delete", true)
	if err != nil {
		return DeleteReport{}, err
	}
	defer leave()
	return e.deleteBeside(ctx, targets)
}

// deleteBeside deletes, beside the running crawl if there is one. When the crawl is about to end, it waits for that.
func (e *Engine) deleteBeside(ctx context.Context, targets []string) (DeleteReport, error) {
	for busy := 0; ; {
		if e.running.TryLock() {
			defer e.running.Unlock()
			return e.w.deleteTargets(ctx, targets, nil)
		}
		if c := e.crawl.Load(); c != nil {
			busy = 0
			r, err := e.w.deleteTargets(ctx, targets, c.calms.wait)
			if !errors.Is(err, errNotCalm) {
				c.indexed.Add(-int64(r.Documents))
				return r, err
			}
		} else if busy++; busy > 20 { // a crawl that begins or ends is not seen for a moment
			return DeleteReport{}, wrapf(ErrBusy, "deleting")
		}
		select {
		case <-ctx.Done():
			return DeleteReport{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Purge removes what is no longer referenced, in segments that every phase is done with: parse records of versions that
// a later fetch replaced, with their links in linkdb and the anchors that only these had; WARC files of which no record
// is needed; from other WARC files the records of deleted pages, by writing the files again without them; documents
// whose URLs a live filter denies; and from the index the words of deleted documents. Versions that were replaced stay
// in the WARC files that are needed for others, but their links are forgotten: should the depth of their page fall,
// they pass nothing on. What robots.txt said stays, and so do deleted keys in the store's files until these are
// compacted.
//
// Each WARC file is one ingestion, and the old file is removed after it: after a crash, the next Purge does what is
// left.
//
// Beside a running crawl it does the same: what the crawl has not linked yet is not looked at, and WARC files that
// segments share with it wait for the next Purge. The crawl goes on in another file then. While files are written
// again, the crawl's updates of crawldb wait, and fetchers when the backlog is full; searches never.
//
// Errors: ErrBusy while work that runs alone, other than a crawl, is running; ErrNotSent is of index writers.
func (e *Engine) Purge(ctx context.Context) (PurgeReport, error) {
	leave, err := e.begin(ctx, "purging", true)
	if err != nil {
		return PurgeReport{}, err
	}
	defer leave()
	for busy := 0; ; busy++ {
		if e.running.TryLock() {
			defer e.running.Unlock()
			return e.w.purge(ctx)
		}
		if c := e.crawl.Load(); c != nil {
			r, err := e.w.purge(ctx)
			c.indexed.Add(-int64(r.Documents))
			return r, err
		}
		if busy > 20 { // a crawl that begins or ends is not seen for a moment
			return PurgeReport{}, wrapf(ErrBusy, "purging")
		}
		select {
		case <-ctx.Done():
			return PurgeReport{}, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Recover finishes what an earlier process left behind: it seals open segments and runs every phase that is due. Crawl
// does this first. Fetchlists that nobody has begun to fetch stay as they are. While a crawl, or other work that
// runs alone, is running, the error is ErrBusy.
func (e *Engine) Recover(ctx context.Context) error {
	leave, err := e.begin(ctx, "recovering", true)
	if err != nil {
		return err
	}
	defer leave()
	if !e.running.TryLock() {
		return wrapf(ErrBusy, "recovering")
	}
	defer e.running.Unlock()
	defer e.w.takeMemory()()
	return e.w.settle(ctx, &hooks{})
}

// UnparsedSegments returns the numbers of the segments that Fetch left to be parsed later, oldest first: see
// Options.ParseLater. Segments that a fetch or crawl did not finish are among them.
func (i *Inspector) UnparsedSegments() ([]uint32, error) {
	leave, err := i.g.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	return i.w.inState(storage.SegmentOpen)
}

// DueSegments returns the numbers of the segments in a state, oldest first; of open ones those of whose fetchlist
// something is left that can be fetched now. Without one the error is ErrNoSegment, and its message says which command
// comes first, or that a crawl is running.
func (i *Inspector) DueSegments(state storage.SegmentState) ([]uint32, error) {
	leave, err := i.g.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	return i.w.dueSegments(state)
}

// NewestSegment returns the number of the newest segment in a state, also of an open one without a fetchlist. Without
// one the error is that of DueSegments.
func (i *Inspector) NewestSegment(state storage.SegmentState) (uint32, error) {
	leave, err := i.g.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	list, err := i.w.store.SegmentList()
	if err != nil {
		return 0, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].State == state {
			return list[i].Number, nil
		}
	}
	_, err = i.w.dueSegments(state)
	return 0, err
}

// IndexDigest returns a hash of all documents with their terms and positions. Equal documents give equal hashes,
// however they came into the index, so crawls can be compared. It reads the whole index.
func (i *Inspector) IndexDigest(ctx context.Context) (uint64, error) {
	leave, err := i.g.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	return i.w.index.Digest(ctx)
}

// IndexStats returns the counts of the index as of the last Index or Dedup.
func (i *Inspector) IndexStats() (index.Stats, error) {
	leave, err := i.g.enter()
	if err != nil {
		return index.Stats{}, err
	}
	defer leave()
	return i.w.index.Stats(), nil
}

// Documents calls fn with every document of the index, in the order of keys, as an IndexWriter gets it; the version is
// the time now. It reads beside crawls and searches. An error of fn ends it and is returned.
func (i *Inspector) Documents(ctx context.Context, fn func(*policy.IndexChange) error) error {
	leave, err := i.g.enter()
	if err != nil {
		return err
	}
	defer leave()
	inner, cancel := i.g.within(ctx)
	defer cancel()
	return i.g.ended(ctx, i.w.eachDocument(inner, fn))
}
