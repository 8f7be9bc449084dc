// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"

	"github.com/abadojack/whatlanggo"
)

// detectLanguage guesses the language of text from a sample out of its middle, where navigation is
// rare. "" when the sample does not tell.
func detectLanguage(text []byte) string {
	if len(text) < 40 {
		return ""
	}
	from := max(0, len(text)/2-languageSample/2)
	sample := text[from:min(len(text), from+languageSample)]
	info := whatlanggo.Detect(strings.ToValidUTF8(string(sample), ""))
	if !info.IsReliable() {
		return ""
	}
	return info.Lang.Iso6391()
}

// declaredLanguage takes a lang attribute if it looks like a language tag.
func declaredLanguage(s string) string {
	s = strings.TrimSpace(s)
	if len(s) < 2 || len(s) > 35 {
		return ""
	}
	for i := range len(s) {
		if !isAlnum(s[i]) && s[i] != '-' && s[i] != '_' {
			return ""
		}
	}
	return strings.ReplaceAll(s, "_", "-")
}
