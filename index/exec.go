// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// execution is one run of a query tree over the parts of an index: the best documents and their number.
type execution struct {
	parts []*part
	all   collection
	table *impactTable
	work  *budget
	top   topK
	total uint64
	// enough is the count at which counting may stop; exhaustive is as in ranker.
	enough     uint64
	wanted     int  // best documents
	wantNear   bool // Hit.Near
	onePhase   bool // leaves out rerank, for tests
	exhaustive bool
	countOnly  bool // nothing is ranked
	order      Order
	languages  []string // that the query may be in: pages in them come first
	crowding
	facets   *facetCounter // nil: none wanted
	counting []facet       // of it
	matches  *matches      // nil: without facets
	later    *holdTasks    // what to hold behind the search; nil: it is made when it is found

	side     int    // goroutines that may search side by side
	together uint64 // postings from which they do
	few      uint64 // candidates of a part up to which ranking counts them

	lists  []map[string]list        // by part; nil for a term that the part lacks
	ranges []map[*node]bitset       // by part: documents with a number of a range
	blocks []map[*node]filterBlocks // by part
	freqs  map[string]uint64        // documents of each term that are not deleted, over all parts
	known  *recent[uint64]          // freqs of searches before; nil: none
	walked []map[string]*heldWord   // by part and heldKey: the words that ranking found held

	cursors []*cursor     // that were opened
	placed  *[2]placeRuns // memory of phrases; nil until it is needed
}

// release gives the memory of lists and cursors to later searches. No iterator of x is used after it.
func (x *execution) release() {
	for _, c := range x.cursors {
		c.reset(nil, nil)
		cursorPool.Put(c)
	}
	for _, lists := range x.lists {
		for _, l := range lists {
			if r, ok := l.(*listReader); ok {
				r.from = nil
				listPool.Put(r)
			}
		}
	}
	x.cursors, x.lists = nil, nil
	if x.matches != nil {
		matchesPool.Put(x.matches)
		x.matches = nil
	}
}

// cursor opens a cursor on a list of a part.
func (x *execution) cursor(p *part, l list) *cursor {
	x.work.spend(1) // a query may have thousands
	c := newCursor(l, p.docs, x.work)
	x.cursors = append(x.cursors, c)
	return c
}

// run ranks all parts, then counts what ranking did not: at the deadline the best are known even if not their number.
func (x *execution) run(root *node) []candidate {
	x.top.k = x.wanted
	twoPhases := !x.onePhase && x.order == OrderScore && len(x.words(root, nil)) > 1
	if x.on() {
		x.top.k = 2 * x.wanted // some are left out
	}
	ranked := 0
	if twoPhases && x.wanted > 0 {
		x.top.k, ranked = max(x.top.k, rerankDocs), rerankDocs
	}
	x.begin()
	x.top.work = x.work
	if x.facets != nil {
		x.matches = newMatches(x.parts)
	}
	x.count(root)
	workers := x.workers()
	if x.countOnly {
		x.countAll(workers, root, x.parts)
		return nil
	}
	uncounted := x.rankAll(workers, root)
	best := x.top.sorted()
	if twoPhases {
		x.rerank(root, best)
	}
	if x.on() {
		best = x.collapseHits(root, best, ranked)
	}
	best = best[:min(len(best), x.wanted)]
	if x.facets != nil {
		x.facets.count(x, workers, root, uncounted)
		uncounted = nil
	}
	x.countAll(workers, root, uncounted)
	return best
}

// begin makes what is kept by part.
func (x *execution) begin() {
	x.lists, x.freqs = make([]map[string]list, len(x.parts)), map[string]uint64{}
	x.ranges, x.blocks = make([]map[*node]bitset, len(x.parts)), make([]map[*node]filterBlocks, len(x.parts))
	for i := range x.lists {
		x.lists[i], x.ranges[i], x.blocks[i] = map[string]list{}, map[*node]bitset{}, map[*node]filterBlocks{}
	}
	x.walked = make([]map[string]*heldWord, len(x.parts))
}

// list opens a part's list of a term once; nil means that it has none, or that the search is to end.
func (x *execution) list(p *part, term string) list {
	if x.work.over {
		return nil
	}
	l, ok := x.lists[p.number][term]
	if ok {
		return l
	}
	if x.work.spend(readUnits) {
		var err error
		if l, err = p.open(term); err != nil {
			x.work.fail(err)
			l = nil
		}
	}
	x.lists[p.number][term] = l
	return l
}

// count counts the documents of all terms below n, which scores need.
func (x *execution) count(n *node) {
	for _, c := range n.must {
		x.count(c)
	}
	for _, c := range n.should {
		x.count(c)
	}
	for _, c := range n.children {
		x.count(c)
	}
	if _, ok := x.freqs[n.term]; ok || n.kind != nodeTerm {
		return
	}
	if x.known != nil {
		if df, ok := x.known.get(n.term); ok {
			x.freqs[n.term] = df
			return
		}
	}
	df := uint64(0)
	for _, p := range x.parts {
		df += x.alive(p, n.term)
	}
	x.freqs[n.term] = df
	if x.known != nil && !x.work.over {
		x.known.add(n.term, df, 1)
	}
}

// alive returns in how many documents of a part that are not deleted a term occurs, so that scores do not depend on
// what was deleted.
func (x *execution) alive(p *part, term string) uint64 {
	l := x.list(p, term)
	if l == nil || p.dead == nil {
		if l == nil {
			return 0
		}
		return l.df()
	}
	if df, ok := p.freqs.get(term); ok {
		return df
	}
	it := &termIter{cursor: x.cursor(p, l)}
	df := (&counter{work: x.work}).count(it, p, math.MaxUint64)
	if !x.work.over {
		p.freqs.add(term, df, 1)
	}
	return df
}

// rank offers the documents of a part that match, and reports whether it counted them on the way.
func (x *execution) rank(p *part, root *node) (counted bool) {
	x.top.begin(p)
	if x.order != OrderScore {
		x.rankByValue(p, root)
		return true
	}
	r := ranker{
		part: p, top: &x.top, work: x.work, exhaustive: x.exhaustive, enough: x.enough - min(x.total, x.enough),
		matched: x.matches.of(p),
	}
	if x.rankHeld(&r, p, root) {
		return true
	}
	if words, filters, not := x.disjunction(root); words != nil {
		boost := root.factor()
		if words != root {
			boost *= words.factor()
		}
		open := func(x *execution) *alternatives {
			a := &alternatives{words: x.openAll(p, words.should, boost), filters: x.openAll(p, filters, 1)}
			if len(a.words) == 0 || len(a.filters) < len(filters) {
				return nil
			}
			a.not = x.openAll(p, not, 1)
			return a
		}
		a := open(x)
		return a != nil && x.rankAny(&r, a, open, len(filters) == 0) // also where a bound of the number would do
	}
	it := x.open(p, root, 1)
	if it == nil {
		return true
	}
	switch it := it.(type) {
	case *termIter, *anyIter: // the documents of a term need not be counted one by one
		_, forms := it.(*anyIter)
		return x.rankAny(&r, &alternatives{words: []iterator{it}}, func(w *execution) *alternatives {
			if it := w.open(p, root, 1); it != nil {
				return &alternatives{words: []iterator{it}}
			}
			return nil
		}, forms && x.enough == math.MaxUint64)
	case *phraseIter:
		if it.meet != nil && it.slop == 0 {
			x.total += x.rankPhrase(&r, root, it)
			return true
		}
	case *boolIter:
		if it.words() != nil && it.meet != nil {
			x.total += x.rankAllOf(&r, root, it)
			return true
		}
	}
	if it.cost() > x.few && marksCheaply(it) {
		r.enough, r.matched = 0, nil
		x.walk(&r, root, it)
		return false
	}
	x.total += x.walk(&r, root, it)
	return true
}

// rankAny offers the documents of alternatives, which open opens for other goroutines; nil: the search is to end. It
// reports whether it counted them: it does, in a tally, if that is for these words and counting says so.
func (x *execution) rankAny(r *ranker, a *alternatives, open func(*execution) *alternatives, counting bool) bool {
	var t *tally
	if counting {
		t = newTally(r, a)
	}
	counted := t != nil
	x.total += x.inRuns(r, sumDocs, func(w *execution, r *ranker, runs iter.Seq[run]) uint64 {
		a, t := a, t
		if w != x {
			if a = open(w); a == nil {
				return 0
			}
			if counted {
				t = newTally(r, a)
			}
		}
		switch {
		case !counted:
			r.disjunction(a, runs)
		case t != nil:
			return t.rank(runs)
		}
		return 0
	})
	return counted
}

// walk is ranker.walk of a tree, whose iterator it is.
func (x *execution) walk(r *ranker, root *node, it iterator) uint64 {
	return x.inWindows(r, sumDocs, func(w *execution, r *ranker, windows iter.Seq[int]) (count uint64) {
		it := it
		if w != x {
			it = w.open(r.part, root, 1)
		}
		if it == nil { // the search is to end
			return 0
		}
		for n := range windows {
			lo := uint32(n) * sumDocs
			count = r.walk(it, lo, lo+sumDocs-1, count, r.enough)
		}
		return count
	})
}

// rankPhrase offers the documents of a phrase that is dense enough for windows, and returns their number.
func (x *execution) rankPhrase(r *ranker, root *node, it *phraseIter) uint64 {
	if words := x.heldWords(r.part, root); words != nil {
		return x.inWindows(r, sumDocs, func(w *execution, r *ranker, windows iter.Seq[int]) uint64 {
			places := w.newPlaces(r.part, root)
			if places == nil { // the search is to end
				return 0
			}
			return r.heldAll(slices.Clone(words), nil, &sieve{}, &listPhrase{places}, windows)
		})
	}
	return x.inWindows(r, meetDocs, func(w *execution, r *ranker, windows iter.Seq[int]) uint64 {
		it, ok := it, true
		if w != x {
			it, ok = w.open(r.part, root, 1).(*phraseIter)
		}
		if ok {
			it.meet.places = w.newPlaces(r.part, it.node)
		}
		if !ok || it.meet.places == nil { // the search is to end
			return 0
		}
		return r.met(it, it.meet, it.words, nil, windows)
	})
}

// rankAllOf is rankPhrase of words that must all match.
func (x *execution) rankAllOf(r *ranker, root *node, it *boolIter) uint64 {
	return x.inWindows(r, meetDocs, func(w *execution, r *ranker, windows iter.Seq[int]) uint64 {
		it, ok := it, true
		if w != x {
			it, ok = w.open(r.part, root, 1).(*boolIter)
		}
		if !ok { // the search is to end
			return 0
		}
		return r.met(it, it.meet, it.words(), it.not, windows)
	})
}

// fewCandidates is a number of candidates of a part up to which they are counted where they are ranked: hardly any can
// be passed before the best are full, so counting apart would be the same work again.
const fewCandidates = 4096

// disjunction takes a tree apart if it is alternatives, perhaps with filters and exclusions.
func (x *execution) disjunction(root *node) (words *node, filters, not []*node) {
	if root.kind != nodeBool {
		return nil, nil, nil
	}
	not = root.not
	if len(root.must) == 0 {
		if len(root.should) == 0 {
			return nil, nil, nil
		}
		return root, nil, not
	}
	for _, n := range root.must {
		switch {
		case n.kind == nodeKeys || n.kind == nodeValue:
			filters = append(filters, n)
		case n.kind == nodeBool && len(n.must) == 0 && len(n.not) == 0 && len(n.should) > 0 && words == nil:
			words = n
		default:
			return nil, nil, nil
		}
	}
	if len(root.should) > 0 {
		return nil, nil, nil
	}
	return words, filters, not
}

// openAll opens nodes and leaves out those that match nothing in the part.
func (x *execution) openAll(p *part, nodes []*node, boost float64) (its []iterator) {
	for _, n := range nodes {
		if it := x.open(p, n, boost); it != nil {
			its = append(its, it)
		}
	}
	return its
}

// open makes the iterator of a node on a part, its scores multiplied by boost; nil means that nothing matches.
func (x *execution) open(p *part, n *node, boost float64) iterator {
	boost *= n.factor()
	switch n.kind {
	case nodeTerm:
		if it := x.word(p, n, boost); it != nil {
			return it
		}
	case nodeAny:
		if it := x.forms(p, n, boost); it != nil {
			return it
		}
	case nodePhrase:
		return x.phrase(p, n, boost)
	case nodeBool:
		return x.boolean(p, n, boost)
	case nodeKeys:
		var its []iterator
		for ; n != nil; n = n.more {
			if n.path != "" {
				its = append(its, x.paths(p, n)...)
			} else if it := x.keys(p, n); it != nil {
				its = append(its, it)
			}
		}
		switch len(its) {
		case 0:
			return nil
		case 1:
			return its[0]
		}
		return newOrIter(its)
	case nodeValue:
		if n.value == valueField {
			return &fieldIter{x: x, part: p, n: n}
		}
		return x.filter(p, n)
	}
	return nil
}

// keys opens one interval of URL keys.
func (x *execution) keys(p *part, n *node) iterator {
	if !x.work.spend(readUnits) {
		return nil
	}
	from, to, err := p.keys(n.from, n.to)
	if err != nil {
		x.work.fail(err)
	}
	if from >= to || err != nil {
		return nil
	}
	return &rangeIter{from: from, to: to, work: x.work}
}

// paths opens the intervals of a path on the hosts of an interval of URL keys: on one name at its ports.
func (x *execution) paths(p *part, n *node) (its []iterator) {
	hosts, err := p.hostKeys(n.from, n.to, x.work)
	if err != nil {
		x.work.fail(err)
	}
	for _, h := range hosts {
		from := string(h) + n.path
		if it := x.keys(p, &node{from: from, to: behind(from)}); it != nil {
			its = append(its, it)
		}
	}
	return its
}

func (x *execution) weigher(p *part) weigher {
	return weigher{table: x.table, norms: p.norms, ratio: p.ratio}
}

func (x *execution) word(p *part, n *node, boost float64) *termIter {
	l := x.list(p, n.term)
	if l == nil {
		return nil
	}
	return newTermIter(x.cursor(p, l), n.fields, newGain(&x.all, x.freqs[n.term], boost), x.weigher(p))
}

// frequency returns in how many documents a word occurs. For a word in several forms this is the sum over the forms: a
// bound of the documents that have any, which is close as long as the word is not in half of them, and there the idf is
// near zero either way. (The most frequent form alone makes a word of many forms look rare: on the topics of Cranfield
// and CACM that costs .005 of MAP.)
func (x *execution) frequency(n *node) (df uint64) {
	if n.kind == nodeTerm {
		return x.freqs[n.term]
	}
	for _, c := range n.children {
		df += x.freqs[c.term]
	}
	return df
}

// forms opens a word in several forms.
func (x *execution) forms(p *part, n *node, boost float64) wordIter {
	var cursors []*cursor
	var weights []float64
	fields := n.fields
	for _, c := range n.children {
		if l := x.list(p, c.term); l != nil {
			cursors = append(cursors, x.cursor(p, l))
			weights = append(weights, cmp.Or(c.weight, 1))
		}
	}
	g := newGain(&x.all, x.frequency(n), boost)
	switch {
	case len(cursors) == 0:
		return nil
	case len(cursors) == 1 && weights[0] == 1:
		return newTermIter(cursors[0], fields, g, x.weigher(p))
	}
	return newAnyIter(cursors, weights, fields, g, x.weigher(p))
}

// phraseWord returns a word of a phrase as it scores: title:"torn net" scores what the title has.
func (n *node) phraseWord(c *node) *node {
	if n.fields == 0 || c.fields != 0 {
		return c
	}
	word := *c
	word.fields = n.fields
	return &word
}

func (x *execution) phrase(p *part, n *node, boost float64) iterator {
	words, fields := []wordIter{}, n.fields
	for _, c := range n.children {
		c = n.phraseWord(c)
		var w wordIter
		if c.kind == nodeAny {
			w = x.forms(p, c, boost*c.factor())
		} else if t := x.word(p, c, boost*c.factor()); t != nil {
			w = t
		}
		if w == nil {
			return nil
		}
		if words = append(words, w); fields == 0 {
			fields = c.fields
		}
	}
	if len(words) == 0 {
		return nil
	}
	it := newPhraseIter(words, n.at, n.slop, fields)
	it.node = n
	if meetsDensely(words, p.docs) {
		it.meet = newMeeting(x.openAll(p, n.children, 1), p.docs, x.work)
	}
	return it
}

func (x *execution) boolean(p *part, n *node, boost float64) iterator {
	must := x.openAll(p, n.must, boost)
	if len(must) < len(n.must) {
		return nil
	}
	should, not := x.openAll(p, n.should, boost), x.openAll(p, n.not, 1)
	if len(must) == 0 {
		switch {
		case len(should) == 1:
			must = should
		case len(should) > 1:
			must = []iterator{newOrIter(should)}
		case len(n.should) > 0 || len(n.not) == 0:
			return nil
		default: // only exclusions
			must = []iterator{&rangeIter{to: p.docs, work: x.work}}
		}
		should = nil
	}
	if len(must) == 1 && len(should)+len(not) == 0 {
		return must[0]
	}
	it := newBoolIter(must, should, not)
	if meetsDensely(must, p.docs) {
		it.meet = newMeeting(x.openAll(p, n.must, boost), p.docs, x.work)
	}
	return it
}
