// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
)

// TestSnippetNear: the passage of a long text in which the query's words stand together is known from the index,
// however far behind it is and whatever stands before; in another text than was indexed all is searched.
func TestSnippetNear(t *testing.T) {
	filler := strings.Repeat("The herring is torn from the nets, says the old fisher. ", 1500)
	passage := "A mesh mender sat by the harbour wall."
	long := doc(0, "Long", filler+passage+" "+filler)
	parts := doc(1, "Parts", filler+passage+filler)
	third := uint32(len(filler) / 3)
	parts.Content = []storage.TextRange{{From: 0, To: third}, {From: 2 * third, To: uint32(len(parts.Text))}}
	short := doc(2, "Short", passage)
	s, x := newStore(t)
	docs := []index.Document{long, parts, short}
	put(t, s, x, docs)
	r, err := x.Search(t.Context(), "mender herring wall", index.SearchOptions{Deadline: 1e12, Near: true})
	if err != nil || len(r.Hits) != len(docs) {
		t.Fatalf("%d hits, %v", len(r.Hits), err)
	}
	plain, err := x.Search(t.Context(), "mender herring wall", index.SearchOptions{Deadline: 1e12})
	if err != nil || slices.ContainsFunc(plain.Hits, func(h index.Hit) bool { return h.Near != nil }) {
		t.Errorf("near, though nobody asked: %+v, %v", plain.Hits, err)
	}
	for _, h := range r.Hits {
		var d index.Document
		for i := range docs {
			if docs[i].Key == h.Key {
				d = docs[i]
			}
		}
		if (len(h.Near) > 0) != (d.Title != "Short") {
			t.Errorf("%s: near %v", d.Title, h.Near)
		}
		o := index.SnippetOptions{Content: d.Content, Near: h.Near}
		got := x.SnippetWith(r.Query, d.Text, o).Mark("[", "]")
		if !strings.Contains(got, "A mesh [mender] sat by the harbour [wall].") {
			t.Errorf("%s: near %v: %q", d.Title, h.Near, got)
		}
		if d.Title != "Short" && !strings.Contains(got, "[herring]") {
			t.Errorf("%s: %q lacks a word of the query", d.Title, got)
		}
		other := strings.ReplaceAll(d.Text, "herring", "salmon") + " The mender left."
		o.Content = nil
		with := x.SnippetWith(r.Query, other, o).Mark("[", "]")
		if !strings.Contains(with, "[mender]") {
			t.Errorf("%s: of another text %q", d.Title, with)
		}
		without := x.SnippetWith(r.Query, d.Text, index.SnippetOptions{}).Mark("[", "]")
		for _, o.Near = range [][]storage.TextRange{{{From: 9, To: 3}}, {{From: 1 << 30, To: 1 << 31}}, {{}, {}}} {
			if got := x.SnippetWith(r.Query, d.Text, o).Mark("[", "]"); got != without {
				t.Errorf("%s: near %v: %q, want %q", d.Title, o.Near, got, without)
			}
		}
	}
}
