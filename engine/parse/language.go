// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"unicode/utf8"

	"github.com/seine-crawler/seine/engine/parse/language"
)

// LanguageFacts is what is known of a page's language.
type LanguageFacts struct {
	Declared   string  // BCP 47 tag of the html element, a meta tag or the header; "" where nothing is said
	Detected   string  // two letters, of the main content; "" where there is too little text
	Confidence float64 // the chance that Detected is right, as it was for sentences whose language is known
}

// decide returns the page's language: what is declared, unless the content says something else with certainty. Sites
// whose template says "en" and whose pages are in another language are several in a hundred.
func (f *LanguageFacts) decide(sampled int) string {
	switch {
	case f.Detected == "":
		return f.Declared
	case f.Declared == "" && f.Confidence < languageLikely:
		return ""
	case f.Declared == "":
		return f.Detected
	case sampled < languageEnough, f.Confidence < languageCertain, language.Small(f.Detected), sameLanguage(f.Declared, f.Detected):
		return f.Declared
	}
	return f.Detected
}

// sameLanguage says that a tag and what was detected name one language, or such as cannot well be told apart.
func sameLanguage(tag, detected string) bool {
	primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
	for _, alike := range [...]string{"no nb nn da", "hr bs sr sh", "id in ms", "he iw", "tl fil", "hi mr", "cs sk", "xh zu", "tn st", "ca es", "zh yue", "af nl"} {
		if hasAny([]byte(alike), primary) && hasAny([]byte(alike), detected) {
			return true
		}
	}
	return primary == detected
}

// detectLanguage looks at a sample of the page's main content, or where there is none at one from the middle of the
// text, where navigation is rare.
func (p *Page) detectLanguage() (sampled int) {
	sample := p.content[:0]
	for i := range p.Blocks {
		if b := &p.Blocks[i]; b.Content && len(sample) < languageSample {
			sample = append(append(sample, p.Text[b.From:b.To]...), '\n')
		}
	}
	p.content = sample
	if len(sample) < languageMinimum {
		sample = p.Text
		from := max(0, len(sample)/2-languageSample/2)
		for from < len(sample) && !utf8.RuneStart(sample[from]) {
			from++
		}
		sample = sample[from:]
	}
	sample = sample[:runeCut(sample, languageSample)]
	if len(sample) < languageMinimum {
		return 0
	}
	p.Languages.Detected, p.Languages.Confidence = language.Detect(sample)
	return len(sample)
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
