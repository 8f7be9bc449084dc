// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestWordsOfASCII: words end where a letter or digit has no successor, wherever in the text they are and whatever is
// beside them, and come out in lower case and with their places.
func TestWordsOfASCII(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const form = "([a-zA-Z0-9@`/:{~_ \\[\x00\x7f-]{0,12}[a-zA-Z0-9]{0,20}[ .]?){0,8}"
		text := rapid.StringMatching(form).Draw(t, "text")
		type token struct {
			term                 string
			position, start, end int
		}
		var want, got []token
		for _, at := range regexp.MustCompile("[a-zA-Z0-9]+").FindAllStringIndex(text, -1) {
			w := []byte(strings.ToLower(text[at[0]:at[1]]))
			want = append(want, token{string(w[:min(len(w), MaxTerm)]), len(want), at[0], at[1]})
		}
		a := Analyzer{Parts: true}
		end := a.Walk([]byte(text), 0, func(t *Token) {
			if t.Position == len(got) { // the whole word, not what capitals make of it
				got = append(got, token{string(t.Term), t.Position, t.Start, t.End})
			}
		})
		if !slices.Equal(got, want) || end != len(want) {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
	})
}
