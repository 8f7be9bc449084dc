// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"unicode/utf8"

	"github.com/abadojack/whatlanggo"
)

// detectLanguage guesses the language of text from a sample out of its middle, where navigation is
// rare. "" when the sample is short or does not tell. Most of the web is decided by its commonest
// words, in one pass; the rest goes to statistics of trigrams, which compare with forty profiles and
// take several times as long as all the rest of a page.
func detectLanguage(text []byte) string {
	if len(text) < languageMinimum {
		return ""
	}
	from := max(0, len(text)/2-languageSample/2)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	sample := text[from:]
	sample = sample[:runeCut(sample, languageSample)]
	if language := byCommonWords(sample); language != "" {
		return language
	}
	info := whatlanggo.Detect(string(sample))
	if !info.IsReliable() {
		return ""
	}
	return info.Lang.Iso6391()
}

// commonWords are the commonest words of the languages in Latin script of which there is most on
// the web. A word of several languages counts for each.
var commonWords = [...]struct{ language, words string }{
	{"en", "the of and to is in that for it with as this are be by from or was not on you which an if can has have will"},
	{"de", "der die und das ist nicht ein eine zu den mit von sich auf für dem im werden auch es an wird oder sind des"},
	{"fr", "le la les des et est une un dans pour que qui pas sur avec du au ce par sont plus ou vous"},
	{"es", "el la los las que en y del por una con para es se un no lo como su más al de"},
	{"it", "il la che di e un per non una sono del della con è i gli si le da nel più"},
	{"pt", "o que de e do da em um uma para com não os as se por no na mais dos ao"},
	{"nl", "de het een van en is dat niet op te zijn voor met in die er aan ook worden of"},
	{"sv", "och att det som en är på för av inte med den till har ett om kan"},
	{"da", "og at det som en er på for af ikke med den til har et om kan"},
	{"pl", "i w nie na się z do to że jest o jak przez lub są po dla"},
}

// wordLanguages maps a common word to a bit per language.
var wordLanguages = func() map[string]uint16 {
	m := make(map[string]uint16, 256)
	for i, l := range &commonWords {
		for w := range strings.FieldsSeq(l.words) {
			m[w] |= 1 << i
		}
	}
	return m
}()

// byCommonWords returns the language that has at least eight common words in the sample, and twice
// as many as any other.
func byCommonWords(sample []byte) string {
	var hits [len(commonWords)]int
	var word [8]byte
	n := 0
	for i := 0; i <= len(sample); i++ {
		if i < len(sample) {
			if c := sample[i]; c >= utf8.RuneSelf || isAlnum(c) {
				if 'A' <= c && c <= 'Z' {
					c |= 0x20
				}
				if n < len(word) {
					word[n] = c
				}
				n++
				continue
			}
		}
		if n > 0 && n <= len(word) {
			for bits, k := wordLanguages[string(word[:n])], 0; bits != 0; bits, k = bits>>1, k+1 {
				hits[k] += int(bits & 1)
			}
		}
		n = 0
	}
	best, second := 0, 0
	language := ""
	for k, h := range hits {
		if h > best {
			best, second, language = h, best, commonWords[k].language
		} else if h > second {
			second = h
		}
	}
	if best < 8 || best < 2*second {
		return ""
	}
	return language
}

// declaredLanguage takes a lang attribute or a Content-Language header if it looks like one
// language tag. A list names the audience's languages, not the page's.
func declaredLanguage(s string) string {
	s = strings.TrimSpace(s)
	if len(s) < 2 || len(s) > 35 || !isLetter(s[0]) {
		return ""
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '-' && s[i] != '_' {
			return ""
		}
	}
	return strings.ReplaceAll(s, "_", "-")
}
