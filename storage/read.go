// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/seine-crawler/seine/storage/invariants"
)

// Reader is what *Store and *Snapshot have in common: the store as of now, and as of one instant.
type Reader interface {
	// Scan walks the keys of a range from from (inclusive, nil = first) to to (exclusive, nil = last).
	Scan(r Range, from, to []byte) *Scanner
	// Get looks up one key; the value is appended to buf[:0].
	Get(r Range, key, buf []byte) (value []byte, ok bool, err error)
}

// reads implements everything that only reads, over a DB or a Pebble snapshot.
type reads struct {
	s *Store
	r pebble.Reader
}

// Snapshot is the store as of one instant. Safe for concurrent use. It keeps overwritten and
// deleted data on disk, so it should not live longer than a phase.
type Snapshot struct {
	reads
	snap *pebble.Snapshot
}

// Snapshot returns the store as of now. Close it.
func (s *Store) Snapshot() *Snapshot {
	if s.closed.Load() {
		return &Snapshot{reads: reads{s: s}}
	}
	snap := s.db.NewSnapshot()
	return &Snapshot{reads: reads{s: s, r: snap}, snap: snap}
}

// Close ends the snapshot; its scanners must have ended before. Closing twice is harmless.
func (n *Snapshot) Close() error {
	if n.snap == nil {
		return nil
	}
	err := n.snap.Close()
	n.snap, n.r = nil, nil
	return err
}

// Get returns the value under a relative key, appended to buf[:0] (buf may be nil), and whether
// there is one. Costs 5 µs when the blocks are cached, 20 with a read from disk; an absent key is
// mostly answered by a filter. For more than a few hundred keys at once sort them and MergeJoin.
func (v *reads) Get(r Range, key, buf []byte) (value []byte, ok bool, err error) {
	if err := v.readable(r); err != nil {
		return nil, false, err
	}
	var whole [128]byte
	full := r.appendKey(whole[:0], key)
	if r.oftenAbsent() {
		return v.probe(r, full, key, buf)
	}
	stored, closer, err := v.r.Get(full)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading %s at %.200q: %w", r, key, classified(err))
	}
	value = append(buf[:0], stored...)
	return value, true, closer.Close()
}

// oftenAbsent names the ranges that are asked for keys they mostly do not have: links to unknown
// URLs and hosts met for the first time.
func (r Range) oftenAbsent() bool {
	switch r.prefix[0] {
	case tagCrawldb, tagHostCounts, tagHostFacts:
		return true
	}
	return false
}

// probe looks up a key through an iterator, because Pebble's Get does not ask the filters of the
// last level, where nearly all keys are: an absent key would cost a block read.
func (v *reads) probe(r Range, full, key, buf []byte) (value []byte, ok bool, err error) {
	it, err := v.r.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err == nil {
		var stored []byte
		if it.SeekPrefixGE(full) && bytes.Equal(it.Key(), full) {
			if stored, err = it.ValueAndErr(); err == nil {
				value, ok = append(buf[:0], stored...), true
			}
		}
		err = errors.Join(err, it.Close())
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading %s at %.200q: %w", r, key, classified(err))
	}
	return value, ok, nil
}

// usable refuses reads after the end of store or snapshot.
func (v *reads) usable() error {
	if err := v.s.usable(); err != nil {
		return err
	}
	if v.r == nil {
		return fmt.Errorf("%w: the snapshot has ended", ErrClosed)
	}
	return nil
}

// readable refuses reads of the zero range as well, which would be reads of everything.
func (v *reads) readable(r Range) error {
	if r.IsZero() {
		return errors.New("BUG: storage: reading the zero range")
	}
	return v.usable()
}

// Scanner walks keys of a range in order. One goroutine at a time. The idiom:
//
//	sc := store.Scan(storage.Crawldb(), nil, nil)
//	defer sc.Close()
//	for sc.Next() {
//		use(sc.Key(), sc.Value())
//	}
//	return sc.Err()
//
// It sees the store as it was when Scan was called. Closing twice is harmless.
type Scanner struct {
	r     Range
	it    *pebble.Iterator // nil after Close or when opening failed
	moved bool             // positioned at least once
	value []byte
	err   error
	seek  []byte // scratch
}

// Scan returns a Scanner over the relative keys [from, to) of a range; nil leaves that end open. An
// error of opening it is reported by Next and Err.
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
	it, err := v.r.NewIter(o)
	if err != nil {
		sc.err = fmt.Errorf("scanning %s: %w", r, classified(err))
		return sc
	}
	sc.it = it
	return sc
}

// Next moves to the next key, at first to the first one. It returns false at the end and on error.
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

// SeekGE moves to the first key at or after a relative key, forwards or backwards; Next goes on
// from there.
func (sc *Scanner) SeekGE(key []byte) bool {
	if sc.it == nil {
		return false
	}
	sc.moved = true
	sc.seek = sc.r.appendKey(sc.seek[:0], key)
	return sc.at(sc.it.SeekGE(sc.seek))
}

// at finishes a move.
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

// Key is the relative key at the current place, valid until the next move.
func (sc *Scanner) Key() []byte {
	key := sc.it.Key()
	invariants.Assert(bytes.HasPrefix(key, sc.r.start()), "scan of %s stands on %q", sc.r, key)
	return key[sc.r.n:]
}

// Value is the value at the current place, valid until the next move.
func (sc *Scanner) Value() []byte { return sc.value }

// Err returns what ended the scan early, or nil.
func (sc *Scanner) Err() error { return sc.err }

// Close releases the scanner and returns Err.
func (sc *Scanner) Close() error {
	if sc.it != nil {
		if err := sc.it.Close(); err != nil && sc.err == nil {
			sc.err = fmt.Errorf("scanning %s: %w", sc.r, classified(err))
		}
		sc.it = nil
	}
	return sc.err
}
