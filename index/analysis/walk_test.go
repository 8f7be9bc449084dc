// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// TestTokens: what a text becomes. Signs of kinds and positions: see show.
func TestTokens(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"The os.path.join() of Bücher", "the@0 os.path.join!@1 os.@1 path.@2 join.@3 of@4 bucher@5"},
		{"std::vector<int> a::b: c", "std::vector!@0 std.@0 vector.@1 int@2 a::b!@3 a.@3 b.@4 c@5"},
		{"C++ C# F# C++17 a+b i++ g++", "c++@0 c#@1 f#@2 c++@3 17@4 a@5 b@6 i++@7 g++@8"},
		{"notepad++, x++y", "notepad++!@0 notepad.@0 x@1 y@2"},
		{"use .NET, ASP.NET", "use@0 .net!@1 net.@1 asp.net!@2 asp.@2 net.@3"},
		{"see ~/.bashrc ... and", "see@0 .bashrc!@1 bashrc.@1 and@2"},
		{"End.Begin", "end.begin!@0 end.@0 begin.@1"},
		{"End. Begin.", "end@0 begin@1"},
		{"pg_hba.conf foo__bar _x_ x_", "pg_hba.conf!@0 pg.@0 hba.@1 conf.@2 foo__bar!@3 foo.@3 bar.@4 x@5 x@6"},
		{"--no-clean -v", "no-clean!@0 no.@0 clean.@1 v@2"},
		{"a well-known utf-8 x86-64", "a@0 well.@1 known.@2 utf-8!@3 utf.@3 8.@4 x86-64!@5 x86.@5 64.@6"},
		{"3.11.2, 10.0.0.1:80", "3.11.2!@0 3.@0 11.@1 2.@2 10.0.0.1!@3 10.@3 0.@4 0.@5 1.@6 80@7"},
		{"setDefault HTTPServer x", "setdefault!@0 set.@0 default.@0 httpserver!@1 http.@1 server.@1 x@2"},
		{"PDFs iPhone MiB IDs LaTeX FooFoo", "pdfs@0 iphone@1 mib@2 ids@3 latex!@4 la.@4 tex.@4 foofoo!@5 foo.@5"},
		{"my.setDefault()", "my.setdefault!@0 my.@0 setdefault.@1 set.@1 default.@1"},
		{"naïve.test über-cool", "naive@0 test@1 uber@2 cool@3"},
		{"foo.größe", "foo@0 große@1"},
		{"北京大", "北'@0 北京\"@0 京'@1 京大\"@1 大'@2"},
		{"C言語3.0", "c@0 言'@1 言語\"@1 語'@2 3.0!@3 3.@3 0.@4"},
		{"น้ำ", "น้ํ'@0 น้ํา\"@0 า'@1"}, // NFKC takes the vowel apart
		{"l’été don’t", "l@0 ete@1 don@2 t@3"},
		{"CO₂ ①", "co2@0 1@1"},
		{"㌔", "キ'@0 キロ\"@0 ロ'@1"},
		{"a\u0301\u200db", "ab@0"},
		{"\xff\xfea\xc3", "a@0"},
		{"Ｃ＋＋ C＋＋ Ｃ++言語", "c++@0 c++@1 c++@2 言'@3 言語\"@3 語'@4"},
		{"ｐｇ＿ｈｂａ．conf，　．ＮＥＴ", "pg_hba.conf!@0 pg.@0 hba.@1 conf.@2 .net!@3 net.@3"},
		{"std：：vector ｓｅｔＤｅｆａｕｌｔ", "std::vector!@0 std.@0 vector.@1 setdefault!@2 set.@2 default.@2"},
		{"２０２６年", "2026@0 年'@1"},
	} {
		c.want = strings.ReplaceAll(c.want, "ß", "ss")
		if got := show(tokens(Unknown, c.text)); got != c.want {
			t.Errorf("%q:\n%s, want\n%s", c.text, got, c.want)
		}
	}
}

// promises checks what holds for every text: terms are UTF-8, not empty and at most MaxTerm long; places are inside the
// text and in order of their starts' positions; positions begin at from and grow by at most one, the result is that
// after the last; no term occurs twice at a position; the same text has the same terms.
func promises(t interface{ Fatalf(string, ...any) }, a *Analyzer, text []byte) {
	const from = 7
	type token struct {
		term string
		kind Kind
		pos  int
	}
	var first []token
	last, at := from-1, map[string]bool{}
	before := bytes.Clone(text)
	end := a.Walk(text, from, func(k *Token) {
		switch {
		case len(k.Term) == 0 || len(k.Term) > MaxTerm || !utf8.Valid(k.Term):
			t.Fatalf("%q: term %q", text, k.Term)
		case k.Start < 0 || k.Start >= k.End || k.End > len(text):
			t.Fatalf("%q: %q is at %d to %d", text, k.Term, k.Start, k.End)
		case k.Position < last || k.Position > last+1:
			t.Fatalf("%q: %q is at position %d after %d", text, k.Term, k.Position, last)
		case k.Word != packed(string(k.Term)):
			t.Fatalf("%q: %q as %x", text, k.Term, k.Word)
		case k.Word != (Word{}) && string(k.Word.AppendTo([]byte("-"))) != "-"+string(k.Term):
			t.Fatalf("%q: %q as %x is %q", text, k.Term, k.Word, k.Word.AppendTo(nil))
		case k.Single != (k.Kind == KindSingle):
			t.Fatalf("%q: kind %d", text, k.Kind)
		}
		if k.Position > last {
			clear(at)
		}
		if at[string(k.Term)] {
			t.Fatalf("%q: %q twice at %d", text, k.Term, k.Position)
		}
		at[string(k.Term)] = true
		last = k.Position
		first = append(first, token{string(k.Term), k.Kind, k.Position})
	})
	if end != last+1 {
		t.Fatalf("%q: ends at position %d after %d", text, end, last)
	}
	if !bytes.Equal(before, text) {
		t.Fatalf("%q was changed", before)
	}
	i := 0
	a.Walk(text, from, func(k *Token) {
		if i >= len(first) || first[i] != (token{string(k.Term), k.Kind, k.Position}) {
			t.Fatalf("%q: another walk gives another token %d, %q", text, i, k.Term)
		}
		i++
	})
}

// packed returns the Word that a term must have.
func packed(term string) (w Word) {
	if len(term) > WordMax {
		return w
	}
	b := make([]byte, WordMax)
	copy(b, term)
	return Word{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

func FuzzWalk(f *testing.F) {
	for _, s := range []string{
		"The os.path.join() of Bücher, C++ 北京大学", "ｶﾞｶﾞ ﾊﾟ", "Softwareentwicklung", "น้ำแข็ง", "\u1112\u1161\u11ab",
		"a\u0301\u0308\u0301", "...__--::a::b", strings.Repeat("aB", 40), strings.Repeat("ไ", 90), "\xff\xc3\x28",
		strings.Repeat("Ａ", 90), "ﷺ ㍿ ™", strings.Repeat("x_", 60), "น" + strings.Repeat("้", 40),
	} {
		f.Add([]byte(s), byte(0))
		f.Add([]byte(s), byte(German))
	}
	f.Fuzz(func(t *testing.T, text []byte, lang byte) {
		promises(t, &Analyzer{Language: Language(lang)}, text)
		promises(t, &Analyzer{Parts: true}, text)
	})
}

// TestNFKC: a text and its NFKC have the same terms, except that ASCII's signs make no names where they are parts of
// other characters (㏂, …).
func TestNFKC(t *testing.T) {
	const form = "[a-zé\u0301\u0308äßøåÅÆœĳﬁ０-９ａ-ｚＡ-Ｚ＿．－：＋＃ｦ-ﾟか-ヶ\u3099\u309aㄱ-ㅣ가-힣" +
		"\u1100-\u1112\u1161-\u1175\u11a8-\u11c2А-яёЁй\u0306αάΆς一-鿿㌀-㍗①-⑨²₂ ]{0,12}"
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(form).Draw(t, "text")
		if got, want := show(tokens(0, text)), show(tokens(0, norm.NFKC.String(text))); got != want {
			t.Fatalf("%q: %s, want %s", text, got, want)
		}
	})
}

// TestFullWidth: what is written in full width, or a part of it, has the tokens of ASCII, at its own places.
func TestFullWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.StringMatching("([a-zA-Z0-9é北カ\u0301]{0,5}[-._:+#(=é北 ]{0,3}){0,24}").Draw(t, "text")
		wide := rapid.SliceOfN(rapid.Bool(), len(plain), len(plain)).Draw(t, "wide")
		var text []byte
		var place []int // of each byte of plain
		for i, r := range plain {
			for range utf8.RuneLen(r) {
				place = append(place, len(text))
			}
			switch {
			case wide[i] && r == ' ':
				r = '\u3000'
			case wide[i] && r < utf8.RuneSelf:
				r += 'Ａ' - 'A'
			}
			text = utf8.AppendRune(text, r)
		}
		place = append(place, len(text))
		var got, want []string
		(&Analyzer{}).Walk(text, 0, func(t *Token) {
			got = append(got, fmt.Sprint(string(t.Term), t.Position, t.Start, t.End, t.Kind))
		})
		(&Analyzer{}).Walk([]byte(plain), 0, func(t *Token) {
			want = append(want, fmt.Sprint(string(t.Term), t.Position, place[t.Start], place[t.End], t.Kind))
		})
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q of %q", text, got, want, plain)
		}
	})
}

// TestParts: where a caller wants the parts of names only, there are no wholes with signs; all else is the same.
func TestParts(t *testing.T) {
	a := Analyzer{Parts: true}
	var got []string
	a.Walk([]byte("os.path.joining setDefaults .NET C++ notepad++ -v pg_hba Bücher"), 0, func(t *Token) {
		got = append(got, string(t.Term))
	})
	want := strings.Fields("os path joining setdefaults set defaults net c++ notepad v pg hba bucher")
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringMatching("([a-zA-Z0-9äß]{0,4}[-._:+# ]{0,2}){0,8}").Draw(t, "text"))
		var got, want []string
		collect := func(to *[]string) func(*Token) {
			return func(t *Token) {
				if t.Kind != KindWhole || !bytes.ContainsAny(t.Term, "-._:+#") {
					*to = append(*to, fmt.Sprint(string(t.Term), t.Position, t.Start, t.End, t.Kind))
				}
			}
		}
		n := (&Analyzer{}).Walk(text, 0, collect(&want))
		if m := (&Analyzer{Parts: true}).Walk(text, 0, func(t *Token) {
			if collect(&got)(t); t.Kind == KindWhole && bytes.ContainsAny(t.Term, "-._:+#") {
				got = append(got, "whole "+string(t.Term))
			}
		}); m != n || !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	})
}

// TestWalkAllocates: walking over known words allocates nothing, in any script.
func TestWalkAllocates(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := append(readme, " Установка пакета: 如何安装软件包 ภาษาไทย std::vector setDefault Ｃ＋＋ std：：vector"...)
	for _, lang := range []Language{Unknown, German} {
		a := Analyzer{Language: lang}
		n := 0
		count := func(*Token) { n++ }
		a.Walk(text, 0, count)
		if allocs := testing.AllocsPerRun(10, func() { a.Walk(text, 0, count) }); allocs > 0 {
			t.Errorf("%v: %v allocations", lang, allocs)
		}
	}
}
