// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// minBase is the length of the shortest common beginning of two related forms, in characters.
const minBase = 2

// apart are pairs of one stem and paradigm that are different words: the adverb does not mean what the adjective does,
// or the noun what the verb does. They are few because the list of false pairs that Related leaves in real text is
// short.
var apart = [languageEnd]map[[2]string]bool{
	English: pairs("hard hardly", "late lately", "near nearly", "short shortly", "bare barely", "depart department",
		"depart departments", "apart apartment", "apart apartments", "part partly", "secret secretion", "port portion",
		"past pasted", "past pasting", "with withs", "bas bases", "base basing", "news newly", "vers version",
		"vers versions", "sess session", "appear apparel"),
}

func pairs(list ...string) map[[2]string]bool {
	m := map[[2]string]bool{}
	for _, p := range list {
		a, b, _ := strings.Cut(p, " ")
		m[[2]string{a, b}] = true
	}
	return m
}

// Related reports whether two folded forms with one stem (see Stemmer) may stand for each other in a search: whether
// they are forms of one word or, in English, of words that speak of one thing (elastic, elasticity; compute, computer).
// Snowball cuts off all derivation and so gives words one stem that are nothing alike, such as universe and university,
// organ and organization, police and policies. The relation is symmetric and each form is related to itself. Words of
// an unknown language are related to themselves only.
//
// Measured on the 36,252 words of Debian's English manuals (man pages, debian-reference, debian-handbook) that occur
// twice: Snowball makes 15,492 pairs of one stem, of which 11,010 are inflections. Of 60 of these, drawn at random and
// read, one is false (diverse, diversion). Derivations add about half of the others: of 13,465 pairs in 22,148 words of
// Debian's manuals, Cranfield and CACM, 8,373 are inflections and 2,487 derivations. What is rejected is of the kind
// addition/additive, object/objective. Without derivations MAP is .307 on Cranfield and .352 on CACM, with them .314
// and .361, as with all pairs of Snowball (.314 and .366). In the other languages it keeps 64 to 99% of Snowball's
// pairs: the most where words have many endings (Finnish), the least where Snowball cuts derivation (Spanish, Italian,
// French, Portuguese: 64 to 72%).
func Related(lang Language, a, b string) bool {
	if a == b {
		return true
	}
	if lang == Unknown || lang >= languageEnd || len(a) < 2 || len(b) < 2 {
		return false
	}
	if lang.of([]byte(a)) != lang.of([]byte(b)) {
		return false
	}
	switch lang = lang.of([]byte(a)); lang {
	case Arabic:
		return relatedArabic(a, b)
	case Dutch:
		a, b = shortVowels.Replace(a), shortVowels.Replace(b)
	case Irish:
		a, b = unmutated(a), unmutated(b)
	}
	if paradigms[lang] == nil {
		return agglutinated(a, b, 8)
	}
	if apart[lang][[2]string{a, b}] || apart[lang][[2]string{b, a}] {
		return false
	}
	return inflected(lang, a, b) || lang == English && derived(a, b)
}

// inflected reports whether two words are forms of one by a language's paradigms.
func inflected(lang Language, a, b string) bool { return share(lang, paradigms[lang], a, b) }

// share reports whether some beginning of both words leaves two endings of one set.
func share(lang Language, sets [][]string, a, b string) bool {
	common := commonPrefix(a, b)
	for i := common; i > 0; i-- {
		if i < len(a) && !utf8.RuneStart(a[i]) || i < len(b) && !utf8.RuneStart(b[i]) {
			continue
		}
		x, y := a[i:], b[i:]
		if max(len(x), len(y)) > 16 || utf8.RuneCountInString(a[:i]) < minBase {
			break
		}
		for _, set := range sets {
			if has(set, x) && has(set, y) {
				return true
			}
		}
		if doubled(lang, a[:i], x, y) || doubled(lang, a[:i], y, x) {
			return true
		}
	}
	return false
}

func has(set []string, ending string) bool {
	_, ok := slices.BinarySearch(set, ending)
	return ok
}

// doubled reports whether y repeats the last letter of the word before an ending: run, running; Dutch man, mannen.
func doubled(lang Language, base, x, y string) bool {
	if lang != English && lang != Dutch || y == "" || base[len(base)-1] != y[0] || y[0] >= utf8.RuneSelf {
		return false
	}
	if lang == English && (x != "" && x != "s" || y[1:] != "ed" && y[1:] != "ing" && y[1:] != "ings") {
		return false
	}
	return has(paradigms[lang][0], x) && has(paradigms[lang][0], y[1:])
}

// agglutinated reports whether two words share a beginning of three characters and at least half of the shorter word,
// and neither goes on for more than the given number of characters.
func agglutinated(a, b string, rest int) bool {
	i := commonPrefix(a, b)
	for i > 0 && (i < len(a) && !utf8.RuneStart(a[i]) || i < len(b) && !utf8.RuneStart(b[i])) {
		i--
	}
	n, x, y := utf8.RuneCountInString(a[:i]), utf8.RuneCountInString(a[i:]), utf8.RuneCountInString(b[i:])
	return n >= 3 && x <= rest && y <= rest && 2*n >= n+min(x, y)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// relatedArabic compares two words with and without what is written before a noun: conjunction, preposition, article.
func relatedArabic(a, b string) bool {
	for _, x := range [...]string{a, bare(a, articles), bare(a, particles)} {
		for _, y := range [...]string{b, bare(b, articles), bare(b, particles)} {
			if x == y || agglutinated(x, y, 4) {
				return true
			}
		}
	}
	return false
}

var (
	articles  = []string{"وبال", "وال", "بال", "كال", "فال", "ولل", "ال", "لل"}
	particles = []string{"و", "ب", "ل", "ك", "ف", "س"}
)

// bare takes the first prefix that fits off a word, if three letters stay.
func bare(w string, prefixes []string) string {
	for _, p := range prefixes {
		if strings.HasPrefix(w, p) && utf8.RuneCountInString(w[len(p):]) >= 3 {
			return w[len(p):]
		}
	}
	return w
}

// shortVowels spells the long vowels of Dutch with one letter, as they are in open syllables: patroon, patronen.
var shortVowels = strings.NewReplacer("aa", "a", "ee", "e", "oo", "o", "uu", "u")

// unmutated undoes the changes of an Irish word's first consonant: lenition (bh) and eclipsis (mb).
func unmutated(w string) string {
	if len(w) < 4 {
		return w
	}
	switch w[:2] {
	case "mb", "gc", "nd", "ng", "bp", "dt":
		return w[1:]
	case "bh", "ch", "dh", "fh", "gh", "mh", "ph", "sh", "th":
		return w[:1] + w[2:]
	}
	return w
}
