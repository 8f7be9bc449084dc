// SPDX-License-Identifier: Apache-2.0

package language

import (
	"math"
	"slices"
	"unicode/utf8"
)

// Bounds of reading.
const (
	// stride is how many letters are read between looking whether more need to be.
	stride = 64
	// beyondDoubt is the lead, in nats, that ends reading.
	beyondDoubt = 65
)

// What the model was calibrated to (bench/language prints it): the chance that the guess is right is a logistic
// function of its lead in nats over the next language.
const (
	confidenceSlope = 0.106
	confidenceBase  = 0.25
)

// Detect returns the language of a text in UTF-8, as two letters of ISO 639-1, and the chance that it is so, above 0
// and at most 1; "" and 0 when it has no letters that any language has. Norwegian is nb or nn. It does not allocate.
func Detect(text []byte) (tag string, confidence float64) {
	m := loaded()
	var t tally
	letters, next := 0, stride
	var word uint64 // its last letters, 16 bits each
	size := 0       // its letters
	for i := 0; i <= len(text); {
		r := rune(0)
		if i < len(text) {
			if r = rune(text[i]); r < utf8.RuneSelf {
				i++
			} else {
				var n int
				r, n = utf8.DecodeRune(text[i:])
				i += n
			}
		} else {
			i++
		}
		letter := uint64(0)
		if r <= 0xffff {
			letter = uint64(m.letters[r])
		}
		if letter == 0 {
			if size == 1 || size == 2 {
				t.add(m, word)
			}
			if word, size = 0, 0; letters >= next {
				if _, lead := m.best(&t); lead > beyondDoubt*weightUnit {
					break
				}
				next = letters + stride
			}
			continue
		}
		word, size, letters = word<<16|letter, size+1, letters+1
		if letter >= utf8.RuneSelf { // such letters tell much by themselves
			t.add(m, letter)
			if letter >= firstDense && size >= 2 { // a word is few of these, or there are no words
				t.add(m, word&(1<<32-1))
			}
		}
		if size >= 3 {
			t.add(m, word&(1<<48-1))
		}
	}
	first, lead := m.best(&t)
	if t.sums[first] == 0 {
		return "", 0
	}
	return m.tags[first], 1 / (1 + math.Exp(-confidenceSlope*float64(lead)/weightUnit-confidenceBase))
}

// Small says that little is written in a language, so that a guess of it is more often than others a mistake for
// what is no text: names, identifiers.
func Small(tag string) bool {
	m := loaded()
	i := slices.Index(m.tags, tag)
	return i >= 0 && m.small[i]
}

// firstDense is the first of the scripts of which a letter says as much as two of the alphabets': those of India,
// Han, Kana, Hangul.
const firstDense = 0x900

// best returns the languages with the highest sums. Those that little is written in lose a part of theirs: far more
// text is mistaken for them than is in them.
func (m *model) best(t *tally) (first int, lead int32) {
	t.flush()
	best, next := int32(-1), int32(-1)
	for l := range m.tags {
		sum := t.sums[l]
		if m.small[l] {
			sum -= sum / smallPart
		}
		switch {
		case sum > best:
			first, best, next = l, sum, best
		case sum > next:
			next = sum
		}
	}
	return first, best - next
}
