// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"math"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// The due range has one key, without a value, for each record of crawldb: what is to be fetched of a host, in the order
// in which that should happen. The key depends on the record alone, so whoever replaces a record knows which key goes
// and which one comes.
//
//	host key  1  class  depth  rest of the URL key    the URL was never fetched: due from the start
//	host key  2  due time (8)  rest of the URL key    it was fetched: due at that time
//
// So a host's next URLs are at the beginning of its part of the range, and what waits is not in their way. The first
// kind is in the order of score classes, best first, then of depth. A record whose score moves within its class keeps
// its key: nine in ten of the records that updatedb writes are known ones whose score moved.
//
// Example: http://example.com/, score 0.5, one link from a seed, never fetched
//
//	com,example,)  01  80  01  / http
const (
	dueNew   = 1
	dueAgain = 2

	dueDepthMax = math.MaxUint8 // stands for all greater depths too
)

// DueEntry is a key of the due range, taken apart. Host and Rest are slices of it.
type DueEntry struct {
	Host  []byte // its host key
	Rest  []byte // what the URL key has after that
	Again bool   // the URL was fetched before
	At    int64  // Again: when it is due, in ms
	Class uint8  // not Again: of the score; less is better
	Depth uint8  // not Again: links from a seed; 255 stands for more too
}

// IsNew reports whether a record's URL was never fetched.
func (r *Record) IsNew() bool { return r.LastFetch == 0 }

// ScoreClass is the class of a score: scores in [2^n, 2^(n+1)) are one, the better the less. From 2^127 on all are the
// first class, and those below 2^-127 the last one.
func ScoreClass(score float64) uint8 {
	if !(score > 0) { // NaN too
		return math.MaxUint8
	}
	if math.IsInf(score, 1) {
		return 0
	}
	_, exp := math.Frexp(score) // score is in [2^(exp-1), 2^exp)
	return uint8(math.MaxUint8 - min(max(exp+127, 0), math.MaxUint8))
}

// SameDue reports whether two records of one URL have the same key in the due range.
func SameDue(a, b *Record) bool {
	if a.IsNew() != b.IsNew() {
		return false
	}
	if !a.IsNew() {
		return DueAt(a.FetchTime) == DueAt(b.FetchTime)
	}
	return min(a.Depth, dueDepthMax) == min(b.Depth, dueDepthMax) && ScoreClass(a.Score) == ScoreClass(b.Score)
}

// AppendDueKey appends the relative key in the due range of a record, without the host key that it begins with. rest is
// what the record's URL key has after the host key.
func AppendDueKey(dst []byte, r *Record, rest []byte) []byte {
	if r.IsNew() {
		dst = append(dst, dueNew, ScoreClass(r.Score), uint8(min(r.Depth, dueDepthMax)))
	} else {
		dst = AppendDueAt(dst, DueAt(r.FetchTime))
	}
	return append(dst, rest...)
}

// AppendDueClass appends what the keys of one host begin with, after the host key, that are of URLs that were never
// fetched and of a class or a worse one. Classes go up to 255; a greater one is behind all these keys.
func AppendDueClass(dst []byte, class int) []byte {
	if class > math.MaxUint8 {
		return append(dst, dueNew+1)
	}
	return append(dst, dueNew, uint8(class))
}

// AppendDueAt appends what the keys of one host begin with, after the host key, that are of URLs that were fetched and
// are due at a time in ms, or later.
func AppendDueAt(dst []byte, at int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, dueAgain), uint64(at))
}

// SplitDueKey takes a relative key of the due range apart.
func SplitDueKey(key []byte) (e DueEntry, err error) {
	e.Host = urlkey.HostKeyOf(key)
	n := len(e.Host)
	rest := key[n:]
	switch {
	case n > 0 && len(rest) > 3 && rest[0] == dueNew:
		e.Class, e.Depth, e.Rest = rest[1], rest[2], rest[3:]
	case n > 0 && len(rest) > 9 && rest[0] == dueAgain:
		e.Again, e.At, e.Rest = true, int64(binary.BigEndian.Uint64(rest[1:])), rest[9:]
	default:
		return DueEntry{}, corrupt("due key %q", key)
	}
	return e, nil
}
