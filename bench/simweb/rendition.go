// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// chunksPerTopic is how many paragraphs are rendered beforehand for each topic of a rendition. A page is a choice of
// them: since they are only copied, a page of 12 KB costs microseconds. 96 paragraphs of 60 words give a language some
// 35,000 running words in 200 KB, enough for the tail of its vocabulary.
const chunksPerTopic = 96

// coding is a charset that hosts of one language may use.
type coding struct {
	name        string
	enc         encoding.Encoding // nil: UTF-8
	traditional bool              // Chinese characters
}

var utf8Charset = coding{name: "utf-8"}

// oldCharsets are the charsets from before UTF-8, by language in the order of languages.
var oldCharsets = [][]coding{
	{{name: "windows-1252", enc: charmap.Windows1252}},
	{{name: "windows-1252", enc: charmap.Windows1252}},
	{{name: "gbk", enc: simplifiedchinese.GBK}, {name: "big5", enc: traditionalchinese.Big5, traditional: true}},
	{{name: "shift_jis", enc: japanese.ShiftJIS}},
	{{name: "windows-1256", enc: charmap.Windows1256}},
	{{name: "windows-1251", enc: charmap.Windows1251}},
}

// rendition is a language in a charset: the bytes from which pages are assembled. It never changes.
type rendition struct {
	lang     *language
	number   int // of the language
	charset  string
	header   string                         // Content-Type that names it
	enc      encoding.Encoding              // nil: UTF-8
	chunks   [topics][chunksPerTopic][]byte // "<p>…</p>\n"
	subjects [topics][subjectsPerTopic][]byte
	slugs    [topics][subjectsPerTopic][]byte // subjects as percent-encoded path segments
	placeA   [][]byte
	placeB   [][]byte
	generic  [][]byte
	between  []byte
	home     []byte
	updated  []byte
}

func newRendition(seed uint64, number int, cs coding) *rendition {
	lang := languages[number]
	t := &rendition{lang: lang, number: number, charset: cs.name, header: "text/html; charset=" + cs.name, enc: cs.enc}
	encode := func(s string) []byte {
		if cs.traditional {
			s = traditional.Replace(s)
		}
		if cs.enc == nil {
			return []byte(s)
		}
		b, err := cs.enc.NewEncoder().Bytes([]byte(s))
		if err != nil {
			panic("BUG: simweb: a text in " + lang.tag + " is not in " + cs.name + ": " + s)
		}
		return b
	}
	encodeAll := func(s string) (out [][]byte) {
		for _, f := range fields(s) {
			out = append(out, encode(f))
		}
		return out
	}
	t.placeA, t.placeB, t.generic = encodeAll(lang.placeA), encodeAll(lang.placeB), encodeAll(lang.generic)
	t.between, t.home, t.updated = encode(lang.between), encode(lang.home), encode(lang.updated)
	// The draws depend only on the language, so the text is the same in all its charsets.
	r := newRNG(seed, drawChunk, number, 0)
	gaps := map[byte][]string{}
	for c, s := range lang.gaps {
		gaps[c] = fields(s)
	}
	for i := range lang.topics {
		for j, s := range fields(lang.topics[i].subjects) {
			t.subjects[i][j] = encode(s)
			t.slugs[i][j] = []byte(slug(s))
		}
		sentences := lines(lang.topics[i].sentences)
		for j := range t.chunks[i] {
			t.chunks[i][j] = encode(paragraph(&r, lang, gaps, sentences))
		}
	}
	return t
}

// decode decodes bytes of this rendition.
func (t *rendition) decode(b []byte) string {
	if t.enc == nil {
		return string(b)
	}
	out, err := t.enc.NewDecoder().Bytes(b)
	if err != nil {
		panic("BUG: simweb: " + t.charset + " cannot read what it wrote")
	}
	return string(out)
}

// slug turns a title into a path segment: lower case, hyphens, and percent escapes in UTF-8, which browsers send
// whatever the charset of the page is.
func slug(s string) string {
	return url.PathEscape(strings.ReplaceAll(strings.ToLower(s), " ", "-"))
}

func paragraph(r *rng, lang *language, gaps map[byte][]string, sentences []string) string {
	var b strings.Builder
	b.WriteString("<p>")
	for i := range 3 + r.below(3) {
		if i > 0 {
			b.WriteString(lang.space)
		}
		fill(&b, r, lang, gaps, sentences[r.below(len(sentences))])
	}
	b.WriteString("</p>\n")
	return b.String()
}

// fill writes a sentence with its gaps filled.
func fill(b *strings.Builder, r *rng, lang *language, gaps map[byte][]string, sentence string) {
	for {
		before, after, found := strings.Cut(sentence, "$")
		b.WriteString(before)
		if !found {
			return
		}
		switch c := after[0]; c {
		case 'p':
			b.WriteString(r.zipf(fields(lang.placeA)))
			b.WriteString(r.zipf(fields(lang.placeB)))
		case 'N':
			b.WriteString(strconv.Itoa(2 + r.skewed(98)))
		default:
			words, ok := gaps[c]
			if !ok {
				panic("BUG: simweb: " + lang.tag + " has no gap " + string(c) + " in: " + sentence)
			}
			b.WriteString(r.zipf(words))
		}
		sentence = after[1:]
	}
}

// zipf draws a word of a list, the k-th one 1/k as often as the first (Zipf 1935).
func (r *rng) zipf(words []string) string {
	const unit = 1 << 20 // integers, so that every machine draws alike
	sum := 0
	for k := range words {
		sum += unit / (k + 1)
	}
	x := r.below(sum)
	for k, w := range words {
		if x -= unit / (k + 1); x < 0 {
			return w
		}
	}
	panic("BUG: simweb: weights do not add up")
}

// tongues are the renditions of a web by language: UTF-8 first, then the old charsets.
type tongues [][]*rendition

// newTongues makes the renditions that the parameters may need; a language without a share stays nil.
func newTongues(p *Params) tongues {
	out := make(tongues, len(languages))
	for _, part := range p.Languages {
		i := languageByTag(part.Name)
		if part.Share == 0 || out[i] != nil {
			continue
		}
		out[i] = []*rendition{newRendition(p.Seed, i, utf8Charset)}
		if p.OldCharsets == 0 {
			continue
		}
		for _, cs := range oldCharsets[i] {
			out[i] = append(out[i], newRendition(p.Seed, i, cs))
		}
	}
	return out
}
