// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// GraphNodes says what a node of the link graph is.
type GraphNodes uint8

// The kinds of nodes.
const (
	NodePages   GraphNodes = iota // each record of crawldb
	NodeHosts                     // each host that has one
	NodeDomains                   // each registered domain that has one
)

// nodeOf is the name of a URL's node: a prefix of its key.
func (n GraphNodes) nodeOf(key []byte) []byte {
	switch n {
	case NodeHosts:
		return urlkey.HostKeyOf(key)
	case NodeDomains:
		return key[:len(urlkey.HostKey(urlkey.HostKeyOf(key)).DomainKey())]
	}
	return key
}

// nodeWalk walks the records of crawldb in the order of keys, and numbers their nodes.
type nodeWalk struct {
	nodes  GraphNodes
	sc     *storage.Scanner
	ok     bool
	number int // of the current record's node; -1 before the first
	node   []byte
	host   []byte

	around domainNumbers
	count  int    // the number of the next node, unless around has another
	passed []byte // the node before the current one
	before int    // the number of that

	// domains, if not nil, numbers domains: each has one number, which may be less than the one before.
	domains *urlkey.DomainWalk
}

// newNodeWalk numbers nodes in the order in which they come. A domain that comes again, after those of a public suffix
// below it, has another number then: newGraphWalk knows better.
func newNodeWalk(rd storage.Reader, nodes GraphNodes) *nodeWalk {
	return &nodeWalk{nodes: nodes, sc: rd.Scan(storage.Crawldb(), nil, nil), number: -1}
}

// newGraphWalk gives each node one number, by what numberDomains found.
func newGraphWalk(rd storage.Reader, nodes GraphNodes, around domainNumbers) *nodeWalk {
	w := newNodeWalk(rd, nodes)
	w.around = around
	return w
}

// newDomainWalk numbers domains for those who only tell them apart: in the order in which they begin.
func newDomainWalk(rd storage.Reader) *nodeWalk {
	w := newNodeWalk(rd, NodeDomains)
	w.domains = new(urlkey.DomainWalk)
	return w
}

// next moves to the next record; false at the end, and on errors.
func (w *nodeWalk) next() bool {
	if w.ok = w.sc.Next(); !w.ok {
		return false
	}
	key := w.sc.Key()
	if w.nodes == NodePages {
		w.number++
		return true
	}
	if len(w.host) > 0 && bytes.HasPrefix(key, w.host) {
		return true
	}
	w.host = append(w.host[:0], urlkey.HostKeyOf(key)...)
	if w.domains != nil {
		w.number, _ = w.domains.Next(urlkey.HostKey(w.host))
		return true
	}
	if node := w.nodes.nodeOf(key); w.number < 0 || !bytes.Equal(node, w.node) {
		w.passed, w.before = append(w.passed[:0], w.node...), w.number
		w.node = append(w.node[:0], node...)
		again, ok := w.around[string(node)]
		if w.number = w.count; ok {
			w.number = again
		}
		if w.number == w.count {
			w.count++
		}
	}
	return true
}

// seek moves to the first record at or after a key. Keys must not decrease from call to call.
func (w *nodeWalk) seek(key []byte) {
	if w.number < 0 && !w.ok {
		w.next()
	}
	for w.ok && bytes.Compare(w.sc.Key(), key) < 0 {
		w.next()
	}
}

// find returns the number of the node of a page that crawldb need not have, if it has one of that node. The keys of
// pages must not decrease from call to call.
func (w *nodeWalk) find(page []byte) (number int, known bool) {
	name := w.nodes.nodeOf(page)
	if number, known = w.around[string(name)]; known {
		return number, true
	}
	w.seek(name)
	switch {
	case w.nodes == NodePages:
		return w.number, w.ok && bytes.Equal(w.sc.Key(), name)
	case w.ok && bytes.Equal(w.node, name):
		return w.number, true
	}
	// A page of a domain that crawldb does not know, below a public suffix below this one, may have come in between.
	return w.before, bytes.Equal(w.passed, name)
}

// domainNumbers are the numbers of the domains that have others before, between or behind their hosts: those of a
// public suffix below, as s3.amazonaws.com is below amazonaws.com. All other nodes have their records in a row. Nodes
// are numbered in the order of their last records, so records of these domains may come before those of nodes with
// lesser numbers. There are few such domains: each belongs to an entry of the list of public suffixes, or matches one.
type domainNumbers map[string]int

// numberDomains finds these domains, if the nodes are domains.
func numberDomains(ctx context.Context, rd storage.Reader, nodes GraphNodes) (_ domainNumbers, err error) {
	if nodes != NodeDomains {
		return nil, nil
	}
	type domain struct {
		name          string
		last, singles int // run of its last hosts, and how many of other domains with one run come before
	}
	walk := newDomainWalk(rd)
	defer func() { err = errors.Join(err, walk.sc.Close()) }()
	found := map[int]*domain{}
	now, name, runs, singles := -1, "", 0, 0
	for n := 0; walk.next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if walk.number == now {
			continue
		}
		before := name
		name = urlkey.HostKey(walk.host).DomainKey()
		if now >= 0 && found[now] == nil && walk.domains.Within(now) { // this one is within that before
			singles--
			found[now] = &domain{before, runs - 1, singles}
		}
		switch d := found[walk.number]; {
		case d != nil:
			d.last, d.singles = runs, singles
		case strings.HasPrefix(before, name): // that before is within this one
			found[walk.number] = &domain{name, runs, singles}
		default:
			singles++
		}
		now = walk.number
		runs++
	}
	order := make([]*domain, 0, len(found))
	for _, d := range found {
		order = append(order, d)
	}
	slices.SortFunc(order, func(a, b *domain) int { return cmp.Compare(a.last, b.last) })
	numbers := domainNumbers{}
	for i, d := range order {
		numbers[d.name] = d.singles + i
	}
	return numbers, walk.sc.Err()
}
