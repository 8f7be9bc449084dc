// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestWindowed: goroutines that search the windows of a stored index segment find what one finds, with every part of a
// query and an option that reads the segment, from lists and from held words.
func TestWindowed(t *testing.T) {
	s, x := memoryIndex(t)
	var docs []Document
	for n := range 2*sumDocs + 500 {
		d := numbered(t, n, "torn net repair"+[]string{" crew", "", " shop"}[n%3])
		switch {
		case n%5 == 0:
			d.Text = "repair the net"
		case n%151 == 0:
			d.Text = "a torn net seldom is a net"
		}
		d.Date = time.Unix(int64(n%97)*86400*30, 0)
		d.Group = uint64(n % 1000)
		docs = append(docs, d)
	}
	slices.SortFunc(docs, func(a, b Document) int { return cmp.Compare(a.Key, b.Key) })
	addDocuments(t, s, x, docs)
	if postings := 2 * len(docs); postings < togetherPostings || x.Stats().Segments != 1 {
		t.Fatalf("%d postings in %+v are not searched side by side", postings, x.Stats())
	}
	for _, query := range []string{
		`"net repair"`, `"torn net repair"`, `+net +repair -crew`, `net OR repair`, `+net +repair -site:h7.example`,
		// These are walked: one part is rare, or positions say what matches.
		`"net seldom"`, `"net repair"~3`, `+"net repair" +(crew OR shop)`, `+seldom +net`, `"net repair" OR seldom`,
	} {
		for i, o := range []SearchOptions{
			{Limit: 20}, {Limit: 20, PerHost: 2}, {Limit: 20, Collapse: true},
			{Limit: 20, Freshness: 1000 * time.Hour, Now: time.Unix(3e9, 0)}, {Limit: 20, TotalAtLeast: 50},
		} {
			o.Deadline, o.Strict = time.Minute, true
			var want string
			for run, side := range []int{1, 4, 4, 1, 4} { // words are held meanwhile
				x.Settle()
				x.o.Processors = side
				r, err := x.Search(context.Background(), query, o)
				if err != nil || r.Partial || r.Total < 50 {
					t.Fatalf("%s, %d: %+v, %v", query, i, r, err)
				}
				got := ""
				for _, h := range r.Hits {
					got += fmt.Sprintln(h.Key, h.Score, h.More)
				}
				if o.TotalAtLeast == 0 {
					got += fmt.Sprint(r.Total)
				}
				if run == 0 {
					want = got
				} else if got != want {
					t.Fatalf("%s, %d, run %d: %s\nwant %s", query, i, run, got, want)
				}
			}
		}
	}
}
