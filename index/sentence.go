// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences are found by rules, close to sentence breaking of UAX #29, with abbreviations: a full stop, question mark
// or exclamation mark ends one when white space follows and then no lower-case letter; a full stop not after an
// abbreviation or a single letter, so that neither "J. S. Bach" nor "e.g. Berlin" is cut, and file names, versions and
// domains, where no white space follows, never are. A stop of another script, such as Chinese, Arabic or Devanagari,
// ends one by itself. A line ends one if the next line begins with no lower-case letter: headings and items of lists
// have no stop.

// abbreviations are words in lower case, without the stop after them, that do not end a sentence.
var abbreviations = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`
		al approx cf co corp dept dr ed eds eg ent etc ex fig figs gen gov inc ie jr ltd mr mrs ms mt no nos nr op pp
		prof rev resp sec sr st vol vols vs abb abs bd bzw ca dipl evtl ggf hrsg ing inkl max min mio mrd nat sog st str
		tel usw vgl zb av env mme mlle art cap núm pág sra stra
	`) {
		m[w] = true
	}
	return m
}()

// otherStops is the least first byte of the stops that stopAt knows beyond ASCII.
const otherStops = 0xd8

// sentenceEnd returns the end of the sentence that holds text[at], with its stop, at most limit.
func sentenceEnd(text string, at, limit int) int {
	for i := at; i < limit; {
		if c := text[i]; c != '.' && c != '!' && c != '?' && c != '\n' && c < otherStops {
			i++
			continue
		}
		if n := stopAt(text, i, limit); n > 0 {
			return n
		}
		i++
	}
	return limit
}

// sentenceStart returns the start of the sentence that holds text[at], at least limit. most is the end of the text.
func sentenceStart(text string, at, limit, most int) int {
	for i := at - 1; i >= limit; i-- {
		if c := text[i]; c != '.' && c != '!' && c != '?' && c != '\n' && c < otherStops {
			continue
		}
		if n := stopAt(text, i, most); n > 0 && n <= at {
			for n < at && (text[n] == ' ' || text[n] == '\n' || text[n] == '\t' || text[n] == '\r') {
				n++
			}
			return n
		}
	}
	for limit < at && (text[limit] == ' ' || text[limit] == '\n') {
		limit++
	}
	return limit
}

// stopAt returns the end of a sentence that stops at text[i], closing quotes and brackets included, 0 if none does.
func stopAt(text string, i, limit int) int {
	if text[i] == '\n' {
		if lowerFollows(text, i+1, limit) || i > 0 && text[i-1] == ',' {
			return 0
		}
		return i
	}
	if text[i] >= utf8.RuneSelf {
		switch r, n := utf8.DecodeRuneInString(text[i:limit]); r {
		case '。', '！', '？', '．', '｡', '؟', '۔', '।', '॥', '።', '။', '។':
			return closing(text, i+n, limit)
		}
		return 0
	}
	end := closing(text, i+1, limit)
	if end == limit {
		return end
	}
	if c := text[end]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
		return 0
	}
	if lowerFollows(text, end, limit) || text[i] == '.' && abbreviated(text[:i]) {
		return 0
	}
	return end
}

// closing passes closing quotes and brackets, and more stops.
func closing(text string, i, limit int) int {
	for i < limit {
		r, n := utf8.DecodeRuneInString(text[i:limit])
		if !strings.ContainsRune(".!?\"')]”’»」』）。！？؟।", r) {
			break
		}
		i += n
	}
	return i
}

func lowerFollows(text string, i, limit int) bool {
	for i < limit && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	r, _ := utf8.DecodeRuneInString(text[i:limit])
	return unicode.IsLower(r)
}

// abbreviated reports whether a text ends in an abbreviation or in a single letter.
func abbreviated(text string) bool {
	from := len(text)
	for from > 0 && len(text)-from < 8 && (asciiWord(text[from-1]) || text[from-1] >= utf8.RuneSelf) {
		from--
	}
	w := text[from:]
	if r, n := utf8.DecodeRuneInString(w); n == len(w) && n > 0 {
		return unicode.IsLetter(r) && r < 0x2e80
	}
	return len(w) < 8 && abbreviations[strings.ToLower(w)]
}
