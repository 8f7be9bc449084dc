// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/seine-crawler/seine/storage/invariants"
)

// Reader is what *Store (the store as of now) and *Snapshot (as of one instant) have in common. Both are
// safe for concurrent use.
type Reader interface {
	// Scan returns a Scanner over the relative keys of a range from from (inclusive, nil = the first) to
	// to (exclusive, nil = after the last). Close it.
	Scan(r Range, from, to []byte) *Scanner
	// Get looks up one relative key and appends its value to buf[:0]; ok is false if the key is absent.
	Get(r Range, key, buf []byte) (value []byte, ok bool, err error)
	// View is Get without a copy, for who needs a small part of a large value: it calls read with the value, which is
	// valid until read returns and must not be changed. err is also that of read.
	View(r Range, key []byte, read func(value []byte) error) (ok bool, err error)
}

// reads implements all reading methods, over a DB or a Pebble snapshot.
type reads struct {
	s *Store
	r pebble.Reader
}

// Snapshot is the store as of one instant, made by Store.Snapshot. It is safe for concurrent use, except
// for Close. It keeps overwritten and deleted data on disk, so close it at the end of a phase at the
// latest.
type Snapshot struct {
	reads
	snap *pebble.Snapshot
}

// Snapshot returns the store as of now. Close it. On a closed store its methods fail with ErrClosed.
func (s *Store) Snapshot() *Snapshot {
	if s.closed.Load() {
		return &Snapshot{reads: reads{s: s}}
	}
	snap := s.db.NewSnapshot()
	return &Snapshot{reads: reads{s: s, r: snap}, snap: snap}
}

// Close ends the snapshot; close its scanners first. A second Close does nothing. Later reads fail with
// ErrClosed.
func (n *Snapshot) Close() error {
	if n.snap == nil {
		return nil
	}
	err := n.snap.Close()
	n.snap, n.r = nil, nil
	return err
}

// Get returns the value under a relative key, appended to buf[:0] (buf may be nil), and whether there is
// one. It costs 5 µs when the blocks are cached and 20 µs with a read from disk; for an absent key a
// Bloom filter usually avoids the read. To look up more than a few hundred keys at once, sort them and
// use MergeJoin. Errors: ErrClosed, ErrCorrupt, and errors of the disk.
func (v *reads) Get(r Range, key, buf []byte) (value []byte, ok bool, err error) {
	if err := v.readable(r); err != nil {
		return nil, false, err
	}
	if r.oftenAbsent() {
		return v.probe(r, key, buf)
	}
	var whole [128]byte
	stored, closer, err := v.r.Get(r.appendKey(whole[:0], key))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading %s at %.200q: %w", r, key, classified(err))
	}
	value = append(buf[:0], stored...)
	return value, true, closer.Close()
}

// View implements Reader. It costs what Get costs, less the copy. Errors: those of Get and of read.
func (v *reads) View(r Range, key []byte, read func(value []byte) error) (ok bool, err error) {
	if err := v.readable(r); err != nil {
		return false, err
	}
	var whole [128]byte
	stored, closer, err := v.r.Get(r.appendKey(whole[:0], key))
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s at %.200q: %w", r, key, classified(err))
	}
	err = read(stored)
	return true, errors.Join(err, closer.Close())
}

// oftenAbsent reports whether most lookups in the range are for absent keys: links to unknown URLs, and
// hosts seen for the first time.
func (r Range) oftenAbsent() bool {
	switch r.prefix[0] {
	case tagCrawldb, tagHostCounts, tagHostFacts:
		return true
	}
	return false
}

// probe looks up a key, and appends the value to buf[:0], through an iterator. Pebble's Get does not use the filters of
// the last level, where nearly all keys are, so an absent key would cost a block read.
func (v *reads) probe(r Range, key, buf []byte) (value []byte, ok bool, err error) {
	err = v.probes(r, func(probe probe) error {
		stored, there, err := probe(key)
		if err == nil && there {
			value, ok = append(buf[:0], stored...), true
		}
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("reading %s at %.200q: %w", r, key, classified(err))
	}
	return value, ok, nil
}

// probe looks up a key of a range. The value is valid until the next call.
type probe func(key []byte) (value []byte, ok bool, err error)

// probes calls read with a function that looks up keys through one iterator, fastest where they ascend. If the iterator
// fails, keys may seem absent, and probes returns the error.
func (v *reads) probes(r Range, read func(probe) error) error {
	opened := v.s.closings.now()
	it, err := v.r.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return err
	}
	var whole [128]byte
	err = read(func(key []byte) ([]byte, bool, error) {
		full := r.appendKey(whole[:0], key)
		if !it.SeekPrefixGE(full) || !bytes.Equal(it.Key(), full) {
			return nil, false, nil
		}
		value, err := it.ValueAndErr()
		return value, err == nil, err
	})
	return errors.Join(err, v.s.closings.close(it, opened))
}

// usable refuses reads after Close of the store or the snapshot.
func (v *reads) usable() error {
	if err := v.s.usable(); err != nil {
		return err
	}
	if v.r == nil {
		return fmt.Errorf("%w: the snapshot has ended", ErrClosed)
	}
	return nil
}

// readable also refuses reads of the zero range, which would read everything.
func (v *reads) readable(r Range) error {
	if r.IsZero() {
		return errors.New("BUG: storage: reading the zero range")
	}
	return v.usable()
}

// Scanner walks the keys of a range in order. It belongs to one goroutine at a time. The idiom:
//
//	sc := store.Scan(storage.Crawldb(), nil, nil)
//	defer sc.Close()
//	for sc.Next() {
//		use(sc.Key(), sc.Value())
//	}
//	return sc.Err()
//
// It sees the store as it was when Scan was called. A second Close does nothing.
type Scanner struct {
	r     Range
	it    *pebble.Iterator // nil after Close or when opening failed
	moved bool             // positioned at least once
	value []byte
	err   error
	seek  []byte // scratch

	closings *closings
	opened   uint64 // see closings.close
}

// Scan returns a Scanner over the relative keys [from, to) of a range; nil leaves that end open. Close
// it. If opening it fails (ErrClosed, ErrCorrupt), Next returns false, and Err and Close return the
// error.
func (v *reads) Scan(r Range, from, to []byte) *Scanner {
	sc := &Scanner{r: r}
	if sc.err = v.readable(r); sc.err != nil {
		return sc
	}
	o := &pebble.IterOptions{LowerBound: r.appendKey(nil, from), UpperBound: r.end()}
	if to != nil {
		o.UpperBound = r.appendKey(nil, to)
	}
	if bytes.Compare(o.LowerBound, o.UpperBound) > 0 {
		o.UpperBound = o.LowerBound // Pebble's bounds must be in order: an empty scan
	}
	sc.closings, sc.opened = &v.s.closings, v.s.closings.now()
	it, err := v.r.NewIter(o)
	if err != nil {
		sc.err = fmt.Errorf("scanning %s: %w", r, classified(err))
		return sc
	}
	sc.it = it
	return sc
}

// Next moves to the next key; the first call moves to the first one. It returns false at the end and on
// error; Err tells them apart.
func (sc *Scanner) Next() bool {
	if sc.it == nil {
		return false
	}
	if !sc.moved {
		sc.moved = true
		return sc.at(sc.it.First())
	}
	return sc.at(sc.it.Next())
}

// SeekGE moves forwards or backwards to the first key at or after a relative key; Next continues from
// there. It returns false if there is no such key and on error.
func (sc *Scanner) SeekGE(key []byte) bool {
	if sc.it == nil {
		return false
	}
	sc.moved = true
	sc.seek = sc.r.appendKey(sc.seek[:0], key)
	return sc.at(sc.it.SeekGE(sc.seek))
}

// at finishes a move: it loads the value, or keeps the first error.
func (sc *Scanner) at(ok bool) bool {
	if ok {
		var err error
		if sc.value, err = sc.it.ValueAndErr(); err == nil {
			return true
		} else if sc.err == nil {
			sc.err = fmt.Errorf("scanning %s at %.200q: %w", sc.r, sc.Key(), classified(err))
		}
	} else if err := sc.it.Error(); err != nil && sc.err == nil {
		sc.err = fmt.Errorf("scanning %s: %w", sc.r, classified(err))
	}
	sc.value = nil
	return false
}

// Key returns the current relative key, valid until the next move. Call it only after a move that
// returned true.
func (sc *Scanner) Key() []byte {
	key := sc.it.Key()
	invariants.Assert(bytes.HasPrefix(key, sc.r.start()), "scan of %s is at %q", sc.r, key)
	return key[sc.r.n:]
}

// Value returns the current value, valid until the next move.
func (sc *Scanner) Value() []byte { return sc.value }

// Err returns the first error, which ended the scan early, or nil.
func (sc *Scanner) Err() error { return sc.err }

// Close releases the scanner and returns the first error, also that of an earlier move.
func (sc *Scanner) Close() error {
	if sc.it != nil {
		if err := sc.closings.close(sc.it, sc.opened); err != nil && sc.err == nil {
			sc.err = fmt.Errorf("scanning %s: %w", sc.r, classified(err))
		}
		sc.it = nil
	}
	return sc.err
}
