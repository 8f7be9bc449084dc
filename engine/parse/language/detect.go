// SPDX-License-Identifier: Apache-2.0

package language

import (
	"math"
	"slices"
	"unicode/utf8"
)

// Bounds of reading.
const (
	// stride is the number of letters between two checks whether reading can stop.
	stride = 64
	// beyondDoubt is the lead, in nats, at which reading stops.
	beyondDoubt = 65
)

// Calibration of the model (bench/training/language prints it): the probability that the guess is right is a logistic
// function of its lead over the next language, in nats.
const (
	confidenceSlope = 0.106
	confidenceBase  = 0.25
)

// Detect returns the language of a text in UTF-8, as two letters of ISO 639-1, and the probability that this is right,
// above 0 and at most 1. It returns "" and 0 if the text has no letters of any language. Norwegian is nb or nn. Detect
// does not keep text and does not allocate, except that the first call in a process unpacks the model. It may be called
// concurrently.
func Detect(text []byte) (tag string, confidence float64) {
	m := loaded()
	var t tally
	letters, next := 0, stride
	var word uint64 // the last letters of the current word, 16 bits each
	size := 0       // its number of letters
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
		if letter >= utf8.RuneSelf { // such letters are telling even alone
			t.add(m, letter)
			if letter >= firstDense && size >= 2 { // words have few such letters, or there are no words
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

// Tags returns the languages that Detect can return, in no order. It may be called concurrently.
func Tags() []string { return slices.Clone(loaded().tags) }

// Small reports whether little is written in a language, given as Detect returns it. Such a guess is a mistake more
// often than others, for input that is not prose: names, identifiers. It may be called concurrently.
func Small(tag string) bool {
	m := loaded()
	i := slices.Index(m.tags, tag)
	return i >= 0 && m.small[i]
}

// firstDense is the first code point of the scripts in which a letter is as telling as two letters of an alphabet:
// those of India, Han, Kana, Hangul.
const firstDense = 0x900

// best returns the language with the highest sum and its lead over the next. Small languages lose a part of their sums:
// far more text is mistaken for them than is written in them.
func (m *model) best(t *tally) (first int, lead int32) {
	t.addKeys(m)
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
