// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

const day = 24 * time.Hour

// dated gives half of a world's documents dates around a time, as the date column has them, and returns the dates by
// part and document.
func dated(w *world, seed uint64, now time.Time) map[*part][]uint64 {
	rng := rand.New(rand.NewPCG(seed, 2))
	dates := map[*part][]uint64{}
	for _, p := range w.parts {
		var of []uint64
		for range p.texts {
			date := time.Time{}
			if rng.IntN(2) == 0 {
				date = now.Add(time.Duration(rng.IntN(400)-20) * day)
			}
			of = append(of, timeNumber(date))
		}
		dates[&p.part] = of
		p.column = func(letter byte, block uint32, dst *columnBlock) error {
			dst.numbers = append(dst.numbers[:0], of[int(block)*normDocs:min(int(block+1)*normDocs, len(of))]...)
			return nil
		}
	}
	return dates
}

// TestFreshness: with freshness the best hits are those of a ranking of all documents by score times boost times
// freshness, with pruning and without; undated documents count as they do without freshness.
func TestFreshness(t *testing.T) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64Range(0, 5000).Draw(t, "world")
		w := newWorld(seed)
		dates := dated(w, seed, now.Add(-380*day))
		half := time.Duration(rapid.SampledFrom([]int{1, 30, 1000}).Draw(t, "days")) * day
		o := SearchOptions{Freshness: half, Now: now}
		for range 8 {
			root := drawTree(t, 2)
			s := naive{w, map[string]uint64{}}
			var want []candidate
			for _, p := range w.parts {
				for doc, d := range p.texts {
					sum, ok := s.eval(p, doc, root, 1)
					if !ok || d.dead {
						continue
					}
					fresh := o.freshness().of(dates[&p.part][doc])
					c := candidate{part: &p.part, doc: uint32(doc), key: urlkey.Key(p.names[doc])}
					c.score = product(float64(sum)/pointScale, cmp.Or(d.boost, 1), fresh)
					want = append(want, c)
				}
			}
			slices.SortFunc(want, func(a, b candidate) int {
				return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.key, b.key))
			})
			k := rapid.SampledFrom([]int{1, 3, 10, 2000}).Draw(t, "k")
			for _, exhaustive := range []bool{false, true} {
				x := w.execution(k)
				x.exhaustive, x.top.fresh = exhaustive, o.freshness()
				got := x.run(root)
				if x.work.over || x.work.err != nil {
					t.Fatalf("over: %v, error: %v", x.work.over, x.work.err)
				}
				sameCandidates(t, got, want[:min(k, len(want))])
			}
		}
	})
}

// TestFreshnessOfCrowds: where one host has all of the best hits, those of other hosts have their freshness too.
func TestFreshnessOfCrowds(t *testing.T) {
	s := memoryStore(t)
	x, err := Open(s, Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer x.Close()
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	var docs []Document
	for n := range 60 {
		d := numbered(t, 1000*max(n-50, 0)+n, "net") // 51 of one host, which are new, and 9 of others, which are old
		d.Group, d.Date = uint64(max(n-50, 0)+1), now
		if n > 50 {
			d.Date = now.Add(-30 * time.Duration(n) * day)
		}
		docs = append(docs, d)
	}
	slices.SortFunc(docs, func(a, b Document) int { return cmp.Compare(a.Key, b.Key) })
	addDocuments(t, s, x, docs)
	scores := map[urlkey.Key]float64{}
	o := SearchOptions{Limit: 100, Freshness: 1000 * day, Now: now, Explain: true, Deadline: time.Hour}
	plain, err := x.Search(context.Background(), "net", o)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range plain.Hits {
		scores[h.Key] = h.Score
	}
	for _, limit := range []SearchOptions{{PerHost: 1}, {Collapse: true}, {PerHost: 1, Collapse: true}} {
		o.Limit, o.PerHost, o.Collapse = 4, limit.PerHost, limit.Collapse
		r, err := x.Search(context.Background(), "net", o)
		if err != nil || len(r.Hits) != 4 {
			t.Fatalf("%+v: %d hits, %v", limit, len(r.Hits), err)
		}
		for i, h := range r.Hits {
			if h.Score != scores[h.Key] || h.Explanation == nil || h.Explanation.Value != h.Score {
				t.Errorf("%+v: hit %d has %v, want %v: %+v", limit, i, h.Score, scores[h.Key], h.Explanation)
			}
			if i > 0 && (h.Score >= r.Hits[i-1].Score || !h.Date.Before(r.Hits[i-1].Date)) {
				t.Errorf("%+v: hit %d of %s comes after one of %s", limit, i, h.Date, r.Hits[i-1].Date)
			}
		}
	}
}

// TestFreshnessFactor: the factor is what the documentation says.
func TestFreshnessFactor(t *testing.T) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	f := (&SearchOptions{Freshness: 30 * day, Now: now}).freshness()
	for _, c := range []struct {
		date time.Time
		want float64
	}{
		{now, 1.5}, {now.Add(9 * day), 1.5}, {now.Add(-30 * day), 1}, {now.Add(-60 * day), .75}, {time.Time{}, 1},
		{now.Add(-30 * 365 * day), .5},
	} {
		if got := f.of(timeNumber(c.date)); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.date, got, c.want)
		}
	}
	if (&SearchOptions{}).freshness() != nil {
		t.Error("freshness without a half-life")
	}
}

// TestExplanation: over random queries on random documents, an explanation's value is the hit's score, and each of its
// parts is the sum or the product of its details.
func TestExplanation(t *testing.T) {
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64Range(0, 5000).Draw(t, "world")
		w := newWorld(seed)
		dated(w, seed, now)
		x := w.execution(20)
		x.onePhase = false
		x.work.now = func() time.Time { return now } // explaining has a time of its own, which a busy machine exceeds
		if rapid.Bool().Draw(t, "fresh") {
			x.top.fresh = &freshness{10 * day, now.UnixMilli()}
		}
		root := drawTree(t, 3)
		best := x.run(root)
		hits := make([]Hit, len(best))
		if err := x.explainAll(root, best, hits); err != nil {
			t.Fatal(err)
		}
		for i, h := range hits {
			e := h.Explanation
			if e == nil || e.Value != best[i].score {
				t.Fatalf("place %d: explained %+v, score %v", i, e, best[i].score)
			}
			base, factors := e.Details[0].Value, 1.0
			for _, d := range e.Details[1:] {
				if strings.HasPrefix(d.Description, "several words") {
					base *= 1 + d.Details[0].Value + d.Details[1].Value
				} else {
					factors *= d.Value
				}
			}
			if got := min(base*min(factors, math.MaxFloat64), math.MaxFloat64); got != e.Value {
				t.Fatalf("product %v, value %v: %+v", got, e.Value, e)
			}
			checkExplanation(t, e.Details[0])
		}
	})
}

// checkExplanation checks that a part of an explanation is what its details say, all the way down.
func checkExplanation(t *rapid.T, e Explanation) {
	t.Helper()
	sum, product := 0.0, 1.0
	for _, d := range e.Details {
		sum += d.Value
		product *= d.Value
		checkExplanation(t, d)
	}
	of := func(got float64) bool { return math.Abs(got-e.Value) <= 1e-7*max(1, e.Value) }
	switch {
	case e.Description == "":
		t.Fatalf("%+v is not described", e)
	case strings.HasPrefix(e.Description, "word "):
		if !of(product) && e.Value < maxPoints/pointScale {
			t.Fatalf("product %v, value %v: %+v", product, e.Value, e)
		}
	case strings.HasPrefix(e.Description, "words") || strings.HasPrefix(e.Description, "phrase"):
		if sum != e.Value {
			t.Fatalf("sum %v, value %v: %+v", sum, e.Value, e)
		}
	case strings.HasPrefix(e.Description, "weighted"):
		if !of(sum) {
			t.Fatalf("sum %v, value %v: %+v", sum, e.Value, e)
		}
	}
}
