// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math"
	"slices"
)

// node is a part of a query. A parsed tree is in normal form (see newBool): boosts stand at what scores, not at
// nodeBool; nil is the query without words.
type node struct {
	kind nodeKind
	// Of nodeBool: all of must; if must is empty, at least one of should; none of not. Beside must, should only adds to
	// the score. With not alone, all other documents match.
	must, should, not []*node

	children []*node   // of nodePhrase: terms or nodeAny; of nodeAny: terms, the forms of one word
	term     string    // of nodeTerm, nodePrefix, nodeFuzzy: folded, not stemmed; else the node's text for String
	fields   fieldMask // fields that count; 0: any
	at       []int     // of nodePhrase: position of each child relative to the first
	slop     int       // of nodePhrase: 0: exact; else how far the words may be out of place in all
	edits    int       // of nodeFuzzy: 1 or 2
	boost    float64   // factor of the node's score; 0 means 1
	weight   float64   // of a form below nodeAny; 0 means 1
	from, to string    // of nodeKeys: URL keys, from inclusive, to exclusive
	more     *node     // of nodeKeys: an interval behind that one which counts as well
	path     string    // of nodeKeys: beginning of the paths that count in it; "": all do

	// Of nodeValue: documents whose value is in texts (language codes; media types, "image/" for all images), or from
	// lo to hi, both inclusive (dates in Unix seconds, sizes in bytes). math.MinInt64 and math.MaxInt64 are open ends.
	value  valueKind
	lo, hi int64
	texts  []string
}

type nodeKind uint8

const (
	nodeNone   nodeKind = iota // matches nothing
	nodeTerm                   // documents with a term
	nodePhrase                 // documents with its children in a row, in one field
	nodeBool
	nodeAny    // several forms of one word, which score as one term
	nodePrefix // expands to nodeAny
	nodeFuzzy  // expands to nodeAny
	nodeKeys   // an interval of URL keys: a host or domain; scores 0
	nodeValue  // a value in a column; scores 0
)

// valueKind is a column of values beside documents.
type valueKind uint8

const (
	valueLanguage valueKind = iota + 1
	valueType
	valueDate
	valueFetched
	valueSize
	valueField // a number of a stored field: terms from `from` to `to`
)

// fieldMask has a bit for each field of a document.
type fieldMask uint8

// filters reports whether a node only filters: it has no score.
func (n *node) filters() bool {
	switch n.kind {
	case nodeNone, nodeKeys, nodeValue:
		return true
	case nodeBool:
		return !slices.ContainsFunc(n.must, (*node).scores) && !slices.ContainsFunc(n.should, (*node).scores)
	}
	return false
}

func (n *node) scores() bool { return !n.filters() }

// strict reports whether a node is required where it stands beside words: a phrase, a filter, a word in a field, or a
// combination of these only.
func (n *node) strict() bool {
	switch n.kind {
	case nodePhrase, nodeNone, nodeKeys, nodeValue:
		return true
	case nodeBool:
		loose := func(c *node) bool { return !c.strict() }
		return len(n.must)+len(n.should) > 0 && !slices.ContainsFunc(n.must, loose) &&
			!slices.ContainsFunc(n.should, loose)
	}
	return n.fields != 0
}

// Bounds of a boost, which is a multiple of boostStep, so that sums print and parse without loss.
const (
	boostStep = 0.001
	boostMax  = 1000
)

func roundBoost(f float64) float64 {
	return min(max(math.Round(f/boostStep), 1), boostMax/boostStep) * boostStep
}

func (n *node) factor() float64 {
	if n.boost == 0 {
		return 1
	}
	return n.boost
}

// scale multiplies the boosts of all that scores in a tree. The factor of a sum is that of its parts.
func (n *node) scale(f float64) {
	switch {
	case n.kind == nodeBool:
		for _, c := range slices.Concat(n.must, n.should) {
			c.scale(f)
		}
	case n.scores() && !n.wholeValue():
		n.boost = roundBoost(n.factor() * f)
	}
}

// height counts the groups that are nested in a node.
func (n *node) height() int {
	if n.kind != nodeBool {
		return 0
	}
	h := 0
	for _, list := range [][]*node{n.must, n.should, n.not} {
		for _, c := range list {
			h = max(h, c.height())
		}
	}
	return h + 1
}

// newBool combines nodes, nil ones left out, in a normal form: equal queries have equal trees, and String of a tree
// parses to it again.
//
//   - A part that is a disjunction dissolves in should and in not, a conjunction in must.
//   - A word that occurs more than once in a list is there once, with the sum of the boosts.
//   - An English function word without a boost is left out of should beside other words.
//   - Where must only filters, should is a part of must: a filter never stands for the words.
//   - What has one part is this part. Without parts the result is nil.
//
// A part of maxDepth groups in each other is left out; cut reports that.
func newBool(must, should, not []*node) (n *node, cut bool) {
	n = &node{kind: nodeBool}
	for _, c := range must {
		if c = bounded(c, &cut); c == nil {
			continue
		}
		if c.kind == nodeBool && len(c.must) > 0 && len(c.should) == 0 {
			n.must, n.not = append(n.must, c.must...), append(n.not, c.not...)
			continue
		}
		n.must = append(n.must, c)
	}
	for _, c := range should {
		if c = bounded(c, &cut); c != nil {
			n.should = appendParts(n.should, c)
		}
	}
	for _, c := range not {
		if c = bounded(c, &cut); c != nil {
			c.unboost()
			n.not = appendParts(n.not, c)
		}
	}
	n.must, n.should, n.not = sumTerms(n.must), sumTerms(n.should), sumTerms(n.not)
	for _, c := range n.not {
		c.unboost()
	}
	n.dropFunctionWords(0)
	if len(n.must) > 0 && len(n.should) > 0 && !slices.ContainsFunc(n.must, (*node).scores) {
		words, more := newBool(nil, n.should, nil)
		all, most := newBool(append(n.must, words), nil, n.not)
		return all, cut || more || most
	}
	switch {
	case len(n.must)+len(n.should)+len(n.not) == 0:
		return nil, cut
	case len(n.must) == 1 && len(n.should)+len(n.not) == 0:
		return n.must[0], cut
	case len(n.should) == 1 && len(n.must)+len(n.not) == 0:
		return n.should[0], cut
	}
	return n, cut
}

// bounded returns a part, or nil and cut set if groups are nested too deeply in it.
func bounded(c *node, cut *bool) *node {
	if c != nil && c.height() >= maxDepth {
		*cut = true
		return nil
	}
	return c
}

// appendParts appends a part of a disjunction, or the parts of a part that is one.
func appendParts(list []*node, c *node) []*node {
	if c.kind == nodeBool && len(c.must)+len(c.not) == 0 {
		return append(list, c.should...)
	}
	return append(list, c)
}

// unboost removes the boosts of what is excluded. A boost that makes a function word count becomes 1.
func (n *node) unboost() {
	if n.kind == nodeTerm && functionWords[n.term] != 0 {
		n.boost = math.Ceil(min(n.boost, 1))
	} else {
		n.boost = 0
	}
	for _, list := range [][]*node{n.must, n.should, n.not} {
		for _, c := range list {
			c.unboost()
		}
	}
}

// sumTerms adds the boosts of a word's occurrences at the first of them. Function words stay without boost: boosted
// ones would count. Whole values have none.
func sumTerms(list []*node) []*node {
	out := list[:0:0]
next:
	for _, c := range list {
		if c.kind == nodeTerm {
			for _, o := range out {
				if o.kind == nodeTerm && o.term == c.term && o.fields == c.fields {
					if !c.wholeValue() && (!o.plain() || !c.plain() || functionWords[c.term] == 0) {
						o.boost = roundBoost(o.factor() + c.factor())
					}
					continue next
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// dropFunctionWords leaves out of should what is a function word of English, or of all of some languages, if anything
// else scores.
func (n *node) dropFunctionWords(languages uint32) {
	function := func(c *node) bool {
		of := functionWords[c.term]
		return c.plain() && of != 0 && (of&englishWords != 0 || languages != 0 && of&languages == languages)
	}
	other := slices.ContainsFunc(n.must, (*node).scores) ||
		slices.ContainsFunc(n.should, func(c *node) bool { return c.scores() && !function(c) })
	if other {
		n.should = slices.DeleteFunc(n.should, function)
	}
	if len(n.should) == 0 {
		n.should = nil
	}
}
