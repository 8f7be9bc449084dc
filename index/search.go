// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"math"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// SearchOptions bound a search.
type SearchOptions struct {
	Limit    int           // hits returned, each with up to 52 KiB of what it shows; 0 means 10
	Offset   int           // hits skipped, from the best; Offset and Limit together are cut to 10,000
	Deadline time.Duration // time after which the search ends with what it has; 0 means 200 ms
	Strict   bool          // parse with ParseStrict, whose *QueryError the search then returns, and relax nothing
	// TotalAtLeast is a number of matches at which counting may stop: Result.Total is then a lower bound, and a search
	// for common words is faster. 0 counts all.
	TotalAtLeast int
}

// Hit is one document found, with what Document.Stored, Date, ShowTitle and ShowText say there; zero values where the
// document has no such thing.
type Hit struct {
	Key   urlkey.Key
	Score float64 // with the document's boost; finite, 0 where no word of the query scores, as with site: alone

	Stored              []storage.Field
	Date                time.Time // UTC
	ShowTitle, ShowText string    // "": show the page's own; ShowText is unescaped text for Snippet
}

// Result is what a search found.
type Result struct {
	Total   int   // all matches, of which Hits are a page; with Partial those counted until the deadline
	Hits    []Hit // by falling score, equal scores by key
	Query   Query // as it was understood, for Snippet
	Partial bool  // the deadline ended the search
	Relaxed bool  // nothing had all quotes and words with +: these hits have some. Query is without the requirement
	// AtLeast says that there may be more matches than Total: SearchOptions.TotalAtLeast or the deadline ended the
	// counting.
	AtLeast bool
}

// Search runs a query on the index as of the last Refresh. Any text is a query, unless SearchOptions.Strict; see Query.
// If nothing has what quotes and + require, it searches again with these as preferences; see Result.Relaxed. It waits
// for no Refresh. A canceled context ends it with the context's error.
func (x *Index) Search(ctx context.Context, text string, o SearchOptions) (_ Result, err error) {
	st, err := x.acquire()
	if err != nil {
		return Result{}, err
	}
	defer x.releaseAfter(st, &err)
	x.searching.Add(1)
	defer x.searching.Add(-1)
	if o.Limit <= 0 {
		o.Limit = 10
	}
	if o.Deadline == 0 {
		o.Deadline = defaultDeadline
	}
	o.Offset = min(max(o.Offset, 0), maxHits)
	o.Limit = min(o.Limit, maxHits-o.Offset)
	work := newBudget(ctx, time.Now().Add(o.Deadline))
	out := Result{Query: ParseQuery(text)}
	if o.Strict {
		if out.Query, err = ParseStrict(text); err != nil {
			return out, err
		}
	}
	if err := out.search(st, o, work); err != nil || o.Strict || out.Total > 0 || out.Partial {
		return out, err
	}
	if again := (Result{Query: relaxQuery(text), Relaxed: true}); again.Query.String() != out.Query.String() {
		if err := again.search(st, o, work); err != nil || again.Total > 0 {
			return again, err
		}
	}
	return out, nil
}

// search runs the query of r.
func (r *Result) search(st *state, o SearchOptions, work *budget) error {
	root, err := (&expander{st: st, work: work}).expand(r.Query.root)
	if err != nil || root == nil {
		return err
	}
	r.Query.found = root
	run := st.execution(work, o)
	best := run.run(root)
	r.Query.idf = make(map[string]float64, len(run.freqs))
	for term, df := range run.freqs {
		r.Query.idf[term] = st.all.idf(df)
	}
	if work.err != nil {
		return work.err
	}
	if err := work.ctx.Err(); err != nil {
		return err
	}
	r.Hits, err = run.page(st, best[min(o.Offset, len(best)):])
	r.Partial = work.over
	r.Total = int(max(run.total, uint64(len(best))))
	r.AtLeast = work.over || o.TotalAtLeast > 0 && r.Total >= o.TotalAtLeast
	return err
}

// execution prepares a search of the state.
func (st *state) execution(work *budget, o SearchOptions) *execution {
	x := &execution{all: st.all, table: st.weights(), work: work, enough: math.MaxUint64, wanted: o.Limit + o.Offset}
	if o.TotalAtLeast > 0 {
		x.enough = uint64(o.TotalAtLeast)
	}
	for i, seg := range st.segments {
		x.parts = append(x.parts, seg.part(i, st))
	}
	return x
}

// part shows a segment to execution.
func (seg *segment) part(i int, st *state) *part {
	averages := st.all.averages()
	p := &part{
		number: i, docs: seg.info.Docs, norms: &seg.norms, dead: seg.dead, boosts: seg.boosts, most: 1,
		ratio: seg.impactFactor(&averages), freqs: seg.freqs,
	}
	for _, f := range seg.boosts.factors {
		p.most = max(p.most, f)
	}
	p.open = func(term string) (list, error) { return seg.openList(st.snap, term) }
	keys := newKeyReader(st.snap, seg)
	p.key = func(doc uint32) (urlkey.Key, error) {
		key, _, err := keys.key(doc)
		return urlkey.Key(key), err
	}
	p.keys = func(from, to string) (uint32, uint32, error) {
		first, err := keys.first(from)
		if err != nil {
			return 0, 0, err
		}
		behind, err := keys.first(to)
		return first, behind, err
	}
	p.column = func(letter byte, block uint32, dst *columnBlock) error {
		return seg.readColumn(st.snap, letter, block, dst)
	}
	return p
}

// first finds the first document whose key is at least key, by binary search: documents are numbered in key order.
func (k *keyReader) first(key string) (uint32, error) {
	lo, hi := uint32(0), k.seg.info.Docs
	for lo < hi {
		mid := lo + (hi-lo)/2
		at, _, err := k.key(mid)
		if err != nil {
			return 0, err
		}
		if string(at) < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// page returns candidates as hits. It reads what hits show, for these alone. When the deadline is over, it goes on for
// pageGrace, and leaves out the hits that it has not read by then.
func (x *execution) page(st *state, best []candidate) ([]Hit, error) {
	hits := make([]Hit, 0, len(best))
	grace := newBudget(x.work.ctx, x.work.now().Add(pageGrace))
	grace.now = x.work.now
	if !x.work.over {
		grace.deadline = x.work.deadline.Add(pageGrace)
	}
	for i := range best {
		if !grace.spend(readUnits) {
			x.work.over = true
			break
		}
		c := &best[i]
		if c.key == "" {
			key, err := c.part.key(c.doc)
			if err != nil {
				return nil, err
			}
			c.key = key
		}
		s, err := st.segments[c.part.number].readStored(st.snap, c.doc)
		if err != nil {
			return nil, err
		}
		hits = append(hits, Hit{
			Key: c.key, Score: c.score,
			Stored: s.fields, Date: s.date, ShowTitle: s.title, ShowText: s.text,
		})
	}
	return hits, nil
}
