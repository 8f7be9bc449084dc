// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

// TestPrintable: of what a page says nothing reaches the terminal that acts there, or changes how the rest looks.
func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a \x1b[1mnet\x1b[0m": "a \x1b[1mnet\x1b[0m", "\x1b]0;x\x07": " ]0;x ", "a\u009b2Jb": "a 2Jb",
		"net\U000e0001\U000e0065": "net", "a\u061cb\u200fc\u202ed\u2066e\u00ad": "abcde", "网页 שלום é": "网页 שלום é",
		"می\u200cخواهم 👩\u200d🔬 \u0600١": "می\u200cخواهم 👩\u200d🔬 \u0600١",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
}

// TestPartialSearch: people read that the deadline ended a search, and only then.
func TestPartialSearch(t *testing.T) {
	for _, partial := range []bool{false, true} {
		var out bytes.Buffer
		c := &console{out: &out, err: &out}
		r := engine.SearchResult{Total: 4, Partial: partial, AtLeast: partial}
		if err := c.found(r, index.Suggestion{}, false); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Contains(text, "ran out of time") != partial ||
			strings.Contains(text, "at least 4 found") != partial || !strings.Contains(text, "4 found") {
			t.Errorf("partial %v: %s", partial, text)
		}
	}
}

// TestWrapped: lines end between words, and beside Chinese, Japanese and Korean characters, which are two columns wide;
// colours take none.
func TestWrapped(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"", 10, ""}, {"torn mesh", 10, "torn mesh"}, {"torn mesh", 9, "torn mesh"}, {"torn mesh", 8, "torn|mesh"},
		{"a torn mesh of a net", 6, "a torn|mesh|of a|net"}, {"abcdefghij kl", 4, "abcd|efgh|ij|kl"},
		{"网页网页", 4, "网页|网页"}, {"网页网页", 5, "网页|网页"}, {"a网页,b", 4, "a网|页,b"}, {"网页。网", 4, "网|页。|网"},
		{"a \x1b[1mtorn\x1b[0m mesh", 6, "a \x1b[1mtorn\x1b[0m|mesh"},
		{"the \x1b[1mtorn\x1b[0m mesh", 6, "the|\x1b[1mtorn\x1b[0m|mesh"},
		{"\x1b[1mabcdef\x1b[0m", 4, "\x1b[1mabcd|ef\x1b[0m"}, {"ne\u0301t ne\u0301t", 7, "ne\u0301t ne\u0301t"},
		{"x", 0, "x"},
	} {
		if got := strings.Join(wrapped(c.text, c.columns), "|"); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

// TestLastPage: the next page is named up to the last hit that can be seen, with as many hits as are left.
func TestLastPage(t *testing.T) {
	for _, c := range []struct {
		offset, limit int
		want          string
	}{
		{0, 30, "search --limit=30 --offset=30 net"},
		{index.HitsMax - 60, 30, "search --limit=30 --offset=9970 net"},
		{index.HitsMax - 40, 30, "search --limit=10 --offset=9990 net"},
		{index.HitsMax - 30, 30, ""},
	} {
		cmd := &cobra.Command{Use: "search"}
		o := engine.SearchOptions{}
		cmd.Flags().IntVar(&o.Limit, "limit", 10, "")
		cmd.Flags().IntVar(&o.Offset, "offset", 0, "")
		args := []string{fmt.Sprint("--limit=", c.limit), fmt.Sprint("--offset=", c.offset)}
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		r := engine.SearchResult{Total: 1 << 20, Hits: make([]engine.Hit, c.limit)}
		if got := nextPage(cmd, []string{"net"}, &o, &r); got != c.want {
			t.Errorf("%d hits behind %d: %q, want %q", c.limit, c.offset, got, c.want)
		}
	}
}

// TestNextPageLists: the command of the next page has each value of a flag that may be repeated.
func TestNextPageLists(t *testing.T) {
	cmd := searchCommand(&console{})
	args := []string{"--set", "dir=d", "--set", "memory=1GB", "--facets", "lang,type", "--limit", "1"}
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	o, r := engine.SearchOptions{Limit: 1}, engine.SearchResult{Total: 9, Hits: make([]engine.Hit, 1)}
	want := "search --facets=lang,type --limit=1 --set=dir=d --set=memory=1GB --offset=1 net"
	if got := nextPage(cmd, []string{"net"}, &o, &r); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
