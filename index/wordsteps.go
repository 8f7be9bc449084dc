// SPDX-License-Identifier: Apache-2.0

package index

import (
	"encoding/binary"
	"math"
)

// A long document stores where in its content every stepWords-th word begins. So the positions of a query's words,
// which postings have, become places in the text, and a snippet looks at some hundred bytes in place of all.

// wordSteps are the places, in bytes of the content, its parts with a byte between them, of the words at positions
// stepWords, twice stepWords and so on, or of the next words that begin. Only documents of at least stepsLeast of them
// have any: a short text is searched as fast.
type wordSteps []uint32

const (
	stepWords  = 64
	stepsLeast = 8
	stepsMost  = 1 << 14 // about 6 MB of text; snippets look at its first 128 KiB
)

// stepper notes the steps of a document while its content is walked.
type stepper struct {
	steps wordSteps
	base  uint32 // of the part of the content that is walked
}

// next returns the position of the next word to note.
func (s *stepper) next() int { return (len(s.steps) + 1) * stepWords }

// reach notes a word at or behind the next position, and returns the new next one.
func (s *stepper) reach(position, start int) int {
	for len(s.steps) < stepsMost && s.next() <= position {
		s.steps = append(s.steps, s.base+uint32(start))
	}
	if len(s.steps) == stepsMost {
		return math.MaxInt
	}
	return s.next()
}

// take returns the document's steps, valid until the next walk, and begins the next document.
func (s *stepper) take() wordSteps {
	steps := s.steps
	s.steps, s.base = steps[:0], 0
	if len(steps) < stepsLeast {
		return nil
	}
	return steps
}

// append encodes the steps: the length of each beside that of the one before, which is mostly one byte.
func (s wordSteps) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	last, length := uint32(0), int64(0)
	for _, at := range s {
		n := int64(at) - int64(last)
		dst = binary.AppendVarint(dst, n-length)
		last, length = at, n
	}
	return dst
}

// readSteps decodes what append wrote.
func readSteps(r *storedReader) wordSteps {
	n := r.uvarint()
	if n == 0 || n > stepsMost || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	steps := make(wordSteps, n)
	at, length := int64(0), int64(0)
	for i := range steps {
		d := r.varint()
		if r.bad = r.bad || d < -math.MaxUint32 || d > math.MaxUint32; r.bad {
			return nil
		}
		length += d
		if at += length; length < 0 || at > math.MaxUint32 {
			r.bad = true
			return nil
		}
		steps[i] = uint32(at)
	}
	return steps
}

// place returns about where the word at a position begins.
func (s wordSteps) place(position uint32) int {
	i := int(position / stepWords)
	rest := int(position % stepWords)
	switch {
	case i > len(s):
		return int(s[len(s)-1])
	case i == len(s): // behind the last step, words are taken to be as long as those before it
		from := s.at(i)
		return from + (from-s.at(i-1))*rest/stepWords
	}
	from := s.at(i)
	return from + (s.at(i+1)-from)*rest/stepWords
}

// at returns the place of a step; that of 0 is the beginning.
func (s wordSteps) at(i int) int {
	if i <= 0 {
		return 0
	}
	return int(s[i-1])
}
