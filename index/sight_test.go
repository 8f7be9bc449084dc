// SPDX-License-Identifier: Apache-2.0

package index

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
)

// TestSighted: of the words that are looked for, all that analyzing finds are sighted, as long as a text has no accents
// where the rarest byte is and no wide or narrow forms of letters, and no word is cut for its length.
func TestSighted(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"net", "Nets", "NET", "network", "setNet", "elan", "ELAN", "elanNet", "c++", "C", "c", "os.path",
			"préparer", "Préparation", "größe", "Москва", "москвы", "москва", "北京大学", "京", "タワー", "한국어",
			"pg_hba.conf", " ", " ", ". ", "\n", "_", "-", "(", "„", "n3", "3",
		}),
		rapid.StringOfN(rapid.RuneFrom([]rune("aencTt .北京タワ")), 0, 8, -1),
	)
	query := rapid.SampledFrom([]string{
		"net", "elan", "c++", "c", "os.path", "北京", "京", "タワー", "москва", "preparer große", "a", "한국", "pg_hba.conf",
		"n3 net 北京大学", `"net elan"`, "prepa*",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "text"), "")
		m := newMarker(ParseQuery(query.Draw(t, "query")))
		defer m.release()
		if !m.aim(text) {
			t.Skip("words that are not looked for")
		}
		m.sight(text, 0, len(text), 0)
		sighted := slices.Clone(m.places)
		m.places = m.places[:0]
		m.find(text, 0, len(text))
		for _, p := range m.places {
			same := func(s place) bool { return s.start == p.start && s.word == p.word }
			if m.sought>>p.word&1 == 0 || accentHides(m.needles, text, p) || runAt(text, p.start) > analysis.MaxTerm {
				continue
			}
			if !slices.ContainsFunc(sighted, same) {
				t.Fatalf("%q: %q at %d is not sighted: %v", text, text[p.start:p.end], p.start, sighted)
			}
		}
	})
}

// runAt returns the length of what stands round a place without a space. Of a long one analyzing makes words that end
// where no word ends.
func runAt(text string, at int) int {
	const space = " \n"
	end := strings.IndexAny(text[at:]+" ", space)
	return at + end - (strings.LastIndexAny(text[:at], space) + 1)
}

// accentHides reports whether a letter with an accent stands at a place instead of the byte that was looked for.
func accentHides(needles []needle, text string, p place) bool {
	return slices.ContainsFunc(needles, func(n needle) bool {
		return n.word == p.word && strings.ContainsFunc(text[p.start:p.end], func(r rune) bool {
			letters, ok := latin(r)
			return ok && strings.IndexByte(letters, n.bytes[0]) >= 0
		})
	})
}

// TestSightLongText: in a long text the best passage is found wherever it is, from parts as from one text, and the
// same whether its words were sighted or read.
func TestSightLongText(t *testing.T) {
	filler := strings.Repeat("Nothing of interest is said in this sentence. ", 400)
	for _, c := range []struct{ name, query, best, want string }{
		{"Latin", "reclaim vacuum", "Use VACUUM to reclaim space.", "Use [VACUUM] to [reclaim] space."},
		{"accents", "préparation archive", "La Préparation d'archive.", "La [Préparation] d'[archive]."},
		{"folded query", "praparieren", "Wir präparieren es.", "Wir [präparieren] es."},
		{"no letters of Latin", "новый архив", "Это Новый архив.", "Это [Новый] [архив]."},
		{"without spaces", "软件包", "请先安装软件包。", "请先安装[软件包]。"},
		{"between scripts", "タワー", "見よタワーМосква。", "見よ[タワー]Москва。"},
		{"a phrase", `"write ahead"`, "It has a write-ahead log.", "It has a [write]-[ahead] log."},
		{"wide letters", "vacuum", "Use ＶＡＣＵＵＭ to reclaim.", "Use [ＶＡＣＵＵＭ] to reclaim."},
		{"a word that weighs little", "glimmer nothingness", "One glimmer is here.", "One [glimmer] is here."},
	} {
		text := filler + "A vacuum is empty. Write it, plan ahead. " + filler + c.best + " " + filler
		if c.name == "wide letters" || strings.Contains(c.name, "little") {
			text = filler + c.best + " " + filler
		}
		q := ParseQuery(c.query)
		q.idf = map[string]float64{"glimmer": 0.05}
		half := uint32(len(filler)) / 2
		for _, content := range [][]storage.TextRange{nil, {{From: 5, To: half}, {From: half, To: uint32(len(text))}}} {
			o := SnippetOptions{Length: 60, Content: content}
			s := (&Index{}).SnippetWith(q, text, o).Mark("[", "]")
			if !strings.Contains(s, c.want) {
				t.Errorf("%s, %d parts: %q, want %q", c.name, len(content), s, c.want)
			}
		}
	}
}

// FuzzSnippet: whatever the query, the text and its parts, a snippet is bounded, and its matches are in order.
func FuzzSnippet(f *testing.F) {
	f.Add("net mesh", "Mend the net. Nets and meshes.", uint16(3), uint16(20), uint8(30))
	f.Add(`"北京 大学" пар*`, "北京大学 Пара, é ﾀﾜｰ", uint16(0), uint16(9), uint8(0))
	f.Fuzz(func(t *testing.T, query, text string, from, to uint16, length uint8) {
		text = strings.Repeat(text, 1+2000/(len(text)+1))
		if len(text) > 1<<16 {
			t.Skip("long")
		}
		o := SnippetOptions{Length: int(length), Content: []storage.TextRange{
			{From: uint32(from), To: uint32(from) + 500}, {From: uint32(to) + 600, To: uint32(len(text))},
		}}
		for _, o := range []SnippetOptions{{Length: int(length)}, o} {
			s := (&Index{}).SnippetWith(ParseQuery(query), text, o)
			if length == 0 {
				length = snippetBytes
			}
			if most := int(length) + len("…  …")*4 + 2*utf8.UTFMax; len(s.Text) > most {
				t.Fatalf("%d bytes, want at most %d: %q", len(s.Text), most, s.Text)
			}
			last := 0
			for _, m := range s.Matches {
				if m[0] < last || m[1] <= m[0] || m[1] > len(s.Text) {
					t.Fatalf("matches %v in %d bytes", s.Matches, len(s.Text))
				}
				last = m[1]
			}
		}
	})
}
