// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// germanFile is a word a line: 2,460 German nouns, folded, in the forms that occur in Debian's German manuals
// (manpages-de, debian-reference-de, debian-handbook) four times or more within sentences, with a capital four of five
// times. Those that are compounds of others, and names, are left out.
//
//go:embed german.txt
var germanFile string

var germanNouns = sync.OnceValue(func() map[string]bool {
	nouns := make(map[string]bool, 3000)
	for w := range strings.Lines(germanFile) {
		nouns[strings.TrimSuffix(w, "\n")] = true
	}
	return nouns
})

// Bounds of the search for the words inside a compound.
const (
	minCompound = 8 // bytes, as all that follow
	minNoun     = 4
	maxNoun     = 16
	maxPieces   = 4
)

// fugues are the sounds that join two words of a compound.
var fugues = [...]string{"", "s", "es", "n", "en", "er"}

// compound appends the ends of the nouns that a German compound is made of, and of the sounds that join them; nothing
// if it is not all nouns that germanFile has: Wurzel|verzeichnis, Text|verarbeitung|s|programm. It prefers long nouns
// at the front. Half a compound is no evidence: in Vergangenheit there is a Gang.
//
// In a German text that the list was not made of (gimp-help-de) it cuts one word of 13 that have 8 letters or more. All
// of 150 of these that were looked at are cut rightly, and 149 of 150 that it cuts in a general list of 356,000 words
// (wngerman). Nouns that are missing in the list cost hits, not precision.
func compound(dst []piece, w []byte) []piece {
	nouns := germanNouns()
	if len(w) < minCompound || nouns[string(w)] {
		return dst
	}
	pieces, _ := cutCompound(dst, nouns, w, 0)
	return pieces
}

// piece is a noun inside a compound.
type piece struct{ from, to int }

// cutCompound cuts w from the given byte on.
func cutCompound(dst []piece, nouns map[string]bool, w []byte, from int) ([]piece, bool) {
	rest := len(w) - from
	if rest <= maxNoun && from > 0 && nouns[string(w[from:])] {
		return append(dst, piece{from, len(w)}), true
	}
	if len(dst)+1 >= maxPieces {
		return dst, false
	}
	for n := min(maxNoun, rest-minNoun); n >= minNoun; n-- {
		if !nouns[string(w[from:from+n])] {
			continue
		}
		for _, f := range fugues {
			next := from + n + len(f)
			if len(w)-next < minNoun || string(w[from+n:next]) != f {
				continue
			}
			if list, ok := cutCompound(append(dst, piece{from, from + n}), nouns, w, next); ok {
				return list, true
			}
		}
	}
	return dst, false
}

// emitPieces emits the nouns inside a German compound that was emitted, at its position, each at the compound's place.
func (a *Analyzer) emitPieces(w []byte, start, end int) {
	for _, c := range w {
		if c >= utf8.RuneSelf || c < 'a' {
			return
		}
	}
	a.pieces = compound(slices.Grow(a.pieces[:0], maxPieces), w)
	for i, p := range a.pieces {
		term := w[p.from:p.to]
		known := false
		for _, q := range a.pieces[:i] {
			known = known || string(w[q.from:q.to]) == string(term)
		}
		if !known {
			a.give(term, wordOf(term), a.pos, start, end, KindPiece)
		}
	}
}
