// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seine-crawler/seine/storage"
)

// words is the vocabulary of a state: the terms of all its index segments, until a deadline. Document frequencies are
// sums over the segments and count deleted documents. One goroutine at a time may use it.
type words struct {
	x        *Index
	st       *state
	ctx      context.Context
	deadline time.Time
	rare     bool // words that a lexicon leaves out, because they are rare, are read from the store
	partial  bool // the deadline or the context ended a walk
}

// foundWord is a term of the vocabulary.
type foundWord struct {
	term  string
	df    uint64
	edits int
}

// expandPrefix returns the terms that begin with from: the most frequent ones first, at most limit. Where an index
// segment has more than a few hundred of them, its most frequent ones are considered.
func (v *words) expandPrefix(from string, limit int) ([]foundWord, error) {
	return v.collect(from, limit, nil)
}

// expandFuzzy returns the terms that are at most edits, 1 or 2, from a term (see nearWalk) and begin with the same
// character: the nearest ones first, among equals the most frequent, at most limit. The term itself is the first one.
func (v *words) expandFuzzy(term string, edits, limit int) ([]foundWord, error) {
	_, n := utf8.DecodeRuneInString(term)
	near := newNearWalk(term, min(max(edits, 0), 2))
	if near == nil { // too long for a walk
		df, err := v.df(term)
		if err != nil || df == 0 {
			return nil, err
		}
		return []foundWord{{term, df, 0}}, nil
	}
	return v.collect(term[:n], limit, near)
}

// collect returns the best terms with a prefix, all or the near ones.
func (v *words) collect(prefix string, limit int, near *nearWalk) ([]foundWord, error) {
	var all []foundWord
	for _, seg := range v.st.segments {
		top := bestWords{most: max(4*limit, 256)}
		if near != nil {
			near.depth = 0
		}
		if err := v.walk(seg, prefix, near, &top); err != nil {
			return nil, err
		}
		all = append(all, top.words...)
	}
	slices.SortFunc(all, func(a, b foundWord) int { return strings.Compare(a.term, b.term) })
	kept := all[:0]
	for i, w := range all {
		if i == 0 || all[i-1].term != w.term {
			kept = append(kept, w)
		}
	}
	for i := range kept {
		if len(v.st.segments) > 1 && !v.late() { // else that of one index segment must do
			df, err := v.df(kept[i].term)
			if err != nil {
				return nil, err
			}
			kept[i].df = max(df, kept[i].df)
		}
	}
	slices.SortFunc(kept, byUse)
	return kept[:min(limit, len(kept))], nil
}

// byUse orders terms by distance, then frequency, then alphabet.
func byUse(a, b foundWord) int {
	return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(b.df, a.df), strings.Compare(a.term, b.term))
}

// bestWords keeps the first most words by byUse, in no order.
type bestWords struct {
	most  int
	words []foundWord
	bar   *foundWord // the worst of the best, once there are enough
}

func (t *bestWords) add(term []byte, df uint64, edits int) {
	if t.bar != nil && (edits > t.bar.edits || edits == t.bar.edits && df <= t.bar.df) {
		return // equal in frequency, and later in the alphabet
	}
	t.words = append(t.words, foundWord{string(term), df, edits})
	if len(t.words) >= 2*t.most {
		slices.SortFunc(t.words, byUse)
		t.words = t.words[:t.most]
		bar := t.words[t.most-1]
		t.bar = &bar
	}
}

// walk offers the terms of a segment that begin with a prefix: from memory if they are there, else from the store.
func (v *words) walk(seg *segment, prefix string, near *nearWalk, top *bestWords) error {
	start := []byte(prefix)
	distance, dead := 0, 256
	l := v.x.lexicon(v.st, seg)
	some := l != nil && v.rare && l.least > 0 // the lexicon lacks words that are wanted
	if l == nil || some && near != nil {
		return v.walkStore(seg, start, near, top)
	}
	c := lexiconCursor{l: l}
	c.seek(start)
	for n := 1; ; n++ {
		if near == nil && top.bar != nil {
			c.skip(top.bar.df)
		}
		if !c.next(dead) {
			break
		}
		if n == 1 {
			c.shared = 0
		}
		if !bytes.HasPrefix(c.term, start) || n%1024 == 0 && v.late() {
			break
		}
		if near != nil {
			if distance, dead = near.step(c.term, c.shared); distance > near.edits {
				continue
			}
		}
		top.add(c.term, c.df, distance)
	}
	if some && !v.partial && len(top.words) < top.most { // else those that it lacks are rarer than all these
		top.words = top.words[:0]
		return v.walkStore(seg, start, near, top)
	}
	return nil
}

// walkStore is walk while the terms are not in memory.
func (v *words) walkStore(seg *segment, start []byte, near *nearWalk, top *bestWords) error {
	sc := seg.vocabulary(v.st.snap, start, after(start))
	defer sc.Close()
	var last []byte
	distance, dead := 0, 256
	for n, ok := 1, sc.Next(); ok; n++ {
		if n%64 == 0 && v.late() {
			break
		}
		term := sc.Term()
		if near != nil {
			distance, dead = near.step(term, sharedBytes(last, term))
			last = append(last[:0], term...)
		}
		if near == nil || distance <= near.edits {
			top.add(term, sc.DF(), distance)
		}
		next := after(last[:min(dead, len(last))])
		if dead == 256 || next == nil {
			ok = sc.Next()
		} else {
			ok = sc.SeekGE(next)
		}
	}
	return sc.Err()
}

// after returns the first byte string after all those that begin with a prefix, nil if there is none.
func after(prefix []byte) []byte {
	next := bytes.Clone(prefix)
	for len(next) > 0 && next[len(next)-1] == 0xff {
		next = next[:len(next)-1]
	}
	if len(next) == 0 {
		return nil
	}
	next[len(next)-1]++
	return next
}

// df returns the number of documents of a term.
func (v *words) df(term string) (sum uint64, err error) {
	for _, seg := range v.st.segments {
		if l := v.x.lexicon(v.st, seg); l != nil {
			c := lexiconCursor{l: l}
			c.seek([]byte(term))
			if c.next(256) && string(c.term) == term {
				sum += c.df
				continue
			}
			if l.least < 2 {
				continue
			}
		}
		n, err := storedDF(v.st.snap, seg, term)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// storedDF reads the number of documents of a term of a segment.
func storedDF(rd storage.Reader, seg *segment, term string) (df uint64, err error) {
	sc := seg.vocabulary(rd, []byte(term), append([]byte(term), 1))
	defer sc.Close()
	if sc.Next() && string(sc.Term()) == term {
		df = sc.DF()
	}
	return df, sc.Err()
}

// late reports whether time is over.
func (v *words) late() bool {
	v.partial = v.partial || v.ctx.Err() != nil || time.Now().After(v.deadline)
	return v.partial
}
