// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// rows is the number of entries of withheld links.
func (w *world) rows() (n int) {
	w.t.Helper()
	sc := w.store.Scan(storage.WithheldRange(), nil, nil)
	for sc.Next() {
		n++
	}
	if err := sc.Close(); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// newScored is newWorld with a scorer.
func newScored(t tester, o admission.Options, s policy.Scorer) *world {
	t.Helper()
	w := newWorld(t, o)
	w.scorer = s
	w.restart()
	return w
}

// TestWithheldScores: what a link gives to a target that the scope refuses. Nutch's OPIC neither counts it nor gives to
// it; over distinct targets it counts, and counts again with each fetch, in the entry that is there.
func TestWithheldScores(t *testing.T) {
	for _, c := range []struct {
		name            string
		scorer          policy.Scorer
		inside, outside float64
	}{
		{"opic", policy.OPICScorer{}, 3, 0},
		{"opic, refused links count", policy.OPICScorer{CountFiltered: true}, 1.5, 0},
		{"opic over distinct targets", policy.DistinctOPICScorer{}, 1.5, 1.5},
		{"vote", policy.VoteScorer{}, 0.5, 0.5},
		{"depth", policy.BreadthScorer{}, 0.5, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newScored(t, admission.Options{}, c.scorer)
			defer w.close()
			w.inject(hostA)
			for i := range 3 {
				w.update(page{url: hostA, content: 1, links: []string{hostA + "in", other}, at: int64(i + 1)})
				if got := w.rows(); got != 1 {
					t.Errorf("%d entries after fetch %d", got, i+1)
				}
			}
			if got := w.records()[w.key(hostA+"in")].Score; got != c.inside {
				t.Errorf("inside: %v, want %v", got, c.inside)
			}
			w.admit(other)
			w.readmit()
			if r, ok := w.records()[w.key(other)]; !ok || r.Score != c.outside || r.Depth != 1 {
				t.Errorf("outside: %t %+v, want a score of %v", ok, r, c.outside)
			}
			w.check()
		})
	}
}

// nutchScores is what Nutch's OPICScoringFilter and CrawlDbReducer make of segments, one after the other, in 32 bits:
// each page of a segment gives the score that it had before to its links in equal parts, and keeps it.
func nutchScores(seeds []string, segments [][]page, accepts func(url string) bool) map[string]float32 {
	score := map[string]float32{}
	for _, u := range seeds {
		score[u] = 1
	}
	for _, pages := range segments {
		sums := map[string]float32{}
		for _, p := range pages {
			var valid []string
			for _, l := range p.links {
				if accepts(l) && l != p.url {
					valid = append(valid, l)
				}
			}
			for _, l := range valid {
				sums[l] += score[p.url] / float32(len(valid))
			}
		}
		for u, sum := range sums {
			score[u] += sum
		}
	}
	return score
}

// TestOPICModel: whatever the web, the order of its pages and the cut of segments, refetches included, opic's scores
// are Nutch's, as exactly as 32 bits are.
func TestOPICModel(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		inside := []string{hostA, hostA + "1", hostA + "2", hostB, hostB + "1"}
		all := append([]string{other, other + "1"}, inside...)
		var pages []page
		for n := range rapid.IntRange(1, 15).Draw(t, "fetches") {
			p := page{url: rapid.SampledFrom(inside).Draw(t, "page"), content: 1, at: int64(n)}
			p.links = rapid.SliceOfN(rapid.SampledFrom(all), 0, 7).Draw(t, "links")
			pages = append(pages, p)
		}
		w := newScored(t, admission.Options{}, policy.OPICScorer{})
		defer w.close()
		w.inject(hostA, hostB)
		parts := segments(t, pages)
		for i, part := range parts {
			byURL := map[string]page{} // a segment has a URL once
			for _, p := range part {
				byURL[p.url] = p
			}
			parts[i] = slices.Collect(maps.Values(byURL))
			w.update(parts[i]...)
		}
		want := nutchScores([]string{hostA, hostB}, parts, func(u string) bool { return !strings.HasPrefix(u, other) })
		for key, r := range w.records() {
			u, err := key.URL()
			if err != nil {
				t.Fatal(err)
			}
			model := float64(want[u.String()])
			if diff := math.Abs(r.Score - model); diff > 1e-6*max(1, model) {
				t.Fatalf("%s has %v, want %v", u, r.Score, model)
			}
			delete(want, u.String())
		}
		for u, score := range want {
			if score != 0 {
				t.Fatalf("%s is missing", u)
			}
		}
	})
}
