// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// The second phase of ranking looks at the best rerankDocs documents of the first and adds what sums of words cannot
// see: how many of the query's words a document has, how close to each other they are, and whether it is in the query's
// language. It multiplies scores by factors of at least 1, and always those of the same documents, whatever page of
// results is wanted: so pages fit together. The gains were tuned on the odd-numbered topics of Cranfield and CACM, but
// for that of the language.
const (
	rerankDocs  = 100
	rerankWords = 16 // words of the query that are compared, the rarest
	// coverageGain is the share of its score that a document with all words gets on top. With fewer, it falls with the
	// words' part in the sum of idf, to the power of the number of words: in a long query, which no document has all
	// words of, a word more or less says little.
	coverageGain = 0.2
	// proximityGain weighs the proximity of words, in units of the sum of idf.
	proximityGain = 1
	// proximityBeside is what proximity in titles, headings and the other fields beside the body counts of what their
	// weights say, for a field that has all words of the query. With fewer it falls like the gain of coverage: two
	// words of a typed query that are the title say what a page is about, two of a long question do not.
	proximityBeside = 0.5
	// languageGain is the share that a document in the language of the query gets on top of all else: a preference,
	// not a filter, because the guess may be wrong and a page in another language the only one.
	languageGain = 0.2
)

// queryWord is a word of the query that scores, with its forms.
type queryWord struct {
	n   *node
	idf float64
}

// isWord reports whether a node is a word.
func (n *node) isWord() bool { return n.kind == nodeTerm || n.kind == nodeAny }

// words collects the words below n that score, each once and in any field.
func (x *execution) words(n *node, into []queryWord) []queryWord {
	switch n.kind {
	case nodeTerm, nodeAny:
		if !slices.ContainsFunc(into, func(w queryWord) bool { return sameForms(w.n, n) }) {
			anywhere := *n
			anywhere.fields = 0
			into = append(into, queryWord{&anywhere, x.all.idf(x.frequency(n))})
		}
	default:
		for _, list := range [][]*node{n.must, n.should, n.children} {
			for _, c := range list {
				into = x.words(c, into)
			}
		}
	}
	return into
}

func sameForms(a, b *node) bool {
	return a.kind == b.kind && (a.kind == nodeAny || a.term == b.term) &&
		slices.EqualFunc(a.children, b.children, func(a, b *node) bool { return a.term == b.term })
}

// rerank adds what the second phase gives to the candidates, which are sorted, and sorts them again. It looks only at
// those that what it gives at most could bring among the best that are wanted.
func (x *execution) rerank(root *node, best []candidate) {
	words := x.words(root, nil)
	if best = best[:min(len(best), rerankDocs)]; len(words) < 2 || len(best) < 2 {
		return
	}
	slices.SortStableFunc(words, func(a, b queryWord) int { return cmp.Compare(b.idf, a.idf) })
	s := newSecondPhase(x, words[:min(len(words), rerankWords)], best)
	s.require(root)
	if x.on() || x.exhaustive || x.wanted >= len(best) {
		s.look(0, len(best), 0)
	} else {
		first := min(len(best), max(2*x.wanted, rerankFirst))
		s.expect(0, first)
		scores := make([]float64, first)
		for i := range scores {
			scores[i] = best[i].score * s.hopes[i].least
		}
		s.look(0, first, nthLargest(scores, x.wanted))
		for i := range scores {
			scores[i] = s.all[i].score
		}
		need, n := nthLargest(scores, x.wanted), first
		for n < len(best) && best[n].score*s.most.most >= need*(1-1e-12) { // for rounding
			n++
		}
		s.expect(first, n)
		s.look(first, n, need)
	}
	if x.work.over { // some of them looked at and others not: the first phase's order is better
		return
	}
	for i, r := range s.all {
		c := &best[i]
		c.gain, c.base, c.score = r.gained, r.base, r.score
	}
	sortCandidates(best, x.top.rank)
}

// rerankFirst is how many candidates the second phase looks at in any case, and twice as many as are wanted: then it
// knows what the others need.
const rerankFirst = 16

// nthLargest sorts numbers and returns the n-th largest.
func nthLargest(v []float64, n int) float64 {
	slices.Sort(v)
	return v[len(v)-n]
}

// secondPhase looks at candidates of the first.
type secondPhase struct {
	x     *execution
	words []queryWord
	total float64 // sum of idf
	best  []candidate
	all   []ranked // what they become: as they are until they are looked at
	hopes []hope   // of those for which expect was called
	most  hope     // of any candidate

	sure []bool        // words that each candidate has: the query requires them
	keys []string      // of held words
	held [][]*heldWord // by part and word; nil for a word that ranking did not walk as a held one
}

// hope bounds the factor that a candidate's score is multiplied by.
type hope struct{ least, most float64 }

// ranked is what the second phase makes of a candidate.
type ranked struct {
	gained
	base, score float64
}

func newSecondPhase(x *execution, words []queryWord, best []candidate) *secondPhase {
	s := &secondPhase{
		x: x, words: words, best: best, all: make([]ranked, len(best)), hopes: make([]hope, len(best)),
		sure: make([]bool, len(words)), keys: make([]string, len(words)), held: make([][]*heldWord, len(x.parts)),
	}
	for i := range best {
		s.all[i] = ranked{base: best[i].base, score: best[i].score}
	}
	near := 0.0
	for i, w := range words {
		s.keys[i] = w.n.heldKey()
		s.total += w.idf
		near += min(1, w.idf)
	}
	s.most = s.hope(0, s.total, near)
	if len(x.languages) > 0 {
		s.most.most *= 1 + languageGain
	}
	return s
}

// require notes the words that a query requires.
func (s *secondPhase) require(root *node) {
	required := root.must
	if root.kind == nodePhrase {
		required = root.children
	}
	for _, n := range required {
		for w := range s.words {
			s.sure[w] = s.sure[w] || n.isWord() && sameForms(s.words[w].n, n)
		}
	}
}

// coverage is what a document gains by its words.
func (s *secondPhase) coverage(idf float64) float64 {
	return coverageGain * math.Pow(idf/s.total, float64(len(s.words)))
}

// hope bounds the factor, but for the language, of a document with words of which the idf is known to be from least to
// most, and min(1, idf) to sum up to near. The last factors cover rounding.
func (s *secondPhase) hope(least, most, near float64) hope {
	near *= proximityGain * (k1 + 1) / s.total
	return hope{(1 + s.coverage(least)) * (1 - 1e-9), (1 + s.coverage(most) + near) * (1 + 1e-9)}
}

// heldIn returns the words that ranking walked in a part as held ones.
func (s *secondPhase) heldIn(p *part) []*heldWord {
	if s.held[p.number] == nil {
		s.held[p.number] = make([]*heldWord, len(s.words))
		for i, key := range s.keys {
			s.held[p.number][i] = s.x.walked[p.number][key]
		}
	}
	return s.held[p.number]
}

// expect computes the hopes of candidates by what held words say: which of the words a document has.
func (s *secondPhase) expect(from, to int) {
	for i := from; i < to; i++ {
		p, doc := s.best[i].part, s.best[i].doc
		least, most, near, count := 0.0, 0.0, 0.0, 0
		for w, h := range s.heldIn(p) {
			idf := s.words[w].idf
			switch {
			case s.sure[w]:
				least += idf
			case h != nil:
				if !h.has(doc) {
					continue
				}
				least += idf
			}
			most += idf
			near += min(1, idf)
			count++
		}
		if count < 2 {
			near = 0
		}
		h := s.hope(least, most, near)
		switch {
		case p.language != "":
			gain := 1 + s.x.languageGain(p, doc)
			h.least, h.most = h.least*gain, h.most*gain
		case len(s.x.languages) > 0:
			h.most *= 1 + languageGain
		}
		s.hopes[i] = h
	}
}

// look computes what those candidates become that can reach a score. A part's are looked at in the order of its
// documents.
func (s *secondPhase) look(from, to int, need float64) {
	order := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		if need == 0 || s.best[i].score*s.hopes[i].most >= need {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &s.best[i], &s.best[j]
		return cmp.Or(cmp.Compare(a.part.number, b.part.number), cmp.Compare(a.doc, b.doc))
	})
	for len(order) > 0 {
		p, n := s.best[order[0]].part, 1
		for n < len(order) && s.best[order[n]].part == p {
			n++
		}
		s.lookIn(p, order[:n])
		order = order[n:]
	}
}

// lookIn looks at candidates of one part, whose places in best are in the order of documents.
func (s *secondPhase) lookIn(p *part, order []int) {
	factors := newFactors(p, s.x.top.fresh, s.x.work)
	held, its := s.heldIn(p), make([]locator, len(s.words))
	opened := make([]bool, len(s.words))
	var docs []uint32
	seek := func(w int, doc uint32) bool {
		if !opened[w] {
			its[w], opened[w] = s.x.locator(p, s.words[w].n), true
			if l, ok := its[w].(*heldLocator); ok {
				if docs == nil {
					docs = s.docsOf(order)
				}
				l.ahead(docs)
			}
		}
		return its[w] != nil && its[w].seek(doc) == doc && its[w].matches()
	}
	prox, there := proximity{words: s.words}, make([]int, 0, len(s.words))
	read := 0 // positions that are not paid for yet
	for _, i := range order {
		doc, covered := s.best[i].doc, 0.0
		there = there[:0]
		for w := range s.words {
			if s.sure[w] || held[w] != nil && held[w].has(doc) || held[w] == nil && seek(w, doc) {
				covered += s.words[w].idf
				there = append(there, w)
			}
		}
		g := gained{coverage: s.coverage(covered), language: s.x.languageGain(p, doc)}
		if len(there) > 1 && s.x.work.spend(1+read/positionsUnit) { // one word has no other near it
			read = 0
			prox.begin()
			for _, w := range there {
				if seek(w, doc) {
					prox.has(w, its[w].has())
				}
			}
			for _, w := range there {
				for f, has := 0, prox.several&prox.fields[w]; has != 0; f, has = f+1, has>>1 {
					if has&1 != 0 {
						at := its[w].occurrences(f)
						prox.add(f, w, at)
						read += len(at)
					}
				}
			}
			impact := func(f int) float64 { return s.x.table[f][p.norms[f][doc]] }
			g.proximity = proximityGain * prox.score(impact) / s.total
		}
		base := s.best[i].base * g.factor()
		s.all[i] = ranked{g, base, factors.score(doc, base)}
	}
}

// docsOf returns the documents of candidates.
func (s *secondPhase) docsOf(order []int) []uint32 {
	docs := make([]uint32, len(order))
	for n, i := range order {
		docs[n] = s.best[i].doc
	}
	return docs
}

// gained is what the second phase adds to a document's score, in shares of it. It is zero for one it did not look at.
type gained struct{ coverage, proximity, language float64 }

func (g gained) factor() float64 { return (1 + g.coverage + g.proximity) * (1 + g.language) }

// openWords opens words in a part; nil for one that it lacks.
func (x *execution) openWords(p *part, words []queryWord) []locator {
	its := make([]locator, len(words))
	for i, w := range words {
		its[i] = x.locator(p, w.n)
	}
	return its
}

// languageGain returns what a document gains by its language.
func (x *execution) languageGain(p *part, doc uint32) float64 {
	if len(x.languages) == 0 || !x.work.spend(1) {
		return 0
	}
	code := p.language
	if code == "" {
		var err error
		if code, err = p.text(columnLanguage, doc); err != nil {
			x.work.fail(err)
		}
	}
	if code, _, _ = strings.Cut(code, "-"); !slices.Contains(x.languages, code) {
		return 0
	}
	return languageGain
}

// proximity scores how close different words are to each other in a document, after Büttcher, Clarke and Lushman, "Term
// proximity scoring for ad-hoc retrieval on very large text collections" (SIGIR 2006): of each two neighbouring
// occurrences of different words, each word gains the other's idf divided by the square of their distance; what a word
// gained is saturated like a frequency. They had one field. Here the gains of all fields are added as BM25F adds
// frequencies, by the fields' weights and lengths, those beside the body by proximityBeside.
type proximity struct {
	words   []queryWord
	fields  [rerankWords]uint8      // that have a word
	any     uint8                   // fields that have one of the words
	several uint8                   // that have two of them
	places  [fieldCount][]wordPlace // ascending
	own     []wordPlace             // scratch
	gained  [rerankWords]float64
}

// wordPlace is where a word occurs: wordPlaceBits for the word's number, and above them the position. So numbers are in
// the order of positions.
type wordPlace uint64

// wordPlaceBits are enough for rerankWords.
const wordPlaceBits = 4

func (p wordPlace) at() uint64 { return uint64(p >> wordPlaceBits) }
func (p wordPlace) word() int  { return int(p & (1<<wordPlaceBits - 1)) }

func (p *proximity) begin() {
	for f := range p.places {
		p.places[f] = p.places[f][:0]
	}
	p.fields, p.any, p.several = [rerankWords]uint8{}, 0, 0
}

// has notes the fields that have a word.
func (p *proximity) has(word int, fields uint8) {
	p.fields[word] = fields
	p.several |= p.any & fields
	p.any |= fields
}

// add takes the positions of a word in a field, which ascend.
func (p *proximity) add(field, word int, at []uint32) {
	all := p.places[field]
	n := len(all)
	for _, a := range at {
		all = append(all, wordPlace(a)<<wordPlaceBits|wordPlace(word))
	}
	p.places[field] = all
	if n == 0 || len(at) == 0 || all[n-1] < all[n] {
		return
	}
	p.own = append(p.own[:0], all[n:]...)
	for to, i, j := len(all)-1, n-1, len(p.own)-1; j >= 0; to-- { // merged from the end
		if i >= 0 && all[i] > p.own[j] {
			all[to] = all[i]
			i--
		} else {
			all[to] = p.own[j]
			j--
		}
	}
}

// score returns the proximity in a document, given what one occurrence in a field adds to a frequency.
func (p *proximity) score(impact func(field int) float64) (sum float64) {
	p.gained = [rerankWords]float64{}
	for f, places := range p.places {
		if len(places) < 2 {
			continue
		}
		each := impact(f)
		if f != fieldBody {
			each *= proximityBeside * math.Pow(p.coverage(f), float64(len(p.words)))
		}
		for i := 1; i < len(places); i++ {
			a, b := places[i-1], places[i]
			if a.word() == b.word() {
				continue
			}
			d := float64(max(b.at()-a.at(), 1))
			p.gained[a.word()] += each * p.words[b.word()].idf / (d * d)
			p.gained[b.word()] += each * p.words[a.word()].idf / (d * d)
		}
	}
	for i, w := range p.words {
		g := p.gained[i]
		sum += min(1, w.idf) * g * (k1 + 1) / (g + k1)
	}
	return sum
}

// coverage returns the part of the sum of idf that the words of a field have.
func (p *proximity) coverage(field int) float64 {
	covered, total := 0.0, 0.0
	for i, w := range p.words {
		total += w.idf
		if p.fields[i]>>field&1 != 0 {
			covered += w.idf
		}
	}
	return covered / total
}
