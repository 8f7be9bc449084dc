// SPDX-License-Identifier: Apache-2.0

package index

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
)

// TestMarkerFindsAll: looking at pairs of bytes finds the same places as analyzing the whole text, where no word is cut
// for its length.
func TestMarkerFindsAll(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"net", "Nets", "NET", "network", "Élan", "elan", "E\u0301lan", "ＮＥＴ", "c++", "C", "c", "os.path",
			"北京大学", "京", "москва", "МОСКВА", "が", "か\u3099", "タワー", "ﾀﾜｰ", "ｶﾞ", "ガ",
			"happy", "happiness", " ", " ", ". ", "\n", "_", "-", "ß", "ø",
			"\xff", "\u0301", "ﬁne", "fine", "한국어", "\u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165",
			"أحمد", "احمد", "٣٤", "34", "ﻻ", "йод", "и\u0306од", "И\u0306ОД", "각", "가\u11a8",
		}),
		rapid.StringOfN(rapid.RuneFrom([]rune("aenct .北京かがタワ\u3099、。々（Ａ-")), 0, 8, -1),
	)
	query := rapid.SampledFrom([]string{
		"net", "elan", "c++", "c", "os.path", "北京", "京",
		"タワー", "が", "ガ", "москва", "happy fine", "a", "e", "한국", "n3 net 北京大学",
		"احمد", "34", "لا", "йод", "각",
	})
	x := &Index{}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "text"), "")
		q := ParseQuery(query.Draw(t, "query"))
		m := newMarker(q)
		defer m.release()
		m.find(text, 0, len(text))
		got := map[[2]int]bool{}
		for _, p := range m.places {
			got[[2]int{p.start, p.end}] = true
		}
		want := map[[2]int]bool{}
		var a analysis.Analyzer
		a.Walk([]byte(text), 0, func(t *analysis.Token) {
			if slices.ContainsFunc(m.forms, func(f markForm) bool { return f.term == string(t.Term) }) {
				want[[2]int{t.Start, t.End}] = true
			}
		})
		for p := range want {
			if !got[p] && runAt(text, p[0]) <= analysis.MaxTerm {
				t.Fatalf("%q: %q at %v is not found: %v", text, text[p[0]:p[1]], p, got)
			}
		}
		for p := range got {
			if !want[p] && runAt(text, p[0]) <= analysis.MaxTerm {
				t.Fatalf("%q: %q at %v is no word of the query", text, text[p[0]:p[1]], p)
			}
		}
		length, passages := rapid.IntRange(1, 200), rapid.IntRange(1, 4)
		o := SnippetOptions{Length: length.Draw(t, "length"), Passages: passages.Draw(t, "passages")}
		for _, at := range rapid.SliceOfN(rapid.Uint32Range(0, 200), 0, 6).Draw(t, "content") {
			o.Content = append(o.Content, storage.TextRange{From: at, To: at + 30})
		}
		s := x.SnippetWith(q, text, o)
		if most := o.Length + len("…  …")*(o.Passages+1); len(s.Text) > most {
			t.Fatalf("%q: %d bytes, want at most %d: %q", text, len(s.Text), most, s.Text)
		}
		last := 0
		for _, p := range s.Matches {
			if p[0] < last || p[1] <= p[0] || p[1] > len(s.Text) {
				t.Fatalf("matches %v in %d bytes", s.Matches, len(s.Text))
			}
			last = p[1]
		}
		if utf8.ValidString(text) && o.Content == nil && !utf8.ValidString(s.Text) {
			t.Fatalf("%q: %q", text, s.Text)
		}
		if len(want) > 0 && o.Content == nil && len(s.Matches) == 0 && o.Length > 100 {
			t.Fatalf("%q: no match in %q", text, s.Text)
		}
	})
}

// TestFoldedFrom: of each character that folds to another, the marker knows what it begins with then.
func TestFoldedFrom(t *testing.T) {
	var a analysis.Analyzer
	for r := rune(utf8.RuneSelf); r <= unicode.MaxRune; r++ {
		first := r
		a.Walk([]byte(string(r)), 0, func(t *analysis.Token) {
			if first == r {
				first, _ = utf8.DecodeRune(t.Term)
			}
		})
		if first != r && utf8.ValidRune(r) && !slices.Contains(foldedFrom()[first], r) {
			t.Errorf("U+%04X folds to %q", r, first)
		}
	}
}

func TestPassages(t *testing.T) {
	filler := strings.Repeat("Nothing of interest is said in this sentence. ", 10)
	menu := "Home\nServer options\nDownload\n"
	for _, c := range []struct {
		name, query, text string
		o                 SnippetOptions
		want              string
	}{
		{
			"a whole sentence", "vacuum", filler + "Use VACUUM to reclaim space. " + filler, SnippetOptions{Length: 40},
			"Use [VACUUM] to reclaim space.",
		},
		{
			"the sentence with both words", "vacuum space",
			"Space is big. " + filler + "A vacuum is empty. " + filler +
				"Use VACUUM to reclaim space. " + filler,
			SnippetOptions{Length: 40}, "Use [VACUUM] to reclaim [space].",
		},
		{
			"two passages", "vacuum wraparound",
			filler + "Use VACUUM to reclaim it. " + filler + "Avoid wraparound here. " + filler,
			SnippetOptions{Length: 120}, "Use [VACUUM] to reclaim it. … Avoid [wraparound] here.",
		},
		{
			"abbreviations and names are no ends", "conf",
			filler + "See e.g. Sect. 3 of pg_hba.conf by J. S. Bach. " + filler,
			SnippetOptions{Length: 60}, "See e.g. Sect. 3 of pg_hba.[conf] by J. S. Bach.",
		},
		{
			"Chinese stops", "软件", "今天天气很好。" + strings.Repeat("没有什么可说的。", 20) + "请先安装软件包。然后重新启动。" +
				strings.Repeat("没有什么可说的。", 20), SnippetOptions{Length: 30}, "请先安装[软件]包。",
		},
		{
			"stops of Devanagari", "पैकेज",
			"यह पृष्ठ लंबा है। पहले पैकेज चुनें। फिर प्रतीक्षा करें।" + strings.Repeat(" कुछ नहीं।", 20),
			SnippetOptions{Length: 50}, "पहले [पैकेज] चुनें।",
		},
		{
			"stops of Arabic", "العلم", "هذا كتاب؟ ما هو العلم؟ القراءة مفيدة۔" + strings.Repeat(" لا شيء هنا۔", 20),
			SnippetOptions{Length: 30}, "ما هو [العلم]؟",
		},
		{
			"content before menus", "server", menu + "The server listens.", SnippetOptions{
				Content: []storage.TextRange{{From: uint32(len(menu)), To: uint32(len(menu) + 19)}},
			}, "The [server] listens.",
		},
		{
			"menus if nothing else has the word", "download", menu + "The server listens.", SnippetOptions{
				Content: []storage.TextRange{{From: uint32(len(menu)), To: uint32(len(menu) + 19)}}, Length: 20,
			}, "[Download] The server …",
		},
		{
			"nothing but the content", "download", menu + "The server listens.", SnippetOptions{
				Content: []storage.TextRange{{From: uint32(len(menu)), To: uint32(len(menu) + 19)}}, ContentOnly: true,
			}, "The server listens.",
		},
		{
			"a phrase as it stands", `"write ahead"`, "Write it. Plan ahead. The write-ahead log.",
			SnippetOptions{Length: 60},
			"Write it. Plan ahead. The [write]-[ahead] log.",
		},
		{
			"words of a phrase that the text lacks", `"write ahead"`, "Write it. Plan ahead.", SnippetOptions{},
			"[Write] it. Plan [ahead].",
		},
		{
			"no match", "absent", "One two. Three four. " + filler, SnippetOptions{Length: 25}, "One two. Three four.",
		},
		{"a name of four characters", "北京大学", "我在北京大学读书。", SnippetOptions{}, "我在[北京大学]读书。"},
	} {
		s := (&Index{}).SnippetWith(ParseQuery(c.query), c.text, c.o)
		if got := s.Mark("[", "]"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestSnippetForms: prefixes and the forms of a word are found, as forms of one word; rare words are preferred.
func TestSnippetForms(t *testing.T) {
	m := newMarker(Query{})
	defer m.release()
	w := m.word("mesh", false, -1)
	if m.word("mash", false, w) != w || m.word("repa", true, -1) == w {
		t.Error("forms")
	}
	m.prepare()
	text := "Repairing the mash and the repapered mesh; nothing meshed."
	m.find(text, 0, len(text))
	var got []string
	for _, p := range m.places {
		got = append(got, text[p.start:p.end])
	}
	want := []string{"Repairing", "mash", "repapered", "mesh", "meshed"} // the last one while terms are stems
	if len(got) < 4 || !slices.Equal(got, want[:len(got)]) {
		t.Errorf("%q, want %q", got, want)
	}
	q := ParseQuery("common rare")
	q.idf = map[string]float64{"common": 0.1, "rare": 5}
	other := strings.Repeat("x ", 200)
	text = strings.Repeat("A common sentence. ", 5) + other + "Rare is this. " + other
	s := (&Index{}).SnippetWith(q, text, SnippetOptions{Passages: 1}).Mark("[", "]")
	if !strings.Contains(s, "[Rare] is this") {
		t.Errorf("%q", s)
	}
}

// TestSnippetFolded: words are marked however their first character is written.
func TestSnippetFolded(t *testing.T) {
	for text, query := range map[string]string{
		"أحمد": "احمد", "إلى": "الى", "آخر": "اخر", "٣٤٥": "345", "१२३": "123", "๑๒๓": "123", "𑄶": "0",
		"\ufefb": "لا", "\ufdfa": "صلى", "Ⅳ": "iv", "①": "1", "½": "2", "𝗯𝗼𝗹𝗱": "bold", "ᲥᲐᲠᲗᲣᲚᲘ": "ქართული",
		"Ꭰ": "ꭰ", "\uf900": "豈", "㌔": "キロ", "\u1112\u1161\u11ab국": "한국", "\u0958लम": "\u0915\u093cलम", "⼀": "一",
		"ㄱ": "ᄀ", "Ⰰ": "ⰰ", "и\u0306од": "йод", "🄰": "a", // marks at the end are of the word, too
		"שָׁלוֹםְ": "שלום", "مُحَمَّدٌ": "محمد", "辻\U000e0100": "辻",
	} {
		s := (&Index{}).Snippet(ParseQuery(query), "zz "+text+" zz")
		if got := s.Mark("[", "]"); got != "zz ["+text+"] zz" {
			t.Errorf("%s marks %s", query, got)
		}
	}
}

// BenchmarkSnippet makes snippets of ten pages of 6 to 12 KB, as a page of hits needs.
func BenchmarkSnippet(b *testing.B) {
	var texts []string
	seen := map[string]bool{} // packages of one source have the same files
	paths, _ := filepath.Glob("/usr/share/doc/*/*")
	for _, p := range paths {
		if i, err := os.Stat(p); err != nil || i.Size() < 6<<10 || i.Size() > 12<<10 || !i.Mode().IsRegular() ||
			strings.HasSuffix(p, ".gz") {
			continue
		}
		if text, err := os.ReadFile(p); err == nil && utf8.Valid(text) && !seen[string(text)] {
			seen[string(text)] = true
			texts = append(texts, string(text))
		}
	}
	if texts = texts[:min(10, len(texts))]; len(texts) < 10 {
		b.Fatalf("%d texts of Debian packages, want 10", len(texts))
	}
	for name, query := range map[string]string{
		"rare": "archive signature", "common": "the file of", "phrase": `"the file"`, "absent": "xylophone quince",
		"long": "how do I install the package from the source",
	} {
		b.Run(name, func(b *testing.B) {
			q, x := ParseQuery(query), &Index{}
			b.ReportAllocs()
			for b.Loop() {
				for _, text := range texts {
					x.Snippet(q, text)
				}
			}
		})
	}
}
