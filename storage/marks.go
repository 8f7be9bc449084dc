// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// A mark says that a phase over everything has come to its end, so that the next one has nothing to do: dedup of all
// pages, or a refresh of all documents. It is written in the ingestion that ends the phase. Every ingestion that
// changes what such phases read deletes all marks:
//
//	crawldb, linkdb, near    written, or deleted from
//	a whole kind of index    deleted: the index is made again
//
// So a mark that is there is true, whatever happened in between; of that of a refresh, stale.go says how it may stay.
// What a mark is about besides, such as settings, is in its value. There are none after the upgrade of an older store.

// Moment counts the ingestions of this process that deleted marks, or would have. It waits for one that is about to
// end. A phase that asks before it reads anything, and gives the answer to Ingestion.Mark, leaves a mark only if
// nothing changed meanwhile.
func (s *Store) Moment() uint64 {
	s.segments.Lock()
	defer s.segments.Unlock()
	return s.moment
}

// Mark returns the value of a mark; ok is false if there is none, or no more.
func (s *Store) Mark(name string) (value []byte, ok bool, err error) {
	if value, ok, err = s.Get(Marks(), []byte(name), nil); err != nil {
		err = fmt.Errorf("reading mark %q: %w", name, err)
	}
	return value, ok, err
}

// Mark makes a mark part of the ingestion: Commit writes it if no other ingestion has deleted marks since a Moment.
func (in *Ingestion) Mark(name string, value []byte, since uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.marks = append(in.marks, mark{name, bytes.Clone(value), since})
}

// firstName is before all names of marks.
var firstName = []byte{1}

// mark is one that is to be written.
type mark struct {
	name  string
	value []byte
	since uint64
}

// unmarks reports whether the ingestion changes what marks are about.
func (in *Ingestion) unmarks() bool {
	for r := range in.tables {
		if in.written(r) > 0 && r.marked() {
			return true
		}
	}
	for r := range in.deleted {
		if r.prefix[0] == tagIndex || r.marked() {
			return true
		}
	}
	return false
}

// marked reports whether marks are about a range.
func (r Range) marked() bool { return r == Crawldb() || r == Linkdb() || r.prefix[0] == tagNear }

// changeMarks returns the marks that change, nil for those that go, in the order of names. Called with the store's
// segments lock.
func (in *Ingestion) changeMarks() (names []string, values map[string][]byte, err error) {
	values = map[string][]byte{}
	if in.drops {
		values[refreshMark] = nil
	}
	for _, m := range in.marks {
		if m.since == in.s.moment {
			values[m.name] = m.value
		}
	}
	if in.unmarks() {
		in.s.moment++
		sc := in.s.Scan(Marks(), firstName, nil)
		for sc.Next() {
			stays := in.keeps && string(sc.Key()) == refreshMark
			if _, again := values[string(sc.Key())]; !again && !stays {
				values[string(sc.Key())] = nil
			}
		}
		if err := sc.Close(); err != nil {
			return nil, nil, fmt.Errorf("reading marks: %w", err)
		}
	}
	return slices.Sorted(maps.Keys(values)), values, nil
}

// writeMarks writes the marks that change. Called with the store's segments lock.
func (in *Ingestion) writeMarks(begin func() (pebbleWriter, error)) error {
	names, values, err := in.changeMarks()
	if err != nil || len(names) == 0 {
		return err
	}
	to, err := begin()
	if err != nil {
		return err
	}
	marks, stale := Marks(), Stale()
	for _, name := range names {
		if name == refreshMark && values[name] != nil {
			if err := to.clear(stale.start(), stale.end()); err != nil {
				return fmt.Errorf("removing notes of what is stale: %w", err)
			}
		}
		key := marks.appendKey(nil, []byte(name))
		if values[name] == nil {
			err = to.delete(key)
		} else {
			err = to.set(key, values[name])
		}
		if err != nil {
			return fmt.Errorf("writing mark %q: %w", name, err)
		}
	}
	return nil
}
