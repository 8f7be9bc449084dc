// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// A group of near-duplicates takes the place of a signature among the pages and groups of a dedup: eight zero bytes,
// then its number. No page has such a signature but one in 2^64.
func appendNearKey(dst []byte, group storage.SimHash) []byte {
	return group.Append(append(dst, 0, 0, 0, 0, 0, 0, 0, 0))
}

func isNearKey(signature []byte) bool { return bytes.HasPrefix(signature, make([]byte, 8)) }

// groupedPages gathers pages whose records a dedup looks up, each with its group. It belongs to one goroutine.
type groupedPages struct {
	lone         bool            // pages that are alone are looked up, too
	pages        *storage.Sorter // key → group, and a byte if it is alone
	group, first []byte          // the group whose pages are being added; its first page, while there is no other
	value        []byte
}

// addEntry adds the page of an entry of the range of signatures.
func (g *groupedPages) addEntry(entry []byte) error {
	signature, page, err := storage.SplitSignatureKey(entry)
	if err != nil {
		return err
	}
	return g.add(signature[:], page)
}

// addNear adds the page of a key of a fingerprint to a group.
func (g *groupedPages) addNear(group, entry []byte) error {
	_, page, err := storage.SplitNearPageKey(entry)
	if err != nil {
		return err
	}
	return g.add(group, page)
}

// add adds a page. The pages of a group come together, and at last endGroup is called: a page that no other of its
// group follows is alone.
func (g *groupedPages) add(group, page []byte) error {
	if !bytes.Equal(group, g.group) {
		err := g.endGroup(true)
		g.group, g.first = append(g.group[:0], group...), append(g.first[:0], page...)
		return err
	}
	if len(g.first) > 0 {
		if err := g.lookUp(g.first, false); err != nil {
			return err
		}
		g.first = g.first[:0]
	}
	return g.lookUp(page, false)
}

// endGroup ends the group whose pages are being added; whole: it has no others.
func (g *groupedPages) endGroup(whole bool) (err error) {
	if len(g.first) > 0 && (g.lone || !whole) {
		err = g.lookUp(g.first, whole)
	}
	g.group, g.first = g.group[:0], g.first[:0]
	return err
}

// lookUp adds a page of the current group.
func (g *groupedPages) lookUp(page []byte, alone bool) error {
	g.value = append(g.value[:0], g.group...)
	if alone {
		g.value = append(g.value, 1)
	}
	if err := g.pages.Add(page, g.value); err != nil {
		return fmt.Errorf("sorting pages: %w", err)
	}
	return nil
}

// pageLoader adds the pages of a part of crawldb that need a decision to their groups. It belongs to one goroutine.
type pageLoader struct {
	p        *Phases
	order    []DedupKey
	markNear bool
	fresh    []uint32    // segments whose pages the trap watch is to see
	watching *sync.Mutex // held to tell it: there may be other loaders
	groups   *storage.Sorter

	duplicates uint64 // pages that are marked
	key        []byte
}

// one is called with each page and its record. Of those alone with their signature, which most are, only duplicates
// need a decision. (A signature that a page had before is only a memory, and so is that of a page that is gone or
// redirects.)
func (l *pageLoader) one(key []byte, values [][]byte, old []byte) error {
	if old == nil {
		return nil
	}
	var r storage.Record
	if err := storage.DecodeRecord(old, &r); err != nil {
		return fmt.Errorf("crawldb record %s: %w", key, err)
	}
	switch r.Status {
	case storage.StatusFetched, storage.StatusNotModified, storage.StatusDuplicate:
	default:
		return nil
	}
	if !r.Signature.IsZero() && slices.Contains(l.fresh, r.Segment) && l.p.env.Admission.WatchesTraps() {
		l.watching.Lock()
		l.p.env.Admission.Page(key)
		l.watching.Unlock()
	}
	if len(values[0]) == 0 { // it is alone
		return nil
	}
	signature, alone := values[0][:len(r.Signature)], len(values[0]) > len(r.Signature)
	if alone && r.Status != storage.StatusDuplicate || l.markNear && r.Near() != 0 && !isNearKey(signature) {
		return nil
	}
	if r.Status == storage.StatusDuplicate {
		l.duplicates++
	}
	u, err := urlkey.Key(key).URL()
	if err != nil {
		return fmt.Errorf("crawldb record %s: %w", key, err)
	}
	if l.p.env.Admission.Denied(u) { // it is not found, so it must hide no page that is
		return nil
	}
	l.key = append(appendRank(append(l.key[:0], signature...), l.order, key, &r), key...)
	if err := l.groups.Add(l.key, old); err != nil {
		return fmt.Errorf("sorting groups: %w", err)
	}
	return nil
}
