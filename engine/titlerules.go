// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage"
)

// titleRules gathers what an indexing learns of hosts' titles, for one ingestion. Any goroutine may add to it: two that
// have pages of one host learn the same.
type titleRules struct {
	mu sync.Mutex
	// rowOf, row of meta → rule, empty: none; noteOf, key of storage.Stale → nothing
	sorter *storage.Sorter
	key    []byte

	looks  *titleLooks
	looked map[uint64]int // what this indexing adds to them
}

const (
	rowOf  = 0
	noteOf = 1
)

// newTitleRules takes over a sorter that keeps one of several values.
func newTitleRules(sorter *storage.Sorter, looks *titleLooks) *titleRules {
	return &titleRules{sorter: sorter, looks: looks, looked: map[uint64]int{}}
}

// due reports whether the first pages of a host are to be looked at, since it has so many. All parts of an indexing get
// the same answer.
func (t *titleRules) due(host []byte, pages int) bool {
	h := xxh3.Hash(host)
	if !t.looks.due(h, pages) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.looked[h] = pages
	return true
}

// put makes a rule, encoded, that of a row.
func (t *titleRules) put(row, rule []byte) error { return t.add(rowOf, row, rule) }

// remove removes a row.
func (t *titleRules) remove(row []byte) error { return t.add(rowOf, row, nil) }

// note notes that the documents of a host have another rule.
func (t *titleRules) note(host []byte) error {
	return t.add(noteOf, append(slices.Clip(host), storage.StaleHost), nil)
}

func (t *titleRules) add(of byte, key, value []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.key = append(append(t.key[:0], of), key...)
	return t.sorter.Add(t.key, value)
}

// write writes all into an ingestion; without noted, no notes: all documents are looked at.
func (t *titleRules) write(ing *storage.Ingestion, noted bool) (err error) {
	run, err := t.sorter.Sort()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	t.looks.note(t.looked)
	rows, notes := ing.Table(storage.Meta()), ing.Table(storage.Stale())
	for run.Next() {
		key, value := run.Key()[1:], run.Value()
		switch {
		case run.Key()[0] == noteOf && noted:
			err = notes.Set(key, nil)
		case run.Key()[0] == noteOf:
		case len(value) == 0:
			err = rows.Delete(key)
		default:
			err = rows.Set(key, value)
		}
		if err != nil {
			return err
		}
	}
	return run.Err()
}

func (t *titleRules) close() error { return t.sorter.Close() }

// titleLooks remembers how many pages hosts had when a rule was last looked for, so that it is looked for again only
// when they have twice as many. Of the first records of a large host few may be fetched for long: it has no rule then,
// or one that is of few pages, and every indexing read those records again. A refresh looks always. Any goroutine may
// use it. The zero value is ready.
type titleLooks struct {
	mu    sync.Mutex
	pages map[uint64]int // by hash of the host key; forgotten when there are titleLooksMax
}

func (l *titleLooks) due(host uint64, pages int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.pages[host]
	return pages < last || pages >= 2*last
}

// note adds looks.
func (l *titleLooks) note(looked map[uint64]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages == nil || len(l.pages)+len(looked) > titleLooksMax {
		l.pages = map[uint64]int{}
	}
	maps.Copy(l.pages, looked)
}
