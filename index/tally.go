// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"iter"
	"math"
	"math/bits"
	"slices"
	"sync"
)

// tally ranks and counts alternatives of words together. Where all matches are to be counted, each document of each
// list is decoded anyway; for several words it is faster than disjunction even where they are not. It goes window by
// window, and list by list in it, three times. First it marks the documents, which counts them, and sees which are in
// several lists. Then it adds up what the blocks of these documents promise, which is far less than what all lists
// together could. Last it decodes the frequencies of the blocks that may have one of the best: a document of one list
// is only looked at if its frequency alone is enough, which no score has to be computed for.
//
// Nothing takes time for documents that no list has, as sums of windows do. It is for several lists that are not very
// long: of one or two, and of frequent words, bounds pass more than this saves; see disjunction.
type tally struct {
	*ranker
	words []talliedWord
	not   []iterator
	*talliedWindow
}

// talliedWindow has the documents of a window: those of any list and those of several, as bits and as places in the
// window. What it has for each document is 0 between windows.
type talliedWindow struct {
	block     [blockDocs]uint32 // scratch
	from      uint32
	any, more sumBits
	best      sumBits // documents that may be among the best
	several   [sumDocs]uint16
	count     int // of several
	tf        [sumDocs]float64
	score     [sumDocs]points // of several, and of best
	rest      [sumDocs]points // what lists that have not been looked at can add to it at most
}

// talliedWord is a word with its forms.
type talliedWord struct {
	lists []talliedList
	docs  uint64 // of all lists
	gain  gain
	weigher
}

// talliedList is the list of a form: the documents of the window are docs[from:to].
type talliedList struct {
	at       *cursor // for frequencies
	weight   float64
	docs     []uint32 // decoded
	block    int      // of docs[0]
	ends     []int    // in docs, of that block and those behind it
	from, to int
	code     uint16 // whose bound is best
	best     points
}

const (
	talliedLeast = 3    // lists for a tally
	talliedMost  = 1024 // blocks of each
	// talliedAlone is the most blocks of each list of a single word: in longer ones bounds pass most blocks.
	talliedAlone = 192
	// talliedUnit is how many blocks that are decoded are looked at in the time in which one is decoded.
	talliedUnit = 4
)

var talliedPool = sync.Pool{New: func() any { return new(talliedWindow) }}

// newTally returns nil if a tally is not for these alternatives, which have no filters.
func newTally(r *ranker, a *alternatives) *tally {
	t := &tally{ranker: r, not: a.not, words: make([]talliedWord, len(a.words))}
	lists, most := 0, talliedMost
	if len(a.words) == 1 {
		most = talliedAlone
	}
	for i, p := range a.words {
		w := &t.words[i]
		switch p := p.(type) {
		case *termIter:
			if p.fields != 0 {
				return nil
			}
			w.weigher, w.gain, w.lists = p.weigher, p.gain, []talliedList{{at: p.cursor, weight: 1}}
		case *anyIter:
			if p.fields != 0 {
				return nil
			}
			w.weigher, w.gain, w.lists = p.weigher, p.gain, make([]talliedList, len(p.forms))
			for i, c := range p.forms {
				w.lists[i] = talliedList{at: c, weight: p.weights[i]}
			}
		default:
			return nil
		}
		for _, l := range w.lists {
			if len(l.at.last) > most {
				return nil
			}
			w.docs += l.at.l.df()
		}
		lists += len(w.lists)
	}
	if lists < talliedLeast {
		return nil
	}
	// The rarest word first, whose scores are the highest: then few documents remain for the others.
	slices.SortStableFunc(t.words, func(a, b talliedWord) int { return cmp.Compare(a.docs, b.docs) })
	return t
}

// rank offers the documents of runs of sumDocs that have any of the words and match none of not, and returns their
// number, deleted ones left out. Runs come in order.
func (t *tally) rank(runs iter.Seq[run]) (count uint64) {
	t.talliedWindow = talliedPool.Get().(*talliedWindow)
	defer func() {
		if !t.work.over {
			talliedPool.Put(t.talliedWindow)
		}
	}()
	first := uint32(0) // that any list may have
	for n := range windowsOf(runs) {
		t.from = uint32(n) * sumDocs
		if first > t.from|(sumDocs-1) {
			continue
		}
		if !t.work.spend(1) {
			break
		}
		if first = t.load(t.from); t.work.over {
			break
		}
		n, ok := t.mark()
		if !ok {
			break
		}
		count += n
		t.weigh()
	}
	return count
}

// load decodes the documents of the window from a given one on and returns the first one behind it, or end.
func (t *tally) load(from uint32) (first uint32) {
	first = end
	for i := range t.words {
		for j := range t.words[i].lists {
			first = min(first, t.words[i].lists[j].load(from, &t.block, t.work))
		}
	}
	return first
}

// load decodes the list's documents of the window from a given one on, block by block through the memory of docs, and
// returns the first one behind it, or end.
func (l *talliedList) load(from uint32, docs *[blockDocs]uint32, work *budget) (next uint32) {
	l.leave(from)
	for {
		rest := l.docs[l.to:]
		n, found := slices.BinarySearch(rest, from|(sumDocs-1))
		if found {
			n++
		}
		if l.to += n; n < len(rest) {
			return rest[n]
		}
		block := l.block + len(l.ends)
		if block == len(l.at.last) || !work.spend(1) {
			return end
		}
		n, err := l.at.l.docs(block, docs)
		if err == nil && (n <= 0 || n > blockDocs || docs[n-1] != l.at.last[block]) {
			err = corruptPostings("documents of a block")
		}
		if err != nil {
			work.fail(err)
			return end
		}
		if docs[0] < from { // behind windows that another goroutine has
			before, _ := slices.BinarySearch(docs[:n], from)
			l.from, l.to = l.from+before, l.to+before
		}
		l.docs = append(l.docs, docs[:n]...)
		l.ends = append(l.ends, len(l.docs))
	}
}

// leave leaves out what comes before a document: blocks that were decoded, and those that need not be.
func (l *talliedList) leave(from uint32) {
	n, _ := slices.BinarySearch(l.docs[l.to:], from)
	l.to += n
	done, gone := 0, 0
	for done < len(l.ends) && l.ends[done] <= l.to {
		gone = l.ends[done]
		done++
	}
	if done > 0 {
		l.docs = l.docs[:copy(l.docs, l.docs[gone:])]
		l.ends = l.ends[:copy(l.ends, l.ends[done:])]
		for i := range l.ends {
			l.ends[i] -= gone
		}
		l.block, l.to = l.block+done, l.to-gone
	}
	if len(l.ends) == 0 && l.block < len(l.at.last) && l.at.last[l.block] < from {
		n, _ := slices.BinarySearch(l.at.last[l.block:], from)
		l.block += n
	}
	l.from = l.to
}

// mark marks the documents of the window and returns how many match; ok is false if the search is to end.
func (t *tally) mark() (count uint64, ok bool) {
	clear(t.any[:])
	clear(t.more[:])
	n, again := 0, 0
	any, more, several := &t.any, &t.more, &t.several
	for i := range t.words {
		for j := range t.words[i].lists {
			l := &t.words[i].lists[j]
			if !t.spendOn(l.to - l.from) {
				return 0, false
			}
			count += uint64(l.to - l.from)
			for _, doc := range l.docs[l.from:l.to] {
				at, shift := doc>>6&(sumDocs/64-1), doc&63
				a, m := any[at], more[at]
				seen := a >> shift & 1
				several[n&(sumDocs-1)] = uint16(doc & (sumDocs - 1))
				n += int(seen &^ (m >> shift))
				again += int(seen)
				more[at] = m | seen<<shift
				any[at] = a | 1<<shift
			}
		}
	}
	t.count = n
	if len(t.not) == 0 && t.part.dead == nil {
		t.note(t.from, t.any[:])
		return count - uint64(again), true
	}
	for _, n := range t.not {
		var out sumBits
		n.mark(&window{t.from, out[:]})
		for i, b := range out {
			t.any[i] &^= b
		}
	}
	count = (&window{t.from, t.any[:]}).alive(t.part.dead)
	t.note(t.from, t.any[:])
	return count, true
}

// spendOn pays for looking at some documents that are decoded.
func (t *tally) spendOn(docs int) bool { return t.work.spend(1 + docs/(talliedUnit*blockDocs)) }

// weigh offers the documents of the window that may be among the best.
func (t *tally) weigh() {
	need := t.need()
	if need > 0 && !t.promise(need) {
		return
	}
	clear(t.best[:])
	for i := range t.words {
		if !t.spendOn(t.count) {
			return
		}
		w := &t.words[i]
		least := w.gain.frequency(need)
		for j := range w.lists {
			if !t.weighList(w, &w.lists[j], least) {
				return
			}
		}
		for _, i := range t.several[:t.count] {
			if tf := t.tf[i]; tf > 0 {
				t.score[i] += w.gain.points(tf)
				t.tf[i] = 0
			}
		}
		if need > 0 {
			t.keep(need)
		}
	}
	for _, i := range t.several[:t.count] {
		if bit := uint64(1) << (i & 63); t.any[i>>6]&bit != 0 {
			t.best[i>>6] |= bit
		} else {
			t.score[i] = 0
		}
		t.rest[i] = 0
	}
	for n, some := range t.best {
		for ; some != 0; some &= some - 1 {
			i := n<<6 | bits.TrailingZeros64(some)
			score := t.score[i]
			if t.score[i] = 0; score >= need {
				t.top.offer(t.from+uint32(i), score)
				need = t.need()
			}
		}
	}
}

// bound returns a bound of what a block adds to a score.
func (w *talliedWord) bound(l *talliedList, block int) points {
	code := uint16(math.MaxUint16)
	if l.at.codes != nil {
		code = l.at.codes[block]
	}
	if l.best == 0 || code != l.code {
		l.code, l.best = code, w.gain.points(l.weight*w.weigher.bound(l.at, code))
	}
	return l.best
}

// each calls fn with the documents of the window, block by block.
func (l *talliedList) each(fn func(block int, docs []uint32) bool) bool {
	from := l.from
	for i := 0; from < l.to; i++ {
		to := min(l.ends[i], l.to)
		if !fn(l.block+i, l.docs[from:to]) {
			return false
		}
		from = to
	}
	return true
}

// promise leaves those of several whose blocks may add up to need, and reports whether anything in the window may:
// nothing when the search is to end.
func (t *tally) promise(need points) (any bool) {
	for i := range t.words {
		w := &t.words[i]
		for j := range w.lists {
			l := &w.lists[j]
			if !t.spendOn(l.to - l.from) {
				return false
			}
			l.each(func(block int, docs []uint32) bool {
				p := w.bound(l, block)
				any = any || p >= need
				if t.count > 0 {
					var places [blockDocs]uint16
					for _, i := range places[:t.inSeveral(docs, &places)] {
						t.rest[docs[i]&(sumDocs-1)] += p
					}
				}
				return true
			})
		}
	}
	t.keep(need)
	return any || t.count > 0
}

// keep leaves those of several that can still score need.
func (t *tally) keep(need points) {
	n := 0
	for _, i := range t.several[:t.count] {
		if t.score[i]+t.rest[i] >= need {
			t.several[n] = i
			n++
		} else {
			t.more[i>>6] &^= 1 << (i & 63)
			t.score[i], t.rest[i] = 0, 0
		}
	}
	t.count = n
}

// inSeveral finds the places of documents that several lists have.
func (t *tally) inSeveral(docs []uint32, places *[blockDocs]uint16) (n int) {
	more := &t.more
	for i, doc := range docs { // without a branch that nobody can foresee
		places[n&(blockDocs-1)] = uint16(i)
		n += int(more[doc>>6&(sumDocs/64-1)] >> (doc & 63) & 1)
	}
	return n
}

// weighList adds up the frequencies of a list; false means that the search is to end.
func (t *tally) weighList(w *talliedWord, l *talliedList, least float64) bool {
	return l.each(func(block int, docs []uint32) bool {
		var places [blockDocs]uint16
		n, c := 0, l.at
		if t.count > 0 {
			n = t.inSeveral(docs, &places)
		}
		all := l.at.codes == nil || l.weight*w.weigher.bound(c, c.codes[block]) > least
		if n == 0 && !all {
			return true
		}
		if c.seek(docs[0]) != docs[0] && !t.work.over {
			t.work.fail(corruptPostings("documents of a block"))
		}
		if t.work.over || !c.freqs() {
			return false
		}
		if !all {
			first := c.i
			p := w.bound(l, block)
			for _, i := range places[:n] {
				c.i = first + int(i)
				at := docs[i] & (sumDocs - 1)
				t.rest[at] -= p
				t.tf[at] += float64(l.weight * w.weight(c, 0))
			}
			c.i = first
			return true
		}
		p := w.bound(l, block)
		for i, tf := range w.weights(c, 0, c.i+len(docs)) {
			tf = float64(l.weight * tf)
			at := docs[i] & (sumDocs - 1)
			if t.more[at>>6]>>(at&63)&1 != 0 {
				t.tf[at] += tf
				t.rest[at] -= p
			} else if tf > least && t.any[at>>6]>>(at&63)&1 != 0 {
				t.best[at>>6] |= 1 << (at & 63)
				t.score[at] = w.gain.points(tf)
			}
		}
		return true
	})
}
