// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestSnowball compares the stems with those of the Snowball project's own implementation (see the file's head), word
// by word, in all languages.
func TestSnowball(t *testing.T) {
	text, err := os.ReadFile("testdata/snowball.tsv")
	if err != nil {
		t.Fatal(err)
	}
	words := map[Language]int{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSpace(line), "\t")
		lang := LanguageOf(f[0])
		words[lang]++
		word := strings.ReplaceAll(f[1], "ё", "е") // as the newer implementation does, and folding here
		if got := snowball(lang, word); got != f[2] {
			t.Errorf("%s %s: %s, want %s", f[0], f[1], got, f[2])
		}
	}
	for _, lang := range Languages() {
		if words[lang] < 17 {
			t.Errorf("%s: %d words, want 17 or more", lang, words[lang])
		}
	}
}

// TestLanguageOf: tags as pages declare them and as language.Detect gives them.
func TestLanguageOf(t *testing.T) {
	for tag, want := range map[string]Language{
		"en": English, "en-US": English, "EN_us": English, "eng": English, "de-AT": German, "pt-BR": Portuguese,
		"nb": Norwegian, "nn-NO": Norwegian, "no": Norwegian, "zh-Hans": Unknown, "": Unknown, "-": Unknown,
		"english": Unknown, "ta": Tamil, "ga": Irish, "ar": Arabic,
	} {
		if got := LanguageOf(tag); got != want {
			t.Errorf("%q: %d, want %d", tag, got, want)
		}
	}
	if len(Languages()) < 15 {
		t.Errorf("%d languages", len(Languages()))
	}
	for i, lang := range Languages() {
		if lang != Language(i+1) || LanguageOf(lang.String()) != lang {
			t.Errorf("%d is %q", lang, lang)
		}
	}
	// The numbers are in indexes.
	if English != 1 || German != 2 || Russian != 14 || Tamil != 18 {
		t.Error("a language has another number")
	}
}

// TestStemmerBound: a Stemmer keeps a bounded number of stems and gives the same ones when it has forgotten them.
func TestStemmerBound(t *testing.T) {
	var s Stemmer
	word := []byte("aaaaings")
	for range 2*stemsKept + 100 {
		for i := 3; i >= 0; i-- {
			if word[i]++; word[i] <= 'z' {
				break
			}
			word[i] = 'a'
		}
		s.Stem(nil, English, word)
	}
	if n := len(s.kept[English]); n > stemsKept {
		t.Errorf("%d stems are kept", n)
	}
	if got := string(s.Stem([]byte("x"), English, []byte("walking"))); got != "xwalk" {
		t.Errorf("%q, want xwalk", got)
	}
}

// FuzzStem: stemming any word of any language ends without a panic, and gives a stem that is not empty, is UTF-8 if the
// word is, and is the same each time; Related is symmetric and each form is related to itself.
func FuzzStem(f *testing.F) {
	for _, w := range []string{
		"", "walking", "ção", "informacoes", "الكتاب", "çekirdeği", "gunnnnn", "yy", "\xff\xfe", "iiii",
		"ïïïï", "தமிழில்", "\u0612\u0640",
	} {
		for lang := range byte(languageEnd) + 1 {
			f.Add(lang, w, "walks")
		}
	}
	f.Fuzz(func(t *testing.T, l byte, word, other string) {
		var s Stemmer
		lang := Language(l % (byte(languageEnd) + 1))
		folded := Fold(nil, []byte(word))
		for _, w := range [][]byte{[]byte(word), folded} {
			stem := s.Stem(nil, lang, w)
			if len(stem) == 0 && len(w) > 0 || utf8.Valid(w) && !utf8.Valid(stem) {
				t.Errorf("%d %q: %q", lang, w, stem)
			}
			if again := new(Stemmer).Stem(nil, lang, w); string(again) != string(stem) {
				t.Errorf("%d %q: %q, then %q", lang, w, stem, again)
			}
		}
		if !Related(lang, word, word) || Related(lang, word, other) != Related(lang, other, word) {
			t.Errorf("%d: %q and %q", lang, word, other)
		}
	})
}
