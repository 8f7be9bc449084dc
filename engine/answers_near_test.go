// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

// TestAnswersOfGroups: what was kept of a search is not kept when near-duplicates have become one group, also where the
// index has not changed.
func TestAnswersOfGroups(t *testing.T) {
	s := nearPages(t)
	ctx := context.Background()
	o := siteOptions(t)
	o.NoIndex = false
	e := open(t, o)
	defer mustClose(t, e)
	generated(t, e, s.URL+"/a", s.URL+"/b")
	_, err := e.Fetch(ctx, engine.FetchOptions{Segment: 1})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	_, err = e.UpdateDB(ctx, 1)
	must(err)
	_, err = e.InvertLinks(ctx, 1)
	must(err)
	_, err = e.Index(ctx, engine.IndexOptions{})
	must(err)
	hits := func() int {
		t.Helper()
		r, err := e.Search(ctx, "keeper", engine.SearchOptions{Deadline: patient, Collapse: true})
		must(err)
		return len(r.Hits)
	}
	if n := hits(); n != 2 {
		t.Fatalf("%d hits before there are groups", n)
	}
	_, at, _ := e.Answers().Get("keeper")
	e.Answers().Put("keeper", at, []byte("2"))
	_, err = e.Dedup(ctx, engine.DedupOptions{})
	must(err)
	if n := hits(); n != 1 {
		t.Fatalf("%d hits of a group", n)
	}
	if value, _, ok := e.Answers().Get("keeper"); ok {
		t.Errorf("%s hits are kept of before", value)
	}
}

// nearPages serves /a and /b, which are near-duplicates.
func nearPages(t *testing.T) *httptest.Server {
	var prose strings.Builder
	for i := range 500 {
		fmt.Fprintf(&prose, "The keeper wrote that ship %d had passed. ", i)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			fmt.Fprint(w, "<title>Log</title><p>"+prose.String())
		case "/b":
			fmt.Fprint(w, "<title>Log</title><p>"+prose.String()+"And once none.")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestNearStory: the best of a group, as a story has it, is the one that Dedup would keep.
func TestNearStory(t *testing.T) {
	s := nearPages(t)
	o := siteOptions(t)
	e := open(t, o)
	if _, err := e.Crawl(t.Context(), crawlFrom(s.URL+"/a?long", s.URL+"/b")); err != nil {
		t.Fatal(err)
	}
	for order, best := range map[string]string{"": "/b", "length": "/b", "https": "/a?long"} {
		mustClose(t, e)
		o.DedupOrder = order
		e = open(t, o)
		story, err := e.Inspect().URLStory(t.Context(), s.URL+"/b")
		if err != nil || story.Near == nil || story.Near.Best != s.URL+best {
			t.Errorf("order %q: %+v, %v; want %s", order, story.Near, err, best)
		}
	}
	mustClose(t, e)
}
