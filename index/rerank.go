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
	words = words[:min(len(words), rerankWords)]
	all := make([]ranked, len(best))
	first := len(best)
	if !x.on() && !x.exhaustive {
		first = min(first, max(2*x.wanted, rerankFirst))
	}
	x.gain(words, best[:first], all[:first])
	if first < len(best) {
		scores := make([]float64, first)
		for i, r := range all[:first] {
			scores[i] = r.score
		}
		slices.Sort(scores)
		need, most := scores[first-x.wanted], x.mostGain(words)
		n := first
		for n < len(best) && best[n].score*most >= need {
			n++
		}
		x.gain(words, best[first:n], all[first:n])
		all = all[:n]
	}
	if x.work.over { // some of them looked at and others not: the first phase's order is better
		return
	}
	for i, r := range all {
		c := &best[i]
		c.gain, c.base, c.score = r.gained, r.base, r.score
	}
	slices.SortFunc(best, func(a, b candidate) int { return x.top.rank(&a, &b) })
}

// rerankFirst is how many candidates the second phase looks at in any case, and twice as many as are wanted: then it
// knows what the others need.
const rerankFirst = 16

// mostGain returns a bound of gained.factor.
func (x *execution) mostGain(words []queryWord) float64 {
	total, saturated := 0.0, 0.0
	for _, w := range words {
		total += w.idf
		saturated += min(1, w.idf) * (k1 + 1)
	}
	most := 1 + coverageGain + proximityGain*saturated/total
	if len(x.languages) > 0 {
		most *= 1 + languageGain
	}
	return most * (1 + 1e-9)
}

// ranked is what the second phase makes of a candidate.
type ranked struct {
	gained
	base, score float64
}

// gain computes what candidates become. A part's are looked at in the order of its documents.
func (x *execution) gain(words []queryWord, best []candidate, into []ranked) {
	order := make([]int, len(best))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(best[i].part.number, best[j].part.number), cmp.Compare(best[i].doc, best[j].doc))
	})
	for from := 0; from < len(order); {
		p, to := best[order[from]].part, from+1
		for to < len(order) && best[order[to]].part == p {
			to++
		}
		factors := newFactors(p, x.top.fresh, x.work)
		x.gains(p, words, best, order[from:to], func(i int, g gained) {
			base := best[i].base * g.factor()
			into[i] = ranked{g, base, factors.score(best[i].doc, base)}
		})
		from = to
	}
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

// gains calls fn with what candidates of one part gain, whose places in best are in the order of documents.
func (x *execution) gains(p *part, words []queryWord, best []candidate, order []int, fn func(i int, g gained)) {
	its, total := x.openWords(p, words), 0.0
	for _, w := range words {
		total += w.idf
	}
	prox := proximity{words: words}
	for _, i := range order {
		doc, covered := best[i].doc, 0.0
		prox.begin()
		for w, it := range its {
			if it == nil || it.seek(doc) != doc || !it.matches() {
				continue
			}
			covered += words[w].idf
			for f, has := 0, it.has(); has != 0; f, has = f+1, has>>1 {
				if has&1 != 0 {
					prox.add(f, w, it.occurrences(f))
				}
			}
		}
		coverage := math.Pow(covered/total, float64(len(words)))
		impact := func(f int) float64 { return x.table[f][p.norms[f][doc]] }
		fn(i, gained{coverageGain * coverage, proximityGain * prox.score(impact) / total, x.languageGain(p, doc)})
	}
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
	words  []queryWord
	places [fieldCount][]wordPlace // of all words
	gained []float64
	seen   [rerankWords]bool
}

// wordPlace is where a word occurs.
type wordPlace struct {
	at   uint32
	word int
}

func (p *proximity) begin() {
	for f := range p.places {
		p.places[f] = p.places[f][:0]
	}
}

func (p *proximity) add(field, word int, at []uint32) {
	for _, a := range at {
		p.places[field] = append(p.places[field], wordPlace{a, word})
	}
}

// score returns the proximity in a document, given what one occurrence in a field adds to a frequency.
func (p *proximity) score(impact func(field int) float64) (sum float64) {
	p.gained = append(p.gained[:0], make([]float64, len(p.words))...)
	for f, places := range p.places {
		if len(places) < 2 {
			continue
		}
		slices.SortFunc(places, func(a, b wordPlace) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.word, b.word))
		})
		each := impact(f)
		if f != fieldBody {
			each *= proximityBeside * math.Pow(p.coverage(places), float64(len(p.words)))
		}
		for i := 1; i < len(places); i++ {
			a, b := places[i-1], places[i]
			if a.word == b.word {
				continue
			}
			d := float64(max(b.at-a.at, 1))
			p.gained[a.word] += each * p.words[b.word].idf / (d * d)
			p.gained[b.word] += each * p.words[a.word].idf / (d * d)
		}
	}
	for i, g := range p.gained {
		sum += min(1, p.words[i].idf) * g * (k1 + 1) / (g + k1)
	}
	return sum
}

// coverage returns the part of the sum of idf that the words at some places have.
func (p *proximity) coverage(places []wordPlace) float64 {
	clear(p.seen[:])
	covered, total := 0.0, 0.0
	for _, at := range places {
		p.seen[at.word] = true
	}
	for i, w := range p.words {
		total += w.idf
		if p.seen[i] {
			covered += w.idf
		}
	}
	return covered / total
}
