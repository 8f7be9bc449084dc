// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/irish"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
)

var algorithms = [languageEnd]func(*snowballstem.Env) bool{
	English: english.Stem, German: german.Stem, French: french.Stem, Spanish: spanish.Stem, Italian: italian.Stem,
	Portuguese: portuguese.Stem, Dutch: dutch.Stem, Swedish: swedish.Stem, Danish: danish.Stem,
	Norwegian: norwegian.Stem, Finnish: finnish.Stem, Hungarian: hungarian.Stem, Romanian: romanian.Stem,
	Russian: russian.Stem, Turkish: turkish.Stem, Arabic: arabic.Stem, Irish: irish.Stem, Tamil: tamil.Stem,
}

// stemsKept bounds the stems that a Stemmer keeps for one language, about 4 MB.
const stemsKept = 1 << 15

// Stemmer reduces words to stems. It keeps the stems of each language that it met, up to a bound; a stem takes about a
// microsecond to make and 50 ns to find. The zero value is ready to use. One goroutine at a time may use it.
type Stemmer struct {
	kept [languageEnd]map[string]string
}

// Stem appends the stem of a folded word to dst: the key under which a language's forms of one word meet. Two forms
// with one stem need not stand for each other, see Related. A stem is folded, like words, and need not be a word. The
// word is its own stem in an unknown language, if it is not all letters, or if it is longer than MaxTerm. English words
// in texts in another script are stemmed as English.
func (s *Stemmer) Stem(dst []byte, lang Language, word []byte) []byte {
	if !lang.stems(word) {
		return append(dst, word...)
	}
	lang = lang.of(word)
	stem, ok := s.kept[lang][string(word)]
	if !ok {
		if len(s.kept[lang]) >= stemsKept {
			clear(s.kept[lang])
		}
		if s.kept[lang] == nil {
			s.kept[lang] = map[string]string{}
		}
		stem = makeStem(lang, word)
		s.kept[lang][string(word)] = stem
	}
	return append(dst, stem...)
}

// Stem is Stemmer.Stem for callers that meet each word once: it keeps no stems. It may be called concurrently.
func Stem(dst []byte, lang Language, word []byte) []byte {
	if !lang.stems(word) {
		return append(dst, word...)
	}
	return append(dst, makeStem(lang.of(word), word)...)
}

// stems reports whether a word may have another stem than itself.
func (l Language) stems(word []byte) bool {
	return l != Unknown && l < languageEnd && len(word) <= MaxTerm && len(word) >= 3
}

// of returns the language of a word in a text: English words occur in every language, and where the script differs,
// they are known by it.
func (l Language) of(word []byte) Language {
	if (l == Russian || l == Arabic || l == Tamil) && word[0] < utf8.RuneSelf {
		return English
	}
	return l
}

// makeStem stems a word. Words are folded, but Snowball's rules expect accents: without them, "informacoes" has no
// ending that they know. So the accents of endings are put back, and the stem is folded again.
func makeStem(lang Language, word []byte) string {
	if !utf8.Valid(word) {
		return string(word)
	}
	for _, r := range string(word) {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			return string(word)
		}
	}
	stem := snowball(lang, restore(lang, string(word)))
	if strings.ContainsFunc(stem, func(r rune) bool { return r >= utf8.RuneSelf }) {
		stem = string(Fold(nil, []byte(stem)))
	}
	if stem == "" { // it had an ending only, or, of a word that was not folded, marks
		return string(word)
	}
	return stem
}

// snowball runs a stemmer. The words are strangers' and the stemmers are translated from another language with string
// indices everywhere: a panic there must not end a crawl, so such a word is its own stem.
func snowball(lang Language, word string) (stem string) {
	defer func() {
		if recover() != nil {
			stem = word
		}
	}()
	env := snowballstem.NewEnv(word)
	algorithms[lang](env)
	return env.Current()
}
