// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/bits"
	"slices"
)

// heldDocs are the documents of a held word, numbered as they come. Each window of sumDocs documents has them in the
// form that takes less: their places in the window, 2 bytes each, or a bit for each document that there is. Bits are
// met, united and counted 64 at once, and the frequent words, which take most of what is held, have a third of the
// bytes. Choosing by density, as here, is what Chambi, Lemire, Kaser and Godin do in "Better bitmap performance with
// Roaring bitmaps" (2016).
type heldDocs struct {
	starts []uint32 // documents before each window, and of all
	at     []uint32 // of each window: where its places begin, or that it has bits, and which
	places []uint16
	bits   []heldBits
}

// heldAsBits in heldDocs.at says that a window has bits.
const heldAsBits = 1 << 31

// heldBits are the documents of a window as bits.
type heldBits struct {
	has    sumBits
	before [sumDocs / rankDocs]uint16 // documents before each rankDocs places
}

// rankDocs is the number of places that are counted when a document's number is wanted.
const rankDocs = 512

// heldSparse is the most documents of a window that have their places: more take less as bits.
const heldSparse = (sumDocs/64*8 + sumDocs/rankDocs*2) / 2

// newHeldDocs returns no documents, with room for the windows of a part.
func newHeldDocs(docs uint32) heldDocs {
	n := docs/sumDocs + 1
	return heldDocs{starts: make([]uint32, 1, n+1), at: make([]uint32, 0, n)}
}

// heldSize returns about what some of a part's documents take as a held word, with their codes.
func heldSize(some, docs int64) int64 { return 2*some + min(2*some, docs/8) }

// clip gives back the memory of documents that did not come.
func (d *heldDocs) clip() { d.places, d.bits = slices.Clone(d.places), slices.Clone(d.bits) }

// len returns the number of documents.
func (d *heldDocs) len() int { return int(d.starts[len(d.starts)-1]) }

// windows returns the number of windows.
func (d *heldDocs) windows() int { return len(d.starts) - 1 }

func (d *heldDocs) bytes() int64 {
	return int64(4*(cap(d.starts)+cap(d.at))+2*cap(d.places)) + int64(cap(d.bits))*(sumDocs/8+2*sumDocs/rankDocs)
}

// add adds the next window, whose documents have their bits set.
func (d *heldDocs) add(has *sumBits) {
	n := 0
	for _, b := range has {
		n += bits.OnesCount64(b)
	}
	d.starts = append(d.starts, uint32(d.len()+n))
	if n > heldSparse {
		d.at = append(d.at, uint32(len(d.bits))|heldAsBits)
		b := heldBits{has: *has}
		before := 0
		for i := range b.before {
			b.before[i] = uint16(before)
			for _, word := range has[i*rankDocs/64 : (i+1)*rankDocs/64] {
				before += bits.OnesCount64(word)
			}
		}
		d.bits = append(d.bits, b)
		return
	}
	d.at = append(d.at, uint32(len(d.places)))
	for at, some := range has {
		for ; some != 0; some &= some - 1 {
			d.places = append(d.places, uint16(at*64+bits.TrailingZeros64(some)))
		}
	}
}

// window returns the documents of a window.
func (d *heldDocs) window(n int) heldWindow {
	w := heldWindow{from: d.starts[n], to: d.starts[n+1]}
	if at := d.at[n]; at&heldAsBits != 0 {
		w.bits = &d.bits[at&^heldAsBits]
	} else {
		w.places = d.places[at : at+w.to-w.from]
	}
	return w
}

// has reports whether a document of the part is among them.
func (d *heldDocs) has(doc uint32) bool {
	w := d.window(int(doc / sumDocs))
	place := doc % sumDocs
	if w.bits != nil {
		return w.bits.has[place>>6]>>(place&63)&1 != 0
	}
	_, ok := slices.BinarySearch(w.places, uint16(place))
	return ok
}

// heldWindow are the documents of a window: from and to are their numbers. It has places, ascending, or bits.
type heldWindow struct {
	from, to uint32
	places   []uint16
	bits     *heldBits
}

// seek returns the number of the first document at a place or behind it, and its place; ok is false if there is none.
func (w *heldWindow) seek(place uint32) (number, at uint32, ok bool) {
	if w.bits == nil {
		n, _ := slices.BinarySearch(w.places, uint16(place))
		if n == len(w.places) {
			return 0, 0, false
		}
		return w.from + uint32(n), uint32(w.places[n]), true
	}
	i := place >> 6
	number = w.from + w.bits.rank(place)
	for left := w.bits.has[i] >> (place & 63) << (place & 63); ; left = w.bits.has[i] {
		if left != 0 {
			return number, i<<6 + uint32(bits.TrailingZeros64(left)), true
		}
		if i++; int(i) == len(w.bits.has) {
			return 0, 0, false
		}
	}
}

// rank returns how many documents are before a place.
func (b *heldBits) rank(place uint32) uint32 {
	n := uint32(b.before[place/rankDocs])
	for _, word := range b.has[place/rankDocs*(rankDocs/64) : place>>6] {
		n += uint32(bits.OnesCount64(word))
	}
	return n + uint32(bits.OnesCount64(b.has[place>>6]&(1<<(place&63)-1)))
}

// place returns the place of a document by its number.
func (w *heldWindow) place(number uint32) uint32 {
	n := number - w.from
	if w.bits == nil {
		return uint32(w.places[n])
	}
	i := len(w.bits.before) - 1
	for uint32(w.bits.before[i]) > n {
		i--
	}
	n -= uint32(w.bits.before[i])
	for i *= rankDocs / 64; ; i++ {
		word := w.bits.has[i]
		count := uint32(bits.OnesCount64(word))
		if n >= count {
			n -= count
			continue
		}
		for ; n > 0; n-- {
			word &= word - 1
		}
		return uint32(i*64 + bits.TrailingZeros64(word))
	}
}

// mark sets the bits of the documents.
func (w *heldWindow) mark(into *sumBits) {
	if w.bits != nil {
		for i, b := range &w.bits.has {
			into[i] |= b
		}
		return
	}
	for _, i := range w.places {
		into.set(uint32(i))
	}
}

// markSeveral is mark; several gets the bits that any has already.
func (w *heldWindow) markSeveral(any, several *sumBits) {
	if w.bits != nil {
		for i, b := range &w.bits.has {
			seen := any[i]
			several[i] |= seen & b
			any[i] = seen | b
		}
		return
	}
	for _, i := range w.places {
		at, bit := i>>6&(sumDocs/64-1), uint64(1)<<(i&63)
		seen := any[at]
		several[at] |= seen & bit
		any[at] = seen | bit
	}
}

// heldSeekPrice is how many documents are walked in the time that finding one takes.
const heldSeekPrice = 12

// meet leaves those bits whose documents are in the window, too. few bounds how many are set.
func (w *heldWindow) meet(of *sumBits, few int) {
	if w.bits != nil {
		for i, b := range &w.bits.has {
			of[i] &= b
		}
		return
	}
	if few*heldSeekPrice < len(w.places) {
		places := w.places
		for at, some := range of {
			left := some
			for ; some != 0; some &= some - 1 {
				n, ok := slices.BinarySearch(places, uint16(at*64+bits.TrailingZeros64(some)))
				if places = places[n:]; !ok {
					left &^= some & -some
				}
			}
			of[at] = left
		}
		return
	}
	var met sumBits
	for _, i := range w.places { // without a branch that nobody can foresee
		at := i >> 6 & (sumDocs/64 - 1)
		met[at] |= of[at] & (1 << (i & 63))
	}
	*of = met
}

// heldFound are documents of a window that were looked for: their places and their numbers.
type heldFound struct {
	place  [sumDocs]uint16
	number [sumDocs]uint32
}

// mark sets the bits of the first n documents, and no others.
func (f *heldFound) mark(n int, of *sumBits) {
	clear(of[:])
	for _, place := range f.place[:n] {
		of.set(uint32(place))
	}
}

// heldSomePrice is how many documents find walks in the time that finding one takes.
const heldSomePrice = 32

// findsAsFast reports whether find takes no longer than meet: both walk all places. few is as in meet.
func (w *heldWindow) findsAsFast(few int) bool {
	return w.bits == nil && few*heldSeekPrice >= len(w.places)
}

// find looks for the documents whose bits are set, as many as some, and returns how many the window has.
func (w *heldWindow) find(of *sumBits, some int, f *heldFound) (n int) {
	switch {
	case w.bits != nil && some < heldSomePrice:
		for at, met := range of {
			for met &= w.bits.has[at]; met != 0; met &= met - 1 {
				place := uint32(at*64 + bits.TrailingZeros64(met))
				f.place[n], f.number[n] = uint16(place), w.from+w.bits.rank(place)
				n++
			}
		}
	case w.bits != nil:
		before := w.from
		for at, has := range &w.bits.has {
			for met := has & of[at]; met != 0; met &= met - 1 {
				f.place[n] = uint16(at*64 + bits.TrailingZeros64(met))
				f.number[n] = before + uint32(bits.OnesCount64(has&(met&-met-1)))
				n++
			}
			before += uint32(bits.OnesCount64(has))
		}
	case some*heldSomePrice < len(w.places):
		from, places := w.from, w.places
		for at, some := range of {
			for ; some != 0 && len(places) > 0; some &= some - 1 {
				i := uint16(at*64 + bits.TrailingZeros64(some))
				skip, ok := slices.BinarySearch(places, i)
				places = places[skip:]
				if from += uint32(skip); ok {
					f.place[n], f.number[n] = i, from
					n++
				}
			}
		}
	default:
		for j, i := range w.places { // without a branch that nobody can foresee
			f.place[n&(sumDocs-1)], f.number[n&(sumDocs-1)] = i, w.from+uint32(j)
			n += int(of[i>>6&(sumDocs/64-1)] >> (i & 63) & 1)
		}
	}
	return n
}
