// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"
	"strconv"
	"strings"
)

// String returns the query as it was understood, in the query language: a must part has a + unless it is required by
// nature, other parts are alternatives. ParseQuery and ParseStrict make the same query of it.
func (q Query) String() string {
	if q.root == nil {
		return ""
	}
	return q.root.String()
}

// String returns a tree as a query. Parts of a group stand in the order must, should, not.
func (n *node) String() string {
	var b strings.Builder
	n.print(&b, true)
	return b.String()
}

// fieldNames are the names of field masks, as String writes them.
var fieldNames = map[fieldMask]string{
	titleMask: "title:", urlMask: "url:", anchorMask: "anchor:", headingsMask: "headings:", bodyMask: "body:",
}

func (n *node) print(b *strings.Builder, top bool) {
	switch n.kind {
	case nodeBool:
		if !top {
			b.WriteByte('(')
			defer b.WriteByte(')')
		}
		n.printParts(b)
		return
	case nodeAny: // only after expansion
		b.WriteByte('{')
		for i, c := range n.children {
			if i > 0 {
				b.WriteByte(' ')
			}
			c.print(b, false)
		}
		b.WriteByte('}')
	case nodeNone:
		b.WriteString(nothing)
	case nodePhrase:
		b.WriteString(n.printField() + `"` + n.term + `"`)
		if n.slop > 0 {
			b.WriteString("~" + strconv.Itoa(n.slop))
		}
	default:
		b.WriteString(fieldNames[n.fields] + printTerm(n.term))
		if n.kind == nodePrefix {
			b.WriteByte('*')
		}
		if n.kind == nodeFuzzy {
			b.WriteString("~" + strconv.Itoa(n.edits))
		}
	}
	if n.boost != 0 {
		b.WriteString("^" + strconv.FormatFloat(n.boost, 'f', -1, 64))
	}
}

// either reports whether two nodes are filters of which one would be enough if they stood in a row without a sign.
func (n *node) either(other *node) bool {
	if n.kind != nodeKeys && n.kind != nodeValue || n.kind != other.kind {
		return false
	}
	name, _, _ := strings.Cut(n.term, ":")
	same, _, _ := strings.Cut(other.term, ":")
	f := queryFields[name] // nil for a stored field
	return name == same && f != nil && f.either
}

// printParts writes the parts of a nodeBool. Alternatives that would be required in a row have a ?, or OR between them
// if all would be.
func (n *node) printParts(b *strings.Builder) {
	sep := ""
	part := func(sign string, c *node) {
		b.WriteString(sep + sign)
		c.print(b, false)
		sep = " "
	}
	for _, c := range n.must {
		if c.strict() && !(slices.ContainsFunc(n.must, func(o *node) bool { return o != c && o.either(c) })) {
			part("", c)
		} else {
			part("+", c)
		}
	}
	loose := slices.ContainsFunc(n.should, func(c *node) bool { return !c.strict() })
	alone := len(n.must)+len(n.not) == 0
	for i, c := range n.should {
		switch {
		case !c.strict():
			part("", c)
		case loose || !alone:
			part("?", c)
		default:
			if i > 0 {
				sep = " OR "
			}
			part("", c)
		}
	}
	for _, c := range n.not {
		part("-", c)
	}
}
