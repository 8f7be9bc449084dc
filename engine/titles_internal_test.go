// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"testing"
)

// TestSharedSuffix: a host's titles share what enough different ones end with, the longest such text.
func TestSharedSuffix(t *testing.T) {
	titles := func(n int, format string) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf(format, i))
		}
		return list
	}
	for _, c := range []struct {
		name string
		list []string
		want string
	}{
		{"documentation", titles(8, "module %d — Python 3.11.2 documentation"), "— Python 3.11.2 documentation"},
		{"two parts", titles(9, "page %d | Blog | Example"), "| Blog | Example"},
		{"a part of the site has more", append(titles(6, "a%d | Blog | Example"), titles(6, "b%d | Example")...), "| Example"},
		{"too few", titles(7, "page %d | Example"), ""},
		{"a minority", append(titles(8, "page %d | Example"), titles(9, "no name %d")...), ""},
		{"one title", append(titles(1, "same | Example"), "same | Example", "same | Example", "same | Example",
			"same | Example", "same | Example", "same | Example", "same | Example"), ""},
		{"no separator", titles(20, "page %d of Example"), ""},
		{"a hyphen in a word", titles(20, "page %d off-line"), ""},
	} {
		if got := sharedSuffix(c.list); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestTitleCut: what is left of a title has a word.
func TestTitleCut(t *testing.T) {
	x := titles{suffix: "| Example"}
	for title, want := range map[string]string{
		"Baking bread | Example": "Baking bread", "| Example": "| Example", " — | Example": " — | Example",
		"Baking | Example | more": "Baking | Example | more", "": "",
	} {
		if got := x.cut(title); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
	x.suffix = ""
	if got := x.cut("as it is "); got != "as it is " {
		t.Errorf("without a rule: %q", got)
	}
}
