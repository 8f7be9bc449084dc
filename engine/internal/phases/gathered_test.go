// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"errors"
	"fmt"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestInlinksBest: of more links to a page than linkdb keeps the texts of, those of the pages with the best scores in
// crawldb have them, whether one goroutine gathers all links at once, in parts, or several do.
func TestInlinksBest(t *testing.T) {
	for name, c := range map[string]struct {
		processors int
		memory     int64
	}{"at once": {1, 0}, "in parts": {1, 1}, "by several": {3, 0}} {
		w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
		w.processors, w.tableBytes = c.processors, c.memory
		w.restart()
		w.p.env.MaxInlinks = 2
		scores := []int{0, 1, 4, 2, 2, 5, 1, 0, 1}
		var pages []page
		for i, score := range scores {
			url := fmt.Sprintf("https://from.test/%d", i)
			w.inject(fmt.Sprintf("%s\tnutch.score=%d", url, score))
			link := storage.Outlink{Key: w.key(hostB), Anchor: fmt.Sprint("score ", score)}
			pages = append(pages, page{url: url, outcome: &storage.FetchOutcome{
				Status: storage.FetchSuccess, Outlinks: []storage.Outlink{link},
			}})
		}
		u := w.update(pages...)
		if _, err := w.p.InvertLinks(t.Context(), u.Segment); err != nil {
			t.Fatal(err)
		}
		links, err := w.store.Inlinks(w.key(hostB), len(scores)+1)
		texts := ""
		for _, l := range links {
			texts += "," + l.Anchor
		}
		if want := ",,,score 4,,,score 5,,,"; err != nil || texts != want {
			t.Errorf("%s: %d links with %q, want %q, %v", name, len(links), texts, want, err)
		}
		w.close()
	}
}

// TestInlinksBytes: of more links of a segment to a page than a row may have bytes, the first stay, however they are
// gathered: the segment can be linked.
func TestInlinksBytes(t *testing.T) {
	for name, c := range map[string]struct {
		processors int
		memory     int64
		texts      int
	}{"at once": {1, 0, 9}, "in parts": {1, 1, 9}, "by several": {3, 0, 9}, "few texts": {1, 1, 2}} {
		w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
		w.processors, w.tableBytes = c.processors, c.memory
		w.restart()
		w.p.env.MaxInlinks, w.p.rowBytes = c.texts, 100
		var pages []page
		for i := range 9 {
			link := storage.Outlink{Key: w.key(hostB), Anchor: "text"}
			pages = append(pages, page{url: fmt.Sprintf("https://from%d.test/", i), outcome: &storage.FetchOutcome{
				Status: storage.FetchSuccess, Outlinks: []storage.Outlink{link},
			}})
		}
		u := w.update(pages...)
		r, err := w.p.InvertLinks(t.Context(), u.Segment)
		links, also := w.store.Inlinks(w.key(hostB), 100)
		value, _, failed := w.store.Get(storage.Linkdb(), storage.AppendLinkdbKey(nil, []byte(w.key(hostB)), 1), nil)
		if err = errors.Join(err, also, failed); err != nil || len(value) < 100 || len(value) > 130 ||
			int(r.Inlinks) != len(links) || len(links) > 7 {
			t.Errorf("%s: %+v, %d links in %d bytes, %v", name, r, len(links), len(value), err)
		}
		for i, l := range links {
			if l.From != w.key(pages[i].url) {
				t.Errorf("%s: link %d is from %s", name, i, l.From)
			}
		}
		w.close()
	}
}
