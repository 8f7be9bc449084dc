// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"unicode/utf8"

	"github.com/abadojack/whatlanggo"
)

// detectLanguage guesses the language of text from a sample out of its middle, where navigation is
// rare. "" when the sample is short or does not tell.
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
	info := whatlanggo.Detect(string(sample))
	if !info.IsReliable() {
		return ""
	}
	return info.Lang.Iso6391()
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
