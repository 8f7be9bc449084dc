// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/seine-crawler/seine/storage"
)

// TestTitleRule: the titles of a host share the longest text that enough different ones end with, or else begin with. A
// row of meta holds it.
func TestTitleRule(t *testing.T) {
	titles := func(n int, format string) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf(format, i))
		}
		return list
	}
	for _, c := range []struct {
		name string
		list []string
		want titleRule
	}{
		{"end", titles(8, "re %d — Python 3.11.2 documentation"), titleRule{suffix: "— Python 3.11.2 documentation"}},
		{"two parts", titles(9, "page %d | Blog | Example"), titleRule{suffix: "| Blog | Example"}},
		{"a part has more", append(titles(6, "a%d | Blog | Example"), titles(6, "b%d | Example")...), titleRule{
			suffix: "| Example",
		}},
		{"at the beginning", titles(8, "Example News – page %d"), titleRule{prefix: "Example News –"}},
		{"too few", titles(7, "page %d | Example"), titleRule{}},
		{"a few", append(titles(8, "page %d | Example"), titles(9, "no name %d")...), titleRule{}},
		{"one title", append(titles(1, "same | Example"), "same | Example", "same | Example", "same | Example",
			"same | Example", "same | Example", "same | Example", "same | Example"), titleRule{}},
		{"half of them", append(titles(8, "page %d | Example"), titles(8, "no name %d")...), titleRule{
			suffix: "| Example",
		}},
		{"two halves", append(titles(8, "page %d | Other"), titles(8, "page %d | First")...), titleRule{
			suffix: "| First",
		}},
		{"few titles", append(titles(4, "page %d | Example"), titles(4, "page %d | Example")...), titleRule{}},
		{"no separator", titles(20, "page %d of Example"), titleRule{}},
		{"a short word", titles(20, "page %d a Example"), titleRule{}},
		{"a hyphen in a word", titles(20, "page %d off-line"), titleRule{}},
		{"a hyphen before a word", titles(20, "page %d -line"), titleRule{}},
		{"a hyphen behind a word", titles(20, "page %d off- line"), titleRule{}},
	} {
		got := titleRule{fingerprint: 1 << 40, pages: 9}
		c.want.fingerprint, c.want.pages = got.fingerprint, got.pages
		if got.learn(c.list); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if read, err := decodeTitleRule(got.encode()); read != got || err != nil {
			t.Errorf("%s: %+v is read as %+v: %v", c.name, got, read, err)
		}
	}
}

// TestTitleCut: what is left of a title has a word.
func TestTitleCut(t *testing.T) {
	x := titleRule{suffix: "| Example"}
	for title, want := range map[string]string{
		"Baking bread | Example": "Baking bread", "| Example": "| Example", " — | Example": " — | Example",
		"2024 | Example":          "2024",
		"Baking | Example | more": "Baking | Example | more", "": "",
	} {
		if got := x.cut(title); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
	x = titleRule{prefix: "Example |"}
	if got := x.cut("Example | Baking"); got != "Baking" {
		t.Errorf("prefix: %q", got)
	}
	if got := (&titleRule{}).cut("as it is"); got != "as it is" {
		t.Errorf("without a rule: %q", got)
	}
	for _, bad := range []string{"1234567", "12345678", "12345678\x01", "12345678\x01\x05abc", "12345678\x7f\x00",
		"12345678\x21\x00"} {
		if _, err := decodeTitleRule([]byte(bad)); !errors.Is(err, storage.ErrCorrupt) {
			t.Errorf("%q is read: %v", bad, err)
		}
	}
}

// TestTitlesOutgrown: a rule is looked at again when the host has twice as many pages, or fewer than any rule is of.
func TestTitlesOutgrown(t *testing.T) {
	for _, c := range []struct {
		learned          int
		fetched, same    uint32
		unfetched, other uint32
		want             bool
	}{
		{0, 0, 0, 0, 0, false},
		{0, 7, 0, 500, 500, false},
		{0, 8, 0, 0, 0, true},
		{0, 4, 4, 0, 0, true},
		{8, 15, 0, 500, 500, false},
		{8, 10, 6, 0, 0, true},
		{8, 7, 0, 0, 0, true},
		{20, 39, 0, 0, 0, false},
		{20, 400, 0, 0, 0, true},
	} {
		var counts storage.HostCounts
		counts.ByStatus[storage.StatusFetched], counts.ByStatus[storage.StatusNotModified] = c.fetched, c.same
		counts.ByStatus[storage.StatusUnfetched], counts.ByStatus[storage.StatusGone] = c.unfetched, c.other
		if got := (&titleRule{pages: c.learned}).outgrown(&counts); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestTitleLooks: the first pages of a host are looked at again when it has twice as many as when they were last looked
// at, or fewer, by an indexing that was done. Within an indexing all parts look, or none.
func TestTitleLooks(t *testing.T) {
	var looks titleLooks
	a, b := []byte("example,a,"), []byte("example,b,")
	run := func(done bool, host []byte, pages int, want bool) {
		t.Helper()
		rules := newTitleRules(nil, &looks)
		for part := range 2 {
			if got := rules.due(host, pages); got != want {
				t.Errorf("part %d: %d pages of %s are due: %t", part, pages, host, got)
			}
		}
		if done {
			looks.note(rules.looked)
		}
	}
	run(false, a, 8, true)
	run(true, a, 8, true)
	run(true, a, 15, false)
	run(true, b, 15, true)
	run(true, a, 16, true)
	run(true, a, 31, false)
	run(true, a, 15, true) // pages were deleted
	run(true, a, 29, false)
	many := map[uint64]int{}
	for i := range titleLooksMax {
		many[uint64(i)] = 1
	}
	looks.note(many)
	if run(true, b, 16, true); len(looks.pages) > titleLooksMax {
		t.Errorf("%d hosts are remembered", len(looks.pages))
	}
}
