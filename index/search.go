// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// SearchOptions bound a search.
type SearchOptions struct {
	Limit    int           // hits returned; 0 means 10. Limit and Offset together are cut to 10,000
	Offset   int           // hits skipped, from the best; below 0 counts as 0
	Deadline time.Duration // time after which the search ends with what it has; 0 means 200 ms
}

// Hit is one document found.
type Hit struct {
	Key   urlkey.Key
	Score float64 // above 0 and finite; 0 where no word of the query scores, as with site: alone
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
	out.Total, out.Partial = s.total, s.partial
	hits := s.top.hits
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Key, b.Key)) })
	out.Hits = hits[min(o.Offset, len(hits)):]
	return out, nil
}

// search is one run over a state.
type search struct {
	st       *state
	ctx      context.Context
	deadline time.Time
	top      topK
	total    int
	partial  bool
}

func (s *search) run(root *node) error {
	scorers := map[string]scorer{}
	if err := s.scorers(root, scorers); err != nil {
		return err
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

// scorers counts each term's documents over all index segments.
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

// docFreq counts the live documents of a term: by the block headers where nothing is deleted, else by
// looking at each, so that scores are the same whatever was deleted on the way.
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
	for doc, n := it.seek(0), 1; doc != end && o.err == nil; n++ {
		if n%1024 == 0 && (time.Now().After(s.deadline) || s.ctx.Err() != nil) {
			s.partial = true
			break
		}
		if seg.alive(doc) {
			s.total++
			s.top.offer(s.st.snap, seg, doc, it.score())
			if s.top.err != nil {
				o.err = s.top.err
			}
		}
		doc = it.seek(doc + 1)
	}
	return o.close()
}

// topK keeps the best k hits.
type topK struct {
	k    int
	hits []Hit
	err  error
}

func (t *topK) Len() int           { return len(t.hits) }
func (t *topK) Less(i, j int) bool { return worse(t.hits[i], t.hits[j]) }
func (t *topK) Swap(i, j int)      { t.hits[i], t.hits[j] = t.hits[j], t.hits[i] }
func (t *topK) Push(x any)         { t.hits = append(t.hits, x.(Hit)) }
func (t *topK) Pop() any {
	x := t.hits[len(t.hits)-1]
	t.hits = t.hits[:len(t.hits)-1]
	return x
}

func worse(a, b Hit) bool {
	if a.Score != b.Score {
		return a.Score < b.Score
	}
	return a.Key > b.Key
}

// offer reads a document's key only when its score could be among the best.
func (t *topK) offer(rd storage.Reader, seg *segment, doc uint32, score float64) {
	if t.k == 0 || len(t.hits) == t.k && score < t.hits[0].Score {
		return
	}
	key, _, err := docKey(rd, seg.number, doc)
	if err != nil {
		t.err = err
		return
	}
	h := Hit{key, score}
	switch {
	case len(t.hits) < t.k:
		heap.Push(t, h)
	case worse(t.hits[0], h):
		t.hits[0] = h
		heap.Fix(t, 0)
	}
}
