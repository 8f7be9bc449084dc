// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

// TestLinkCounts: what is used is kept, what is not goes, and nothing outlives the index that it was counted beside.
func TestLinkCounts(t *testing.T) {
	var l linkCounts
	has := func(at uint64, url string, want uint64) {
		t.Helper()
		if c, ok := l.get(at, url); ok != (want > 0) || c.pages != want {
			t.Errorf("%s at %d: %d pages (%t), want %d", url, at, c.pages, ok, want)
		}
	}
	has(0, "none", 0)
	l.keep(1, "used", linkCount{pages: 7})
	l.keep(1, "unused", linkCount{pages: 8})
	for i := range 3 * linkCountsKept {
		l.keep(1, fmt.Sprint(i), linkCount{pages: 1})
		has(1, "used", 7)
		if n := len(l.now) + len(l.old); n > 2*linkCountsKept {
			t.Fatalf("%d are kept", n)
		}
	}
	has(1, "unused", 0)
	has(2, "used", 0) // the index has changed
	has(1, "used", 7)
	l.keep(2, "new", linkCount{pages: 9})
	has(1, "used", 0)
	l.keep(1, "late", linkCount{pages: 6}) // it was counted before the change
	has(2, "late", 0)
	has(1, "late", 0)
	has(2, "new", 9)
}

// TestLinksOf: counts that are kept are those that were counted, for a part of the hits too, and are counted again when
// the index has changed. A URL that is none has no links and takes none from others.
func TestLinksOf(t *testing.T) {
	s := newSite(t)
	h := New(s.e, Options{})
	mend, bold := engine.Hit{URL: s.url + "/mend.html"}, engine.Hit{URL: s.url + "/bold.html"}
	texts := func(list ...engine.Hit) (out []string) {
		for _, c := range h.linksOf(t.Context(), list) {
			out = append(out, c.text())
		}
		return out
	}
	counted := func(url string) string {
		n, err := s.e.Inspect().LinkingPages(t.Context(), []string{url}, linksCounted)
		if err != nil {
			t.Fatal(err)
		}
		return linkCount{pages: uint64(n[0])}.text()
	}
	want := fmt.Sprint([]string{counted(bold.URL), counted(mend.URL)})
	if counted(mend.URL) == "" {
		t.Fatal("nothing links to the page")
	}
	if got := fmt.Sprint(texts(mend, engine.Hit{URL: "no URL"})); got != fmt.Sprint([]string{counted(mend.URL), ""}) {
		t.Errorf("beside what is no URL: %s", got)
	}
	if _, ok := h.counted.get(s.e.Answers().Index(), mend.URL); ok {
		t.Error("counts are kept although there was an error")
	}
	for _, step := range []string{"counted", "one kept", "both kept"} {
		if step == "counted" {
			texts(mend)
		}
		if got := fmt.Sprint(texts(bold, mend)); got != want {
			t.Errorf("%s: %s, want %s", step, got, want)
		}
	}
	at := s.e.Answers().Index()
	if c, ok := h.counted.get(at, mend.URL); !ok || c.text() != counted(mend.URL) {
		t.Errorf("%+v is kept (%t)", c, ok)
	}
	if _, err := s.e.Delete(t.Context(), s.url); err != nil { // it links to the others
		t.Fatal(err)
	}
	if now := s.e.Answers().Index(); now == at {
		t.Fatal("a deletion did not change the index")
	}
	want = fmt.Sprint([]string{counted(bold.URL), counted(mend.URL)})
	if got := fmt.Sprint(texts(bold, mend)); got != want {
		t.Errorf("after a deletion: %s, want %s", got, want)
	}
}

// TestLinkText: of pages that could not all be counted, the line says that there are more.
func TestLinkText(t *testing.T) {
	for c, want := range map[linkCount]string{
		{}: "", {pages: 1}: "1 page links here", {pages: 20}: "20 pages link here",
		{pages: 20, more: true}: "20+ pages link here", {pages: 4210}: "4,210 pages link here",
	} {
		if got := c.text(); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}
