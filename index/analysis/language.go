// SPDX-License-Identifier: Apache-2.0

package analysis

import "strings"

// Language is a language that this package stems. The numbers are stored in indexes and never change. 0 is any other
// language.
type Language uint8

// Unknown is any language that this package does not stem; the words of its texts are found by their forms only.
const Unknown Language = 0

// The languages of Snowball (snowballstem.org), as far as the library has them.
const (
	English Language = 1 + iota
	German
	French
	Spanish
	Italian
	Portuguese
	Dutch
	Swedish
	Danish
	Norwegian
	Finnish
	Hungarian
	Romanian
	Russian
	Turkish
	Arabic
	Irish
	Tamil
	languageEnd // behind the last one
)

// languageCodes are the primary subtags of each language: ISO 639-1, then those of ISO 639-2 and of its members that
// pages declare.
var languageCodes = [languageEnd]string{
	English: "en eng", German: "de deu ger", French: "fr fra fre", Spanish: "es spa", Italian: "it ita",
	Portuguese: "pt por", Dutch: "nl nld dut", Swedish: "sv swe", Danish: "da dan",
	Norwegian: "no nb nn nor nob nno", Finnish: "fi fin", Hungarian: "hu hun", Romanian: "ro ron rum mo",
	Russian: "ru rus", Turkish: "tr tur", Arabic: "ar ara arb", Irish: "ga gle", Tamil: "ta tam",
}

var languageOf = func() map[string]Language {
	m := map[string]Language{}
	for lang, codes := range languageCodes {
		for _, code := range strings.Fields(codes) {
			m[code] = Language(lang)
		}
	}
	return m
}()

// LanguageOf returns the language of a BCP 47 tag ("de", "pt-BR", "no_NO") or of an ISO 639 code; Unknown if this
// package does not stem it.
func LanguageOf(code string) Language {
	if i := strings.IndexAny(code, "-_"); i >= 0 {
		code = code[:i]
	}
	if lang, ok := languageOf[code]; ok {
		return lang
	}
	return languageOf[strings.ToLower(code)]
}

// Languages returns all languages that this package stems, by number.
func Languages() []Language {
	list := make([]Language, 0, languageEnd-1)
	for lang := English; lang < languageEnd; lang++ {
		list = append(list, lang)
	}
	return list
}

// String returns the two letters of ISO 639-1, "" for Unknown.
func (l Language) String() string {
	if l == Unknown || l >= languageEnd {
		return ""
	}
	code, _, _ := strings.Cut(languageCodes[l], " ")
	return code
}
