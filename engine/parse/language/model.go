// SPDX-License-Identifier: Apache-2.0

package language

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"io"
	"sync"
	"unicode"
)

// modelFile is written by bench/training/language. It is gzip over
//
//	"lng1" | languages byte | languages × (size byte, tag, small byte) | groups uvarint
//	groups × (key uvarint, minus the previous key | languages byte | languages × (language byte, weight byte))
//
// A key is a group's letters, 16 bits each, the last letter in the lowest bits.
//
//go:embed model.bin.gz
var modelFile []byte

const (
	maxLanguages = 8 * rowWords
	rowWords     = 10
	// weightUnit is the weight of a group that is e times as likely as by chance.
	weightUnit = 16
	// smallPart is the divisor for the part of their sum that small languages lose: a 24th.
	smallPart = 24
)

type model struct {
	tags    []string
	small   []bool
	letters *[1 << 16]uint16 // each letter in lower case; 0 for anything else
	slots   []slot           // hash table of the groups: a power of two, open addressing
	shift   uint
	weights []weight
	rows    [][rowWords]uint64 // weights of groups that many languages have, a byte for each language
}

type slot struct {
	mark uint32 // part of the key's hash; with the slot's place it identifies the key
	at   uint32 // upper 24 bits: index of the first weight or row; lowest byte: number of weights, or inRow; 0: free
}

// Groups of at least manyLanguages languages are rows. Common groups are common in many languages, and adding eight
// weights at a time halves the time.
const (
	manyLanguages = 12
	inRow         = 0xff
)

type weight struct{ language, weight uint8 }

var loaded = sync.OnceValue(func() *model { return readModel(modelFile) })

func hash(key uint64) uint64 {
	key ^= key >> 29
	key *= 0xbf58476d1ce4e5b9
	return key ^ key>>32
}

// tally adds up weights by language.
type tally struct {
	keys   [keysAtOnce]uint64 // of groups that are not yet added
	held   int
	loaded uint32 // by addKeys

	sums      [maxLanguages]int32
	even, odd [rowWords]uint64 // sums of rows for even and odd languages, 16 bits each
	rows      int              // number of rows in even and odd
}

// lanes selects the bytes of even languages; rowsMax rows cannot overflow 16 bits.
const (
	lanes   = 0x00ff00ff00ff00ff
	rowsMax = 256
)

// keysAtOnce groups are added together: the model is larger than the processor's near caches, so most of the time of
// Detect went into waiting for one group's slot, then for its row, then for the next one's.
const keysAtOnce = 32

// add adds the weights of a group of letters, at the latest before flush.
func (t *tally) add(m *model, key uint64) {
	t.keys[t.held%keysAtOnce] = key
	if t.held++; t.held == keysAtOnce {
		t.addKeys(m)
	}
}

// addKeys adds the weights of the groups that are held. It loads all slots, then the beginnings of all rows, before it
// uses one: a wrong guess of a branch would end what the processor loads in advance.
func (t *tally) addKeys(m *model) {
	var hashes [keysAtOnce]uint64
	var found [keysAtOnce]uint32
	keys, mask, loaded := t.keys[:t.held], uint64(len(m.slots)-1), uint32(0)
	for i, key := range keys {
		hashes[i] = hash(key)
		loaded += m.slots[hashes[i]>>m.shift&mask].mark
	}
	n := 0
	for _, h := range hashes[:len(keys)] {
		mark := uint32(h)
		for i := h >> m.shift; ; i++ {
			s := m.slots[i&mask]
			if s.at == 0 {
				break
			}
			if s.mark == mark {
				found[n] = s.at
				n++
				break
			}
		}
	}
	for _, at := range found[:n] {
		if at&0xff == inRow {
			row := &m.rows[at>>8]
			loaded += uint32(row[0] + row[rowWords-1])
		}
	}
	t.held, t.loaded = 0, loaded // else the compiler would leave the loads out
	for _, at := range found[:n] {
		if at&0xff == inRow {
			t.addRow(&m.rows[at>>8])
			continue
		}
		for _, w := range m.weights[at>>8 : at>>8+at&0xff] {
			t.sums[w.language%maxLanguages] += int32(w.weight)
		}
	}
}

// addRow adds the weights of a group of letters that many languages have, eight languages at a time. Adding them one by
// one, in up to 75 languages, was four fifths of the time of Detect.
func (t *tally) addRow(row *[rowWords]uint64) {
	for i, x := range row {
		t.even[i] += x & lanes
		t.odd[i] += x >> 8 & lanes
	}
	if t.rows++; t.rows == rowsMax {
		t.flush()
	}
}

// flush adds even and odd to the sums.
func (t *tally) flush() {
	if t.rows == 0 {
		return
	}
	for l := range t.sums {
		word, by := t.even[l/8], l%8/2*16
		if l%2 == 1 {
			word = t.odd[l/8]
		}
		t.sums[l] += int32(word >> by & 0xffff)
	}
	t.even, t.odd, t.rows = [rowWords]uint64{}, [rowWords]uint64{}, 0
}

// readModel reads the file that bench/training/language wrote. It panics if gzip or version do not match; the tests
// check the rest.
func readModel(file []byte) *model {
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		panic("BUG: model.bin.gz: " + err.Error())
	}
	b, err := io.ReadAll(z)
	if err != nil || len(b) < 5 || string(b[:4]) != "lng1" || int(b[4]) > maxLanguages {
		panic("BUG: model.bin.gz is not a model of this version")
	}
	m := &model{letters: lowerLetters()}
	languages := int(b[4])
	b = b[5:]
	for range languages {
		n := int(b[0])
		m.tags, m.small = append(m.tags, string(b[1:1+n])), append(m.small, b[1+n] != 0)
		b = b[n+2:]
	}
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	groups := int(number())
	m.slots, m.shift = make([]slot, 1), 64
	for len(m.slots) < groups*3/2 {
		m.slots, m.shift = make([]slot, 2*len(m.slots)), m.shift-1
	}
	m.weights = append(make([]weight, 0, len(b)/2), weight{}) // none is at 0
	key := uint64(0)
	for range groups {
		key += number()
		n := int(b[0])
		h := hash(key)
		i := h >> m.shift & uint64(len(m.slots)-1)
		for m.slots[i].at != 0 {
			i = (i + 1) & uint64(len(m.slots)-1)
		}
		if n >= manyLanguages {
			m.slots[i] = slot{uint32(h), uint32(len(m.rows))<<8 | inRow}
			var row [rowWords]uint64
			for j := range n {
				row[b[1+2*j]/8] |= uint64(b[2+2*j]) << (b[1+2*j] % 8 * 8)
			}
			m.rows = append(m.rows, row)
		} else {
			m.slots[i] = slot{uint32(h), uint32(len(m.weights))<<8 | uint32(n)}
			for j := range n {
				m.weights = append(m.weights, weight{b[1+2*j], b[2+2*j]})
			}
		}
		b = b[1+2*n:]
	}
	return m
}

// lowerLetters maps each letter of the basic plane, and each combining mark, to lower case.
func lowerLetters() *[1 << 16]uint16 {
	t := new([1 << 16]uint16)
	for r := range rune(1 << 16) {
		if unicode.IsLetter(r) || unicode.IsMark(r) {
			t[r] = uint16(unicode.ToLower(r))
		}
	}
	return t
}
