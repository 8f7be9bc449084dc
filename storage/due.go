// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"math"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// The due range has one key, without a value, for each record of crawldb: what is to be fetched of a host, in the order
// in which that should happen; and behind all hosts another one for each URL that was fetched, by the day of its due
// time: what is due of all hosts without a look at what is not. Keys depend on the record alone, so whoever replaces a record knows which keys go
// and which ones come.
//
//	host key  1  class  depth  rest of the URL key    the URL was never fetched: due from the start
//	host key  2  due time (8)  rest of the URL key    it was fetched: due at that time
//	255  day (2)  URL key  0  ms (4)  class  depth    it too: due on that day since 1970, so many ms after its begin
//
// So a host's next URLs are at the beginning of its part of the range, and what waits is not in their way. The first
// kind is in the order of score classes, best first, then of depth. A record whose score moves within its class keeps
// its keys: nine in ten of the records that updatedb writes are known ones whose score moved. (Why days: of 10^7 URLs
// of which one in a hundred is due, every block of crawldb and of the hosts' keys has one. Looking these up took as long
// as reading everything.)
//
// Example: http://example.com/, score 0.5, one link from a seed, never fetched
//
//	com,example,)  01  80  01  / http
const (
	dueNew   = 1
	dueAgain = 2
	dueByDay = 255 // no host key has this byte

	dueDepthMax = math.MaxUint8 // stands for all greater depths too

	// dayMS is a day; dueDayHead and dueDayTail are the bytes of a key by day before and after the URL key.
	dayMS                  = 86_400_000
	dueDayHead, dueDayTail = 3, 7
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

// ClassScore is the least score of a class.
func ClassScore(class uint8) float64 {
	if class == math.MaxUint8 {
		return 0
	}
	return math.Ldexp(1, 127-int(class))
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

// DueDay is a key of the due range by day, taken apart. Key is a slice of it.
type DueDay struct {
	Key   []byte // of the URL
	At    int64  // when it is due, in ms
	Class uint8  // of its score
	Depth uint8  // links from a seed; 255 stands for more too
}

// Exact reports whether the key tells all that matters of the record: a greater depth, or a score below all classes, it
// does not.
func (e *DueDay) Exact() bool { return e.Class < math.MaxUint8 && e.Depth < dueDepthMax }

// DueDayOf is the day of a due time in ms, and ms how long after the day's beginning it is. Times after 2149 are one.
func DueDayOf(at int64) (day uint16, ms uint32) {
	day = uint16(min(at/dayMS, math.MaxUint16))
	return day, uint32(min(at-int64(day)*dayMS, math.MaxUint32))
}

// AppendDueDay appends what the relative keys of a day begin with.
func AppendDueDay(dst []byte, day uint16) []byte {
	return binary.BigEndian.AppendUint16(append(dst, dueByDay), day)
}

// AppendDueDayKey appends the relative key by day of the record under a URL key, which must not be new.
func AppendDueDayKey(dst []byte, r *Record, key []byte) []byte {
	day, ms := DueDayOf(DueAt(r.FetchTime))
	dst = append(append(AppendDueDay(dst, day), key...), keySeparator)
	dst = binary.BigEndian.AppendUint32(dst, ms)
	return append(dst, ScoreClass(r.Score), uint8(min(r.Depth, dueDepthMax)))
}

// SameDueDay reports whether two records of one URL, neither of them new, have the same key by day.
func SameDueDay(a, b *Record) bool {
	dayA, msA := DueDayOf(DueAt(a.FetchTime))
	dayB, msB := DueDayOf(DueAt(b.FetchTime))
	return dayA == dayB && msA == msB && ScoreClass(a.Score) == ScoreClass(b.Score) &&
		min(a.Depth, dueDepthMax) == min(b.Depth, dueDepthMax)
}

// SplitDueDayKey takes a relative key by day apart; ok is false if it is none.
func SplitDueDayKey(key []byte) (e DueDay, day uint16, ok bool) {
	end := len(key) - dueDayTail
	if end <= dueDayHead || key[0] != dueByDay || key[end] != keySeparator {
		return DueDay{}, 0, false
	}
	day = binary.BigEndian.Uint16(key[1:])
	at := int64(day)*dayMS + int64(binary.BigEndian.Uint32(key[end+1:]))
	return DueDay{Key: key[dueDayHead:end], At: at, Class: key[end+5], Depth: key[end+6]}, day, true
}

// DueDayKeyOf is the URL key in a relative key by day and, behind it, what else the key has: enough to compare it with a
// host key. It is nil if the key is none by day.
func DueDayKeyOf(key []byte) []byte {
	if len(key) <= dueDayHead || key[0] != dueByDay {
		return nil
	}
	return key[dueDayHead:]
}
