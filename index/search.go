// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// SearchOptions bound a search.
type SearchOptions struct {
	Limit    int           // hits returned, each with up to 52 KiB of what it shows; 0 means 10
	Offset   int           // hits skipped, from the best; Offset and Limit together are cut to HitsMax
	Deadline time.Duration // time after which the search ends with what it has; 0 means 1 s
	Strict   bool          // parse with ParseStrict, whose *QueryError the search then returns, and relax nothing
	// TotalAtLeast is a number of matches at which counting may stop: Result.Total is then a lower bound, and a search
	// for common words is faster. 0 counts all.
	TotalAtLeast int
	// Freshness is a half-life: new documents score higher, by a factor of 1/2 + 2^(-age/Freshness), at the time Now.
	// That is 3/2 for a new document, 1 at the age of a half-life, 1/2 for a very old one; Document.Date tells the age,
	// and a document without a date has 1. 0 or less means that dates do not matter.
	Freshness time.Duration
	// Now is the time that ages are counted to; zero: the clock's. Pages of one result need the same.
	Now time.Time
	// Near fills in Hit.Near, which makes snippets of long documents several times as fast, and better.
	Near bool
	// Explain fills in Hit.Explanation. The search may then last up to a second beyond its deadline.
	Explain bool

	Order Order // of the hits
	// Facets are the values to count of all matches: FacetLanguage, FacetType, FacetHost, FacetYear, and names of
	// stored fields, whose values count as a whole. Duplicates and hits of crowded hosts count too. All matches are
	// then counted, whatever TotalAtLeast says, unless the deadline ends the search. Another name is a *FacetError,
	// once there are documents.
	Facets      []string
	FacetValues int // of each facet, the most frequent ones; 0 means 10
	// PerHost is the most hits of one host, 0 for any number. Further ones are left out, the worst ones first.
	PerHost int
	// Collapse leaves out each hit with the Document.Group of a better one. GroupOf, if not nil, says which number
	// stands for several groups that have become one; 0 remains none. It is called concurrently.
	Collapse bool
	GroupOf  func(group uint64) uint64

	countOnly bool // for Suggest: counts all matches, and has no hits
}

// Hit is one document found, with what the fields of Document say there; zero values
// where the document has no such thing.
type Hit struct {
	Key   urlkey.Key
	Score float64 // with boost and freshness; finite, 0 where no word of the query scores, as with site: alone
	// Explanation shows how Score came about, if SearchOptions.Explain says so; its Value is Score.
	Explanation *Explanation

	Stored              []storage.Field
	Date                time.Time // UTC
	Author              string
	ShowTitle, ShowText string // "": show the page's own; ShowText is unescaped text for Snippet
	// Near are the parts of a long document's content where words of the query stand together, for SnippetOptions.Near,
	// if SearchOptions.Near says so. Bytes are about right.
	Near []storage.TextRange

	Language, Type string
	Size           int64
	Fetched        time.Time // UTC; zero if the document is of a version that did not keep it
	// More is the number of matches of the host beyond SearchOptions.PerHost; a lower bound if Result.Partial.
	More int
	// Duplicates is the number of near-duplicates that SearchOptions.Collapse left out before the last hit. There may
	// be more that are worse than it.
	Duplicates int
}

// Result is what a search found.
type Result struct {
	Total   int   // all matches, of which Hits are a page; with Partial those counted until the deadline
	Hits    []Hit // by falling score, equal scores by key
	Query   Query // as it was understood, for Snippet
	Partial bool  // the deadline ended the search
	Relaxed bool  // nothing had all quotes and words with +: these hits have some. Query is without the requirement
	// Doubtful says that a word is in so few documents that another may be meant: Suggest may have a better query, as
	// when Total is small or Relaxed set.
	Doubtful bool
	// AtLeast says that there may be more matches than Total: SearchOptions.TotalAtLeast or the deadline ended the
	// counting.
	AtLeast bool
	Facets  []Facet // as in SearchOptions.Facets; with Partial of the matches that were counted
}

// Search runs a query on the index as of the last Refresh. Any text is a query, unless SearchOptions.Strict; see Query.
// If nothing has what quotes and + require, it searches again with these as preferences; see Result.Relaxed. It waits
// for no Refresh. A canceled context ends it with the context's error.
func (x *Index) Search(ctx context.Context, text string, o SearchOptions) (r Result, err error) {
	st, err := x.acquire()
	if err != nil {
		return Result{}, err
	}
	defer x.releaseAfter(st, &err)
	if err := st.checkFacets(o.Facets); err != nil {
		return Result{}, err
	}
	x.searching.Add(1)
	defer x.searching.Add(-1)
	defer x.Answering()()
	if o.Limit <= 0 {
		o.Limit = 10
	}
	if o.Deadline == 0 {
		o.Deadline = defaultDeadline
	}
	o.Offset = min(max(o.Offset, 0), HitsMax)
	o.Limit = min(o.Limit, HitsMax-o.Offset)
	work := newBudget(ctx, time.Now().Add(o.Deadline))
	out := Result{}
	if !o.Strict {
		out.Query = parseQueryOf(st.hasField, forgiven(text), false, func(int, string) {})
	} else if out.Query, err = parseStrict(st.hasField, text); err != nil {
		return out, err
	}
	languages := newQueryParser(st.hasField, forgiven(text), func(int, string) {}).spoken()
	defer func() {
		if err == nil {
			st.keepTotal(text, &o, &r)
		}
	}()
	if err := out.search(st, o, languages, work); err != nil || o.Strict || out.Total > 0 || out.Partial {
		return out, err
	}
	again := Result{Query: relaxQuery(st.hasField, text), Relaxed: true}
	if again.Query.String() != out.Query.String() {
		if err := again.search(st, o, languages, work); err != nil || again.Total > 0 {
			return again, err
		}
		out.Partial, out.AtLeast = again.Partial, again.AtLeast // the deadline may have come before a hit
	}
	return out, nil
}

// search runs the query of r, which is in one of some languages, or none if that is not known.
func (r *Result) search(st *state, o SearchOptions, languages []string, work *budget) error {
	root, err := (&expander{st: st, work: work}).expand(r.Query.root)
	if err != nil || root == nil {
		for _, name := range o.Facets {
			r.Facets = append(r.Facets, Facet{Name: name, Values: []FacetValue{}})
		}
		return err
	}
	r.Query.found = root
	run := st.execution(work, o)
	run.languages = languages
	defer func() {
		run.release()
		st.index.holdBehind(st, run.later)
	}()
	best := run.run(root)
	found := uint64(len(best))
	r.Query.idf = make(map[string]float64, len(run.freqs))
	for term, df := range run.freqs {
		r.Query.idf[term] = st.all.idf(df)
	}
	if work.err != nil {
		return work.err
	}
	if err := work.ended(); err != nil {
		return err
	}
	best = best[min(o.Offset, len(best)):]
	run.countMore(root, best)
	if run.facets != nil {
		r.Facets = run.facets.result
	}
	r.Hits, err = run.page(st, root, best)
	if o.Explain && err == nil {
		err = run.explainAll(root, best, r.Hits)
	}
	if err == nil {
		err = work.ended() // while hits were read
	}
	r.Partial, r.Doubtful = work.over, root.doubtful(run.freqs, st.all.docs)
	r.Total = int(max(run.total, found))
	r.AtLeast = work.over || run.enough < math.MaxUint64 && r.Total >= o.TotalAtLeast
	return err
}

// execution prepares a search of the state.
func (st *state) execution(work *budget, o SearchOptions) *execution {
	x := &execution{all: st.all, table: st.weights(), work: work, enough: math.MaxUint64, wanted: o.Limit + o.Offset}
	x.known = &st.freqs
	x.later = &holdTasks{}
	x.side, x.together = st.index.goroutines(), togetherPostings
	x.few = fewCandidates
	x.top.fresh = o.freshness()
	x.order, x.facets, x.wantNear = o.Order, newFacets(o), o.Near
	x.crowding = crowding{perHost: max(o.PerHost, 0), collapse: o.Collapse, groupOf: o.GroupOf}
	x.countOnly = o.countOnly
	if o.TotalAtLeast > 0 && x.facets == nil {
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
		number: i, docs: seg.info.Docs, norms: &seg.norms, dead: seg.dead, boosts: seg.boosts, most: seg.boosts.most(),
		ratio: seg.impactFactor(&averages), freqs: seg.freqs, held: seg.held,
	}
	for code, docs := range seg.info.Languages {
		if docs == seg.info.Docs {
			p.language = code
		}
	}
	p.open = func(term string) (list, error) { return seg.openList(st.snap, term) }
	keys := newKeyReader(st.snap, seg)
	p.key = func(doc uint32) (urlkey.Key, error) {
		key, err := keys.only(doc)
		return urlkey.Key(key), err
	}
	p.keys = func(from, to string) (uint32, uint32, error) { // goroutines that search windows call it side by side
		keys := newKeyReader(st.snap, seg)
		first, err := keys.first(from)
		if err != nil {
			return 0, 0, err
		}
		behind, err := keys.first(to)
		return first, behind, err
	}
	p.hostKeys = func(from, to string, work *budget) ([]urlkey.HostKey, error) {
		return newKeyReader(st.snap, seg).hosts(from, to, work)
	}
	p.column = func(letter byte, block uint32, dst *columnBlock) error {
		return seg.readColumn(st.snap, letter, block, dst)
	}
	p.columnOf = func(letter byte, block uint32, bits []uint64, dst *columnBlock) error {
		return seg.readColumnOf(st.snap, letter, block, bits, dst)
	}
	p.value = func(letter byte, doc uint32) (uint64, error) { return seg.readNumber(st.snap, letter, doc) }
	p.text = func(letter byte, doc uint32) (string, error) { return seg.readValue(st.snap, letter, doc) }
	p.hosts = func(work *budget) (*hostTable, error) { return seg.hosts(st.snap, work) }
	p.lists = func(from, to string, work *budget) *rowLists { return seg.lists(st.snap, from, to, work) }
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

// hosts returns the hosts that have keys in an interval, from inclusive, to exclusive; fewer if the budget is over.
func (k *keyReader) hosts(from, to string, work *budget) (list []urlkey.HostKey, err error) {
	for work.spend(readUnits) {
		doc, err := k.first(from)
		if err != nil || doc >= k.seg.info.Docs {
			return list, err
		}
		key, err := k.only(doc)
		if err != nil || string(key) >= to {
			return list, err
		}
		host := urlkey.Key(key).HostKey()
		if host == "" {
			return list, fmt.Errorf("%w: index segment %d: key %q", storage.ErrCorrupt, k.seg.number, key)
		}
		list = append(list, host)
		from = behind(string(host))
	}
	return list, nil
}

// page returns candidates as hits. It reads what hits show, for these alone. When the deadline is over, it goes on for
// pageGrace, and leaves out the hits that it has not read by then.
func (x *execution) page(st *state, root *node, best []candidate) ([]Hit, error) {
	hits, steps := make([]Hit, 0, len(best)), make([]wordSteps, 0, len(best))
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
		s, err := st.segments[c.part.number].readStored(st.snap, c.doc, x.wantNear)
		if err != nil {
			return nil, err
		}
		hit := Hit{
			Key: c.key, Score: c.score, Duplicates: c.same, More: c.more,
			Stored: s.fields, Date: s.date, Author: s.author, ShowTitle: s.title, ShowText: s.text,
		}
		if err := hit.values(c); err != nil {
			return nil, err
		}
		hits, steps = append(hits, hit), append(steps, s.steps)
	}
	if !x.wantNear {
		return hits, nil
	}
	return hits, x.near(root, best, hits, steps)
}
