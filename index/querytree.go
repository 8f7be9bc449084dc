// SPDX-License-Identifier: Apache-2.0

package index

// node is a part of a query.
type node struct {
	kind nodeKind
	// nodeBool: all of must; if must is empty at least one of should; none of not. should only adds to the score. With
	// not alone it is all documents but these.
	must, should, not []*node
	children          []*node   // nodePhrase: terms or nodeAny; nodeAny: terms, the forms of one word
	term              string    // nodeTerm
	fields            fieldMask // a bit per field; 0: any field
	at                []int     // nodePhrase: position of each child relative to the first
	slop              int       // nodePhrase: 0 = exact; else the displacement allowed
	boost             float64   // factor of the node's score; 0 means 1
	weight            float64   // of a form below nodeAny; 0 means 1
	from, to          string    // nodeKeys: URL keys, from inclusive, to exclusive
}

type nodeKind uint8

const (
	nodeTerm nodeKind = iota
	nodePhrase
	nodeBool
	nodeAny
	nodeKeys
	nodeValue
	nodeNone
)
