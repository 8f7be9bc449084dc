// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestBreadthFirst: with BreadthScorer, generate takes what is one link from a seed before what is two links away,
// over all hosts, however many pages link to the latter; a seed that its line gives a score is like any other; and a
// sitemap comes with the seeds.
func TestBreadthFirst(t *testing.T) {
	w := newScored(t, admission.Options{Scope: policy.ScopeAny}, policy.BreadthScorer{})
	defer w.close()
	w.inject(hostA, hostB+"\tnutch.score=9")
	far := []string{hostW + "far"}
	w.update(page{url: hostA, links: []string{hostA + "1", hostA + "2", hostA + "near"}})
	w.update(page{url: hostA + "1", links: far}, page{url: hostA + "2", links: far})
	w.sitemaps = append(w.sitemaps, w.key(hostW+"sitemap.xml"))
	w.update(page{url: hostW + "far2", links: far})
	for url, want := range map[string]float64{
		hostA: 1, hostB: 1, hostW + "sitemap.xml": 1, hostA + "near": 0.5, far[0]: 0.25,
	} {
		if r, ok := w.records()[w.key(url)]; !ok || r.Score != want {
			t.Errorf("%s: %t, score %v, want %v", url, ok, r.Score, want)
		}
	}
	for _, want := range [][]string{{hostB, hostW + "sitemap.xml"}, {hostA + "near"}, far} {
		g, err := w.p.Generate(context.Background(), GenerateOptions{Top: len(want)})
		if err != nil {
			t.Fatal(err)
		}
		got := w.fetchlist(g.Segment)
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("chosen: %v, want %v", got, want)
		}
	}
	w.check()
}

// TestBreadthMerged: a record of another crawl, which had other scores, gets that of the least depth of both.
func TestBreadthMerged(t *testing.T) {
	here := newScored(t, admission.Options{Scope: policy.ScopeAny}, policy.BreadthScorer{})
	defer here.close()
	there := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer there.close()
	here.inject(hostA)
	here.update(page{url: hostA, links: []string{hostA + "1"}})
	there.place(func(put func(string, storage.Record)) {
		r := storage.Record{Status: storage.StatusFetched, Score: 7, Depth: 3, LastFetch: firstMS, FetchTime: firstMS}
		put(hostA+"1", r)
		put(hostA+"3", r)
	})
	accept := func(key []byte) ([]byte, bool) { return bytes.Clone(key), true }
	if _, err := here.p.ImportRecords(context.Background(), there.store, ImportOptions{Accept: accept}); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]float64{hostA + "1": 0.5, hostA + "3": 0.125} {
		if r := here.records()[here.key(url)]; r.Score != want || r.LastFetch != firstMS {
			t.Errorf("%s: %+v, want a score of %v", url, r, want)
		}
	}
	here.check()
}
