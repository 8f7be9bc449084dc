// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// SearchOptions bound a search.
type SearchOptions struct {
	Limit    int           // hits returned, each with up to 52 KiB of what it shows; 0 means 10
	Offset   int           // hits skipped, from the best; Offset and Limit together are cut to 10,000
	Deadline time.Duration // time after which the search ends with what it has; 0 means 200 ms
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
}

// Search runs a query on the index as of the last Refresh. Any text is a query; see Query. It waits for no Refresh. A
// canceled context ends it with the context's error.
func (x *Index) Search(ctx context.Context, text string, o SearchOptions) (_ Result, err error) {
	st, err := x.acquire()
	if err != nil {
		return Result{}, err
	}
	defer x.releaseAfter(st, &err)
	if o.Limit <= 0 {
		o.Limit = 10
	}
	if o.Deadline == 0 {
		o.Deadline = defaultDeadline
	}
	o.Offset = min(max(o.Offset, 0), maxHits)
	o.Limit = min(o.Limit, maxHits-o.Offset)
	out := Result{Query: ParseQuery(text)}
	if out.Query.root == nil {
		return out, nil
	}
	s := search{st: st, ctx: ctx, deadline: time.Now().Add(o.Deadline), top: topK{k: o.Limit + o.Offset}}
	if err := s.run(out.Query.root); err != nil {
		return out, err
	}
	out.Total, out.Partial, out.Query.idf = s.total, s.partial, s.idf
	out.Hits, err = s.top.page(st.snap, o.Offset)
	return out, err
}

// search is one run of a query over a state.
type search struct {
	st       *state
	ctx      context.Context
	deadline time.Time
	top      topK
	total    int
	partial  bool
	idf      map[string]float64 // of the query's terms
}

func (s *search) run(root *node) error {
	scorers := map[string]scorer{}
	if err := s.scorers(root, scorers); err != nil {
		return err
	}
	s.idf = make(map[string]float64, len(scorers))
	for term, sc := range scorers {
		s.idf[term] = sc.idf
	}
	for _, seg := range s.st.segments {
		if err := s.segment(seg, root, scorers); err != nil {
			return err
		}
		if s.partial {
			break
		}
	}
	return s.ctx.Err()
}

// scorers makes the scorer of each term below n, counting its documents over all index segments.
func (s *search) scorers(n *node, into map[string]scorer) error {
	for _, c := range n.children {
		if err := s.scorers(c, into); err != nil {
			return err
		}
	}
	if n.kind != nodeTerm {
		return nil
	}
	if _, ok := into[n.term]; ok {
		return nil
	}
	df := uint64(0)
	for _, seg := range s.st.segments {
		n, err := docFreq(s.st.snap, seg, n.term)
		if err != nil {
			return err
		}
		df += n
	}
	into[n.term] = newScorer(&s.st.all, df)
	return nil
}

// docFreq counts the documents of a term that are not deleted, so that scores do not depend on what was deleted: by the
// block headers if the segment has no deletions, else one by one.
func docFreq(rd storage.Reader, seg *segment, term string) (df uint64, err error) {
	if seg.deleted != nil && !seg.deleted.IsEmpty() {
		o := &opener{rd: rd, seg: seg}
		it := o.term(&node{term: term, field: -1})
		for doc := it.seek(0); doc != end; doc = it.seek(doc + 1) {
			if seg.alive(doc) {
				df++
			}
		}
		return df, o.close()
	}
	from := termKey(term, 0)
	to := append([]byte(nil), from[:len(from)-4]...)
	to[len(to)-1] = 1
	sc := rd.Scan(storage.IndexSegmentRange(seg.number, kindTerms), from, to)
	defer sc.Close()
	for sc.Next() {
		for b := sc.Value(); len(b) > 0; {
			var head [4]uint64
			for i := range head {
				v, n := binary.Uvarint(b)
				if n <= 0 {
					return df, corruptPostings("block header")
				}
				head[i], b = v, b[n:]
			}
			if head[2] > uint64(len(b)) || head[3] > uint64(len(b))-head[2] {
				return df, corruptPostings("block header")
			}
			df += head[0]
			b = b[head[2]+head[3]:]
		}
	}
	return df, sc.Err()
}

func (s *search) segment(seg *segment, root *node, scorers map[string]scorer) error {
	o := &opener{rd: s.st.snap, seg: seg, scorers: scorers}
	it := o.open(root)
	boost := boostCursor{boosts: seg.boosts}
	for doc, n := it.seek(0), 1; doc != end && o.err == nil; n++ {
		if n%1024 == 0 && (time.Now().After(s.deadline) || s.ctx.Err() != nil) {
			s.partial = true
			break
		}
		if seg.alive(doc) {
			s.total++
			score := it.score()
			if len(boost.docs) > 0 {
				if f, ok := boost.factor(doc); ok {
					score = min(score*f, math.MaxFloat64) // infinity is no number in JSON
				}
			}
			s.top.offer(s.st.snap, seg, doc, score)
			if s.top.err != nil {
				o.err = s.top.err
			}
		}
		doc = it.seek(doc + 1)
	}
	return o.close()
}

// candidate is a document among the best so far.
type candidate struct {
	key   urlkey.Key
	score float64
	seg   *segment
	doc   uint32
}

// topK keeps the best k candidates in a heap, the worst of them first.
type topK struct {
	k    int
	best []candidate
	err  error
}

func (t *topK) Len() int           { return len(t.best) }
func (t *topK) Less(i, j int) bool { return rank(&t.best[i], &t.best[j]) > 0 }
func (t *topK) Swap(i, j int)      { t.best[i], t.best[j] = t.best[j], t.best[i] }
func (t *topK) Push(any)           { panic("BUG: index: unused, offer appends") }
func (t *topK) Pop() any           { panic("BUG: index: unused, page sorts") }

// rank compares two candidates: below 0 when a comes before b in the result.
func rank(a, b *candidate) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return cmp.Compare(a.key, b.key)
}

// offer reads a document's key only when its score could be among the best. That is still 73% of a query of one word,
// and only to break ties, although document numbers are in key order already. Of a phrase, 60% is decoding positions.
// Lists carry no bounds on scores, so every match is visited.
func (t *topK) offer(rd storage.Reader, seg *segment, doc uint32, score float64) {
	if t.k == 0 || len(t.best) == t.k && score < t.best[0].score {
		return
	}
	key, _, err := docKey(rd, seg.number, doc)
	if err != nil {
		t.err = err
		return
	}
	c := candidate{key, score, seg, doc}
	switch {
	case len(t.best) < t.k:
		t.best = append(t.best, c)
		heap.Fix(t, len(t.best)-1)
	case rank(&c, &t.best[0]) < 0:
		t.best[0] = c
		heap.Fix(t, 0)
	}
}

// page returns the candidates in order as hits, without the first offset of them. It reads what hits show, for these
// alone. The heap ends with it.
func (t *topK) page(rd storage.Reader, offset int) ([]Hit, error) {
	slices.SortFunc(t.best, func(a, b candidate) int { return rank(&a, &b) })
	best := t.best[min(offset, len(t.best)):]
	hits := make([]Hit, len(best))
	for i, c := range best {
		s, err := c.seg.readStored(rd, c.doc)
		if err != nil {
			return nil, err
		}
		hits[i] = Hit{
			Key: c.key, Score: c.score,
			Stored: s.fields, Date: s.date, ShowTitle: s.title, ShowText: s.text,
		}
	}
	return hits, nil
}
