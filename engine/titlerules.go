// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"slices"
	"sync"

	"github.com/seine-crawler/seine/storage"
)

// titleRules gathers what an indexing learns of hosts' titles, for one ingestion. Any goroutine may add to it: two that
// have pages of one host learn the same.
type titleRules struct {
	mu sync.Mutex
	// rowOf, row of meta → rule, empty: none; noteOf, key of storage.Stale → nothing
	sorter *storage.Sorter
	key    []byte
}

const (
	rowOf  = 0
	noteOf = 1
)

// newTitleRules takes over a sorter that keeps one of several values.
func newTitleRules(sorter *storage.Sorter) *titleRules { return &titleRules{sorter: sorter} }

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
