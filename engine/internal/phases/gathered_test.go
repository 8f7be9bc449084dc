// SPDX-License-Identifier: Apache-2.0

package phases

import (
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
