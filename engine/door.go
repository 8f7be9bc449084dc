// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// The phases, one at a time. Each takes its locks, so they may be called from anywhere, also beside a crawl, but
// for those that need a segment in a state that the crawl takes it through.

// Inject makes records of seeds. A seed line is a URL, then optional TAB-separated key=value pairs; empty lines and
// lines that begin with '#' are skipped. Malformed lines are counted and quoted in the report, and the rest is
// injected. The seeds' hosts become part of the scope.
//
// While a crawl runs, what is injected is fetched by it. Inject is durable when it returns; for many single URLs
// Enqueue is cheaper.
func (e *Engine) Inject(ctx context.Context, o InjectOptions) (InjectReport, error) {
	leave, err := e.enter()
	if err != nil {
		return InjectReport{}, err
	}
	defer leave()
	r, woken, err := e.w.inject(ctx, o)
	if c := e.crawl.Load(); c != nil && err == nil {
		c.injected(r, woken)
	}
	return r, err
}

// Generate chooses the due URLs with the best scores and writes them as the fetchlist of a new open segment. Hosts with
// nothing due are skipped by a look at hostdb, so the cost is that of the hosts with work. URLs in the fetchlist of
// an unfinished segment are left out for a week (Nutch: crawl.gen.delay). Without a due URL the error is
// ErrNothingDue.
func (e *Engine) Generate(ctx context.Context, o GenerateOptions) (GenerateReport, error) {
	leave, err := e.enter()
	if err != nil {
		return GenerateReport{}, err
	}
	defer leave()
	if _, _, err := e.w.readmit(ctx); err != nil {
		return GenerateReport{}, err
	}
	return e.w.generate(ctx, o)
}

// Fetch fetches the fetchlist of an open segment and seals it. A fetch that was cut short goes on where it stopped:
// what is in the segment's WARC is not fetched again. When ctx is canceled, Fetch stops cleanly: what was fetched
// is sealed, the rest stays due, and there is no error.
//
// Errors: ErrBusy, ErrNoSegment, ErrWrongState, ErrNoContact, ErrDiskLow.
func (e *Engine) Fetch(ctx context.Context, o FetchOptions) (FetchReport, error) {
	leave, err := e.enter()
	if err != nil {
		return FetchReport{}, err
	}
	defer leave()
	if !e.running.TryLock() {
		return FetchReport{}, wrapf(ErrBusy, "fetching segment %d", o.Segment)
	}
	defer e.running.Unlock()
	ctx, cancel := e.within(ctx)
	defer cancel()
	return e.w.fetch(ctx, o)
}

// Seal makes the parse records of a segment from its WARC and seals it: Nutch's parse. It runs again on a sealed
// segment that was not updated yet, after a change of parser for example.
func (e *Engine) Seal(ctx context.Context, segment uint32) (SealReport, error) {
	leave, err := e.enter()
	if err != nil {
		return SealReport{}, err
	}
	defer leave()
	return e.w.seal(ctx, segment)
}

// UpdateDB brings the outcomes and links of a sealed segment into crawldb. Links that a filter or the scope refuses
// for now are withheld, and brought in by the phase that finds them permitted.
func (e *Engine) UpdateDB(ctx context.Context, segment uint32) (UpdateReport, error) {
	leave, err := e.enter()
	if err != nil {
		return UpdateReport{}, err
	}
	defer leave()
	r, _, err := e.w.updateDB(ctx, segment)
	return r, err
}

// InvertLinks turns the outlinks of an updated segment round: linkdb gains, for each target, the list of this
// segment's pages that link to it with their anchor texts. All links are kept, those within a host and those that
// leave the scope too.
func (e *Engine) InvertLinks(ctx context.Context, segment uint32) (InvertReport, error) {
	leave, err := e.enter()
	if err != nil {
		return InvertReport{}, err
	}
	defer leave()
	return e.w.invertLinks(ctx, segment)
}

// Dedup finds pages with equal signatures, keeps the best of each group and makes the others db_duplicate; those
// leave the index in the same ingestion. A page that was a duplicate and is now the best of its group, or alone, is
// restored. The best is a function of crawldb alone: see DedupOptions.Order.
func (e *Engine) Dedup(ctx context.Context, o DedupOptions) (DedupReport, error) {
	leave, err := e.enter()
	if err != nil {
		return DedupReport{}, err
	}
	defer leave()
	return e.w.dedup(ctx, o)
}

// Index makes documents of the pages of linked segments and writes one index segment, which is searchable when it
// returns.
func (e *Engine) Index(ctx context.Context, o IndexOptions) (IndexReport, error) {
	leave, err := e.enter()
	if err != nil {
		return IndexReport{}, err
	}
	defer leave()
	return e.w.buildIndex(ctx, o)
}

// Recover finishes what an earlier process left behind: it seals open segments and runs every phase that is due.
// Crawl does so by itself. Fetchlists that nobody has begun to fetch are left alone.
func (e *Engine) Recover(ctx context.Context) error {
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	return e.w.settle(ctx)
}

// NewestSegment returns the number of the newest segment in a state, or ErrNoSegment with a message that says which
// phase makes such a segment.
func (e *Engine) NewestSegment(state storage.SegmentState) (uint32, error) {
	leave, err := e.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	return newestSegment(e.w.store, state)
}

// IndexDigest is a hash of all documents, their terms and positions, equal for equal documents whatever the way
// there: for comparing crawls.
func (e *Engine) IndexDigest(ctx context.Context) (uint64, error) {
	leave, err := e.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	return e.w.index.Digest(ctx)
}

// IndexStats returns the numbers of the index.
func (e *Engine) IndexStats() (index.Stats, error) {
	leave, err := e.enter()
	if err != nil {
		return index.Stats{}, err
	}
	defer leave()
	return e.w.index.Stats(), nil
}
