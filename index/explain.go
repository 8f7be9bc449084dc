// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math/bits"
	"time"
)

// Explanation is a number with how it came about: Details are what Description says they are, as in "sum of". It is for
// people: descriptions may change. Sums, and the product at the root of Hit.Explanation, are exact; the score of a word
// is rounded to a 2^26th.
type Explanation struct {
	Value       float64       `json:"value"`
	Description string        `json:"description"`
	Details     []Explanation `json:"details,omitempty"`
}

// explainer takes the score of one document apart. It opens the query's iterators once more and asks them, so that it
// says what they do: it computes no score of its own.
type explainer struct {
	x    *execution
	part *part
	doc  uint32
}

// explainAll explains the hits of candidates. It gets ExplainTime beyond the search's own; what it has not explained by
// then has no explanation.
func (x *execution) explainAll(root *node, best []candidate, hits []Hit) error {
	work := x.work
	defer func() { x.work = work }()
	x.work = newBudget(work.ctx, work.now().Add(ExplainTime))
	x.work.now = work.now
	for i := range hits {
		e := x.explain(root, &best[i])
		if x.work.err != nil {
			return x.work.err
		}
		if x.work.over {
			return nil
		}
		hits[i].Explanation = &e
	}
	return nil
}

// explain explains the score of a candidate.
func (x *execution) explain(root *node, c *candidate) Explanation {
	e := explainer{x, c.part, c.doc}
	words, _ := e.node(root, 1)
	out := Explanation{Value: c.score, Description: "score: product of", Details: []Explanation{words}}
	if c.gain != (gained{}) {
		out.Details = append(out.Details, Explanation{
			Value: 1 + c.gain.coverage + c.gain.proximity, Description: "several words together: 1 and sum of",
			Details: []Explanation{
				{Value: c.gain.coverage, Description: "coverage: the part of the query's words that is there"},
				{Value: c.gain.proximity, Description: "proximity: how close the words are to each other"},
			},
		})
	}
	if c.gain.language != 0 {
		out.Details = append(out.Details, Explanation{
			Value: 1 + c.gain.language, Description: "the page is in the language of the query",
		})
	}
	f := newFactors(c.part, x.top.fresh, x.work)
	boost, fresh := f.of(c.doc)
	if boost != 1 {
		out.Details = append(out.Details, Explanation{Value: boost, Description: "boost of the page"})
	}
	if f.fresh != nil && f.block >= 0 {
		out.Details = append(out.Details, Explanation{
			Value: fresh, Description: f.fresh.describe(f.dates.numbers[c.doc%normDocs]),
		})
	}
	return out
}

// describe explains a factor.
func (f *freshness) describe(date uint64) string {
	ms, ok := columnTimeMS(date)
	if !ok {
		return "freshness: the page has no date"
	}
	return fmt.Sprintf("freshness: 1/2 + 2^(-age / half-life), half-life %s, date %s", f.halfLife,
		time.UnixMilli(ms).UTC().Format(time.DateOnly))
}

// node explains what a part of the query adds to the document's score; ok is false if the document does not match it.
func (e explainer) node(n *node, boost float64) (out Explanation, ok bool) {
	it := e.x.open(e.part, n, boost)
	if it == nil || it.seek(e.doc) != e.doc || !it.matches() {
		return out, false
	}
	out.Value = float64(it.score()) / pointScale
	boost *= n.factor()
	switch n.kind {
	case nodeTerm, nodeAny:
		e.word(&out, n, it, boost)
	case nodePhrase:
		out.Description = fmt.Sprintf("phrase %s: sum of", n)
		words := make([]*node, len(n.children))
		for i, c := range n.children {
			words[i] = n.phraseWord(c)
		}
		out.Details = e.all(words, boost)
	case nodeBool:
		out.Description = "words: sum of"
		out.Details = append(e.all(n.must, boost), e.all(n.should, boost)...)
	default:
		out.Description = "filter " + n.String()
	}
	return out, true
}

// all explains the nodes that match.
func (e explainer) all(nodes []*node, boost float64) (list []Explanation) {
	for _, n := range nodes {
		if d, ok := e.node(n, boost); ok {
			list = append(list, d)
		}
	}
	return list
}

// word explains the score of a word, which an iterator at the document gives.
func (e explainer) word(out *Explanation, n *node, it iterator, boost float64) {
	var tf Explanation
	var g gain
	switch it := it.(type) {
	case *termIter:
		g, tf = it.gain, e.frequency(&it.weigher, it.cursor, it.fields)
	case *anyIter:
		g = it.gain
		forms := e.forms(n)
		for i, c := range it.forms[:min(len(forms), len(it.forms))] { // fewer when the time is up
			if it.at[i] != e.doc || !c.freqs() {
				continue
			}
			form := e.frequency(&it.weigher, c, it.fields)
			form.Value *= it.weights[i]
			form.Description = fmt.Sprintf("form %s: weight %.3g × sum of", forms[i], it.weights[i])
			tf.Value += form.Value
			tf.Details = append(tf.Details, form)
		}
	}
	tf.Description = "weighted frequency: sum of"
	out.Description = fmt.Sprintf("word %s: product of", n)
	have := fmt.Sprintf("idf: %d of %d pages have it", e.x.frequency(n), e.x.all.docs)
	if len(n.children) > 1 {
		have += ", counted once for each of its forms"
	}
	out.Details = []Explanation{
		{Value: float64(g) / (boost * (k1 + 1) * pointScale), Description: have},
		{Value: 1 - k1/(k1+tf.Value), Description: fmt.Sprintf("saturation: tf / (tf + %g) of", float64(k1)),
			Details: []Explanation{tf}},
		{Value: k1 + 1, Description: "what a frequency without end is worth"},
	}
	if boost != 1 {
		out.Details = append(out.Details, Explanation{Value: boost, Description: "^ in the query"})
	}
}

// forms returns the forms of a word that the part has, as an iterator has them.
func (e explainer) forms(n *node) (terms []string) {
	for _, c := range n.children {
		if e.x.list(e.part, c.term) != nil {
			terms = append(terms, c.term)
		}
	}
	return terms
}

// explainFields are the names of the fields.
var explainFields = [fieldCount]string{
	fieldBody: "content", fieldTitle: "title", fieldAnchor: "anchors", fieldURL: "URL",
	fieldAround: "around the content", fieldHeadings: "headings",
}

// frequency explains the weighted frequency of a term in the document that a cursor stands at.
func (e explainer) frequency(w *weigher, c *cursor, fields fieldMask) (tf Explanation) {
	if !c.freqs() {
		return tf
	}
	averages := e.x.all.averages()
	for have := fields.cut(c.freq.mask[c.i]); have != 0; have &= have - 1 {
		f := bits.TrailingZeros(uint(have))
		code, n := w.norms[f][e.doc], c.freq.n[f][c.i]
		tf.Details = append(tf.Details, Explanation{
			Value: float64(n) * w.table[f][code],
			Description: fmt.Sprintf("%s: %d × weight %g, length %g, average %.1f",
				explainFields[f], n, fieldWeight[f], normLength[code], averages[f]),
		})
	}
	tf.Value = w.weight(c, fields)
	return tf
}
