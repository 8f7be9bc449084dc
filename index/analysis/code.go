// SPDX-License-Identifier: Apache-2.0

package analysis

// Bounds of what a name adds to the index.
const (
	maxParts = 16 // of one whole; a longer name is several
	maxCamel = 40 // bytes of a word that is cut at its capitals: longer ones are mostly encoded data
	maxHumps = 6
)

// joins marks what may follow a word in a name: the signs that hold its parts together.
var joins = [256]bool{'_': true, '.': true, '-': true, ':': true, '+': true}

// name emits what begins with the ASCII word at start, and returns its end. If words are joined by signs, as in
// pg_hba.conf, std::vector, utf-8, 3.11.2, the whole is emitted first and the words after it, as parts. lead is 1 if a
// dot before start belongs to the whole, as in .NET.
//
// Words with hyphens alone (well-known) become no whole unless there is a digit in them or a hyphen before them
// (--no-clean): the phrase of the parts finds them. In index segments of Version 1's format, built of 16 MB of man
// pages with a name in 100 bytes (the worst kind of text), wholes add .030 bytes a byte of text to .272; those of flags
// alone add .016, of names with '_' .009, with '.' .004. Parts at capitals, which are rare there, cost nothing.
func (a *Analyzer) name(text []byte, start, lead int) int {
	parts := a.parts[:0]
	whole := lead > 0 || start > 0 && text[start-1] == '-'
	i, end := start, start
	for len(parts) < maxParts {
		end = i
		digits := false
		for end < len(text) && asciiWord[text[end]] {
			digits = digits || text[end] <= '9'
			end++
		}
		if end < len(text) && text[end] >= 0x80 && !wideAt(text, end) && !breaksAt(text, end) {
			end = i // not a word of ASCII
			break
		}
		parts = append(parts, [2]int{i, end})
		next := joined(text, end)
		if next == 0 {
			if wideBehind(text, end) {
				return a.orWide(text, start, lead)
			}
			break
		}
		whole = whole || text[end] != '-' || digits || text[next] <= '9'
		i = next
	}
	a.parts = parts
	switch {
	case len(parts) == 0:
		return a.beyondASCII(text, start)
	case len(parts) == 1 && lead == 0:
		return a.simple(text, start, parts[0][1])
	}
	last := parts[len(parts)-1][1]
	if whole && !a.Parts && last-start+lead <= MaxTerm {
		a.whole(text, start-lead, last)
	}
	for _, p := range parts {
		a.camel(text, p[0], p[1], KindPart)
		a.pos++
	}
	return last
}

// orWide is name for a name that has a character in full width.
func (a *Analyzer) orWide(text []byte, start, lead int) int {
	if end := a.wideName(text, start-lead); end > 0 {
		return end
	}
	return a.beyondASCII(text, start)
}

// joined returns where the next word of a name begins whose last word ends at end, 0 if there is none.
func joined(text []byte, end int) int {
	i := end
	for i < len(text) && text[i] == '_' {
		i++
	}
	switch {
	case i > end || i >= len(text):
	case text[i] == '.' || text[i] == '-':
		i++
	case text[i] == ':' && i+1 < len(text) && text[i+1] == ':':
		i += 2
	}
	if i == end || i >= len(text) || !asciiWord[text[i]] {
		return 0
	}
	return i
}

// simple emits a word without parts, or with parts at its capitals only, with the signs that end names like C++ and C#.
// A word of more than two letters is found without the signs too.
func (a *Analyzer) simple(text []byte, start, end int) int {
	signs := end
	for signs < len(text) && signs-end < 2 && (text[signs] == '+' || text[signs] == '#' && end-start <= 2) {
		signs++
	}
	switch {
	case signs-end == 1 && text[end] == '+', // "a+b" is not a name
		signs < len(text) && asciiWord[text[signs]] && text[signs] > '9': // but C++17 is one, with a number
		signs = end
	}
	switch {
	case signs == end:
		a.camel(text, start, end, KindWord)
	case end-start <= 2:
		a.lower(text[start:signs])
		a.token(start, signs, KindWord)
	default:
		if !a.Parts {
			a.whole(text, start, signs)
		}
		a.camel(text, start, end, KindPart)
	}
	a.pos++
	return signs
}

// whole emits a name at the position of its first part.
func (a *Analyzer) whole(text []byte, start, end int) {
	a.lower(text[start:end])
	if len(a.buf) <= MaxTerm {
		a.token(start, end, KindWhole)
	}
}

// camel emits a word, and at the same position the parts that its capitals make: setDefault, set, default. The parts
// take no positions of their own, as those of other names do: who looks for the phrase "github actions" does not write
// GitHub, and its words must be neighbors.
func (a *Analyzer) camel(text []byte, start, end int, kind Kind) {
	if n := end - start; n <= WordMax { // as shortWord
		lo, _, capitals := asciiLetters(eight(text[:end], start))
		hi := uint64(0)
		if capitals &^= 0xff; n > 8 {
			var more uint64
			hi, _, more = asciiLetters(eight(text[:end], start+8))
			capitals |= more
		}
		if capitals == 0 {
			a.emitShort(Word{lo, hi}, n, start, kind)
			return
		}
	}
	a.humps = humps(a.humps[:0], text[start:end])
	if len(a.humps) == 0 {
		a.lower(text[start:end])
		a.buf = cut(a.buf)
		a.token(start, end, kind)
		if kind == KindWord && len(a.buf) >= minCompound && a.Language == German {
			a.emitPieces(a.buf, start, end)
		}
		return
	}
	if kind == KindWord {
		kind = KindWhole
	}
	a.lower(text[start:end])
	a.token(start, end, kind)
	from := start
	for i := 0; i <= len(a.humps); i++ {
		to := end
		if i < len(a.humps) {
			to = start + a.humps[i]
		}
		if a.lower(text[from:to]); !a.repeated(text, start, from, i) {
			a.token(from, to, KindPart)
		}
		from = to
	}
}

// repeated reports whether the part in a.buf was emitted before: a term occurs once at a position.
func (a *Analyzer) repeated(text []byte, start, from, n int) bool {
	at := start
	for _, h := range a.humps[:n] {
		if part := text[at : start+h]; len(part) == len(a.buf) && equalFold(part, a.buf) {
			return true
		}
		at = start + h
	}
	return false
}

func equalFold(text, lower []byte) bool {
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// humps appends where a word is cut at its capitals: before a capital that follows a small letter or digit
// (set|Default) and before the last of several capitals that a small letter follows (HTTP|Server). No part is a single
// letter, and the s of a plural (PDFs) is none.
func humps(dst []int, w []byte) []int {
	if len(w) > maxCamel {
		return dst
	}
	upper := func(i int) bool { return 'A' <= w[i] && w[i] <= 'Z' }
	small := func(i int) bool { return 'a' <= w[i] && w[i] <= 'z' }
	last := 0
	for i := 2; i+1 < len(w); i++ {
		if !upper(i) || i-last < 2 {
			continue
		}
		plural := i+2 == len(w) && w[i+1] == 's'
		if !upper(i-1) && !plural || upper(i-1) && small(i+1) && !plural {
			if last = i; len(dst) == maxHumps {
				return dst[:0]
			}
			dst = append(dst, i)
		}
	}
	return dst
}

// lower copies ASCII text to a.buf in lower case.
func (a *Analyzer) lower(text []byte) {
	a.buf = append(a.buf[:0], text[:min(len(text), MaxTerm+1)]...)
	for i, c := range a.buf {
		if 'A' <= c && c <= 'Z' {
			a.buf[i] = c + 'a' - 'A'
		}
	}
}

// token emits the term in a.buf at the current position.
func (a *Analyzer) token(start, end int, kind Kind) {
	a.give(a.buf, wordOf(a.buf), a.pos, start, end, kind)
}
