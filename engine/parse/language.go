// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/seine-crawler/seine/engine/parse/language"
)

// LanguageFacts are the declared and the detected language of a page. The zero value means neither is known.
type LanguageFacts struct {
	Declared   string  // BCP 47 tag of the html element, a meta tag or the header; "" when not declared
	Detected   string  // two letters (ISO 639-1), of the main content; "" when there is too little text
	Confidence float64 // probability that Detected is right, 0 to 1, calibrated on sentences in a known language
}

// decide returns the page's language: the declared one, unless the content is in another one with certainty. Several
// percent of sites have a template that declares "en" and pages in another language. sampled is the number of bytes
// that detection read.
func (f *LanguageFacts) decide(sampled int) string {
	switch {
	case f.Detected == "":
		return f.Declared
	case f.Declared == "" && f.Confidence < languageLikely:
		return ""
	case f.Declared == "":
		return f.Detected
	case sampled < languageEnough, f.Confidence < languageCertain:
		return f.Declared
	case language.Small(f.Detected), sameLanguage(f.Declared, f.Detected):
		return f.Declared
	}
	return f.Detected
}

// alikeLanguages are codes of one language, or of languages that detection confuses.
var alikeLanguages = [...]string{
	"no nb nn da", "hr bs sr sh", "id in ms", "he iw", "tl fil", "hi mr", "cs sk", "xh zu", "tn st", "ca es", "zh yue",
	"af nl",
}

// sameLanguage reports whether a tag and a detected code name one language, or two of alikeLanguages.
func sameLanguage(tag, detected string) bool {
	primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
	for _, alike := range alikeLanguages {
		if hasAny([]byte(alike), primary) && hasAny([]byte(alike), detected) {
			return true
		}
	}
	return primary == detected
}

// detectLanguage sets Languages.Detected and Confidence from a sample of the main content. If there is too little, the
// sample is from the middle of the text, where navigation is rare. It returns the length of the sample in bytes, 0
// if it is too short.
func (p *Page) detectLanguage() (sampled int) {
	p.content = p.AppendContent(p.content[:0])
	var memory [languageSample]byte
	sample := languagePieces(memory[:0], p.content)
	if len(sample) < languageMinimum {
		sample = p.Text
		from := max(0, len(sample)/2-languageSample/2)
		for from < len(sample) && !utf8.RuneStart(sample[from]) {
			from++
		}
		sample = sample[from:]
		sample = sample[:runeCut(sample, languageSample)]
	}
	if len(sample) < languageMinimum {
		return 0
	}
	p.Languages.Detected, p.Languages.Confidence = language.Detect(sample)
	return len(sample)
}

// languageOrder is the order in which the pieces of a sample are read, from the middle on: detection may end before the
// sample does.
var languageOrder = [...]int{4, 0, 6, 2, 5, 1, 7, 3}

// languagePieces appends a sample of a text to dst: all of a short one, else pieces from all over it. Pages that are
// translated in part, and manuals with listings, begin in one language and continue in another. Of 1,028 pages of
// Debian's manuals in other scripts, mixed with English, the first 512 bytes make 223 English that are not for the most
// part, or the other way round; the pieces make 120.
func languagePieces(dst, text []byte) []byte {
	if len(text) <= languageSample {
		return append(dst, text...)
	}
	const size = languageSample/len(languageOrder) - utf8.UTFMax // and a line feed
	for _, i := range languageOrder {
		from := i * (len(text) - size) / (len(languageOrder) - 1)
		for from < len(text) && !utf8.RuneStart(text[from]) {
			from++
		}
		piece := text[from:]
		piece = piece[:runeCut(piece, size)]
		if space := bytes.IndexByte(piece[:len(piece)/4], ' '); from > 0 && space >= 0 { // from a whole word on
			piece = piece[space:]
		}
		dst = append(append(dst, piece...), '\n')
	}
	return dst
}

// declaredLanguage returns the value of a lang attribute or Content-Language header as a tag, or "" if it is not one
// language tag. A list names the languages of the audience, not of the page.
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
