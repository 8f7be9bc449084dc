// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
)

// BenchmarkNearGroups groups the fingerprints of 10^5 pages, a fifth of them near another, 1,000 at a time, and
// compares the pairs that are found with those that comparing each with each finds. It prints how many it finds of them
// (1: all), and what a page takes while the first and the last tenth is grouped.
func BenchmarkNearGroups(b *testing.B) {
	const pages, part = 100_000, 1000
	for b.Loop() {
		rng := rand.New(rand.NewPCG(3, 4))
		var all []storage.SimHash
		for len(all) < pages {
			s := storage.SimHash(rng.Uint64())
			if len(all) > 0 && rng.IntN(5) == 0 {
				s = all[rng.IntN(len(all))]
				for range 1 + rng.IntN(5) {
					s ^= 1 << rng.IntN(64)
				}
			}
			all = append(all, s)
		}
		w := newWorld(b, admission.Options{})
		w.queueNear(all)
		var first, last float64
		n := 0
		for start := b.Elapsed(); ; n += part {
			looked := w.groupSome(part)
			took := b.Elapsed() - start
			start = b.Elapsed()
			if n < pages/10 {
				first += float64(took.Microseconds())
			} else if n >= pages-pages/10 {
				last += float64(took.Microseconds())
			}
			if looked < part {
				break
			}
		}
		b.ReportMetric(first/(pages/10), "first-µs/page")
		b.ReportMetric(last/(pages/10), "last-µs/page")
		b.StopTimer()
		groups := w.nearGroups()
		found, want := 0, 0
		slices.Sort(all)
		all = slices.Compact(all)
		for i, s := range all {
			for _, t := range all[i+1:] {
				if s.Near(t) {
					want++
					if g, ok := groups[s]; ok && g == groups[t] {
						found++
					}
				}
			}
		}
		b.StartTimer()
		b.ReportMetric(float64(want), "pairs")
		b.ReportMetric(float64(found)/float64(want), "found")
		w.close()
	}
}

// queueNear makes a page for each fingerprint, as updatedb leaves it.
func (w *world) queueNear(all []storage.SimHash) {
	w.t.Helper()
	sorted := slices.Clone(all)
	slices.Sort(sorted)
	ing := w.store.NewIngestion()
	defer ing.Abort()
	pages, changed := ing.Table(storage.NearPages()), ing.Table(storage.NearChanged())
	for _, s := range slices.Compact(sorted) {
		if err := pages.Set(storage.AppendNearPageKey(nil, s, []byte("test,a,)/ http")), nil); err != nil {
			w.t.Fatal(err)
		}
		if err := changed.Set(s.Append(nil), nil); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := ing.Commit(); err != nil {
		w.t.Fatal(err)
	}
}
