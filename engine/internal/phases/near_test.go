// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// nearTruth is the group of each fingerprint that has neighbors among all, by comparing each with each.
func nearTruth(all []storage.SimHash) map[storage.SimHash]storage.SimHash {
	group := map[storage.SimHash]storage.SimHash{}
	for _, s := range all {
		group[s] = s
	}
	for again := true; again; {
		again = false
		for _, s := range all {
			for _, t := range all {
				if s.Near(t) && group[t] < group[s] {
					group[s], again = group[t], true
				}
			}
		}
	}
	size := map[storage.SimHash]int{}
	for _, g := range group {
		size[g]++
	}
	maps.DeleteFunc(group, func(_, g storage.SimHash) bool { return size[g] < 2 })
	return group
}

// nearGroups reads the groups that are stored.
func (w *world) nearGroups() map[storage.SimHash]storage.SimHash {
	w.t.Helper()
	all := map[storage.SimHash]storage.SimHash{}
	sc := w.store.Scan(storage.NearGroups(), nil, nil)
	for sc.Next() {
		s, err := storage.ReadSimHash(sc.Key())
		group, err2 := storage.ReadSimHash(sc.Value())
		if err != nil || err2 != nil {
			w.t.Fatal(err, err2)
		}
		all[s] = group
	}
	if err := sc.Close(); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// nearHashes draws fingerprints of which many are neighbors: few bits are set.
func nearHash(t *rapid.T) (s storage.SimHash) {
	for _, bit := range rapid.SliceOfN(rapid.IntRange(0, 63), 0, 7).Draw(t, "bits") {
		s |= 1 << bit
	}
	return s
}

// TestNearGroups: after any history of fetches, failures and deletions, with any parts of the work and a grouping after
// any of them, the groups are those of the fingerprints that crawldb has, and the store is sound.
func TestNearGroups(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		w := newWorld(t, admission.Options{})
		defer w.close()
		ctx := context.Background()
		var urls []string
		for i := range 30 {
			urls = append(urls, fmt.Sprintf("%sp%d", hostA, i))
		}
		w.inject(urls...)
		for range rapid.IntRange(1, 6).Draw(t, "rounds") {
			some := rapid.SliceOfNDistinct(rapid.SampledFrom(urls), 1, 30, rapid.ID[string]).Draw(t, "urls")
			if rapid.IntRange(0, 5).Draw(t, "delete") == 0 {
				w.remove(some[:1+len(some)/4]...)
				w.inject(urls...)
			} else {
				var pages []page
				for _, u := range some {
					p := page{url: u, near: nearHash(t), content: rapid.ByteRange(1, 9).Draw(t, "content")}
					p.status = rapid.SampledFrom([]storage.FetchStatus{0, 0, 0, storage.FetchGone}).Draw(t, "status")
					pages = append(pages, p)
				}
				w.update(pages...)
			}
			if rapid.Bool().Draw(t, "later") {
				continue
			}
			part := rapid.IntRange(1, 20).Draw(t, "part")
			w.p.nearScanKeys = rapid.SampledFrom([]int{0, 1, 2, nearScanKeys}).Draw(t, "scan")
			if _, err := w.p.groupNear(ctx, part, rapid.Bool().Draw(t, "keep")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.p.groupNear(ctx, 1000, false); err != nil {
			t.Fatal(err)
		}
		hashes := map[storage.SimHash]bool{}
		for _, r := range w.records() {
			if s := r.Near(); s != 0 {
				hashes[s] = true
			}
		}
		if got, want := w.nearGroups(), nearTruth(slices.Collect(maps.Keys(hashes))); !maps.Equal(got, want) {
			t.Fatalf("groups\n%v, want\n%v", got, want)
		}
		if n, err := w.p.GroupNear(ctx, false); n != 0 || err != nil {
			t.Fatalf("nothing changed, and %d fingerprints are looked at: %v", n, err)
		}
		if report, err := w.store.Verify(ctx); err != nil || !report.OK() {
			t.Fatalf("%v\n%s", err, report)
		}
	})
}

// someNear are different fingerprints, of which many are neighbors, in any bits, and many agree in a block of zeros.
func someNear(rng *rand.Rand) (all []storage.SimHash) {
	for range 600 {
		s := storage.SimHash(rng.Uint64())
		if rng.IntN(3) == 0 {
			s &= 0xff << rng.IntN(64)
		}
		all = append(all, s)
		for range rng.IntN(8) {
			t := s
			for range 1 + rng.IntN(5) {
				t ^= 1 << rng.IntN(64)
			}
			all = append(all, t)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestNearStored: what is added finds all its neighbors among what is stored, whether it is looked up in the tables or
// a table is read, and the groups are those by comparing each with each.
func TestNearStored(t *testing.T) {
	for _, scan := range []int{0, nearScanKeys} {
		rng := rand.New(rand.NewPCG(3, 4))
		all := slices.DeleteFunc(someNear(rng), func(s storage.SimHash) bool { return s == 0 }) // 0 is of no page
		want := nearTruth(all)
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		w := newWorld(t, admission.Options{})
		defer w.close()
		w.p.nearScanKeys = scan
		var urls []string
		for i := range all {
			urls = append(urls, fmt.Sprintf("%sp%d", hostA, i))
		}
		w.inject(urls...)
		half := len(all) / 2
		for _, some := range [][2]int{{0, half}, {half, len(all) - 20}, {len(all) - 20, len(all)}} {
			var pages []page
			for i := some[0]; i < some[1]; i++ {
				pages = append(pages, page{url: urls[i], near: all[i], content: 1})
			}
			w.update(pages...)
			if _, err := w.p.GroupNear(context.Background(), false); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.nearGroups(); !maps.Equal(got, want) {
			t.Errorf("scan %d: %d fingerprints have groups, want %d", scan, len(got), len(want))
		}
	}
}

// TestNearPairs: all pairs within three bits are found, those that lie close to each other and those in a crowd, as by
// comparing each with each.
func TestNearPairs(t *testing.T) {
	all := someNear(rand.New(rand.NewPCG(1, 2)))
	got, want := map[[2]storage.SimHash]bool{}, map[[2]storage.SimHash]bool{}
	for n := range storage.NearTables {
		nearPairs(all, n, func(s, t storage.SimHash) { got[[2]storage.SimHash{min(s, t), max(s, t)}] = true })
	}
	for i, s := range all {
		for _, t := range all[i+1:] {
			if s.Near(t) {
				want[[2]storage.SimHash{s, t}] = true
			}
		}
	}
	if len(want) < 500 || !maps.Equal(got, want) {
		t.Errorf("%d pairs, want %d, at least 500", len(got), len(want))
	}
	clear(got)
	blocks := newNearBlocks(all)
	for _, t := range all {
		blocks.near(t, func(s, t storage.SimHash) {
			if s != t {
				got[[2]storage.SimHash{min(s, t), max(s, t)}] = true
			}
		})
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d pairs with a block in common, want %d", len(got), len(want))
	}
	if crowd := blocks.begins[0][1]; crowd <= nearCrowd {
		t.Errorf("%d fingerprints begin with 0, want more than %d", crowd, nearCrowd)
	}
}

// heaps is a context that measures the heap whenever it is asked whether it has ended.
type heaps struct {
	context.Context
	largest *uint64
}

func (h heaps) Err() error {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	*h.largest = max(*h.largest, m.HeapAlloc)
	return h.Context.Err()
}

// TestNearCrowd: pages that differ in little have hundreds of neighbors each, and grouping them takes no memory for the
// pairs.
func TestNearCrowd(t *testing.T) {
	const crowd = 1 << 13
	w := &world{t: t, now: firstMS, dir: t.TempDir(), cacheBytes: 1 << 20, processors: 1}
	w.options.Scope, w.options.Now = policy.ScopeAny, func() time.Time { return time.UnixMilli(w.now) }
	w.open()
	defer w.close()
	var pages []page
	for i := range crowd {
		s := storage.SimHash(i&0x3f)<<13 | storage.SimHash(i>>6)<<40 | 1
		pages = append(pages, page{url: fmt.Sprintf("%s%d", hostA, i), content: 1, near: s})
	}
	for _, some := range [][]page{pages[:crowd/2], pages[crowd/2:]} {
		w.update(some...)
		var before, largest uint64
		_ = heaps{t.Context(), &before}.Err()
		looked, err := w.p.GroupNear(heaps{t.Context(), &largest}, false)
		if err != nil || looked != uint64(len(some)) {
			t.Errorf("%d fingerprints, %v", looked, err)
		}
		if more := int64(largest - before); more > 8<<20 {
			t.Errorf("%d KiB more for %d fingerprints", more>>10, len(some))
		}
	}
	groups := w.nearGroups()
	for s, group := range groups {
		if group != 1 {
			t.Fatalf("%x is in group %x", s, group)
		}
	}
	if len(groups) != crowd {
		t.Errorf("%d fingerprints have groups, want %d", len(groups), crowd)
	}
	w.check()
}

// groupSome does one part of GroupNear.
func (w *world) groupSome(part int) int {
	w.t.Helper()
	g := &nearing{
		p: w.p, ctx: context.Background(), before: map[storage.SimHash]storage.SimHash{},
		loaded: map[storage.SimHash][]storage.SimHash{}, root: map[storage.SimHash]storage.SimHash{},
	}
	if err := g.group(nil, part); err != nil {
		w.t.Fatal(err)
	}
	return len(g.queue)
}

// TestMarkNearCut: a dedup of a segment that was cut off when the groups were up to date and the pages were not marked
// yet, however often, marks them when it is run again.
func TestMarkNearCut(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		undisturbed, cut := newWorld(t, admission.Options{}), newWorld(t, admission.Options{})
		defer undisturbed.close()
		defer cut.close()
		var urls []string
		for i := range 12 {
			urls = append(urls, fmt.Sprintf("%sp%d", hostA, i))
		}
		undisturbed.inject(urls...)
		cut.inject(urls...)
		for round := range rapid.IntRange(1, 5).Draw(t, "rounds") {
			var pages []page
			for _, u := range rapid.SliceOfNDistinct(rapid.SampledFrom(urls), 1, 12, rapid.ID[string]).Draw(t, "urls") {
				p := page{url: u, near: nearHash(t), content: rapid.ByteRange(1, 200).Draw(t, "content")}
				p.at = int64(round)
				pages = append(pages, p)
			}
			undisturbed.update(pages...)
			cut.update(pages...)
			for range rapid.IntRange(0, 2).Draw(t, "cuts") {
				part := rapid.IntRange(1, 20).Draw(t, "part")
				if _, err := cut.p.groupNear(context.Background(), part, true); err != nil {
					t.Fatal(err)
				}
				cut.open()
			}
			mark := DedupOptions{MarkNear: true, Segments: []uint32{cut.segment}}
			undisturbed.dedup(mark)
			cut.dedup(mark)
			want, got := undisturbed.records(), cut.records()
			for key, r := range want {
				if g := got[key]; g.Status != r.Status {
					t.Fatalf("round %d: %s is %s, want %s", round, key, g.Status, r.Status)
				}
			}
			if report, err := cut.store.Verify(context.Background()); err != nil || !report.OK() {
				t.Fatalf("%v\n%s", err, report)
			}
			if n, err := cut.p.GroupNear(context.Background(), false); n != 0 || err != nil {
				t.Fatalf("%d fingerprints are still queued: %v", n, err)
			}
		}
	})
}

// TestMarkNear: near-duplicates are duplicates of the best of their group if they are marked, whichever way dedup looks
// for them, and pages again when they are not, or when the group falls apart.
func TestMarkNear(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	a, b, c, d := hostA+"a", hostA+"bb", hostA+"ccc", hostA+"dddd"
	w.inject(a, b, c, d)
	status := func(url string) string {
		r := w.records()[w.key(url)]
		return r.Status.String()
	}
	check := func(when string, duplicates ...string) {
		t.Helper()
		for _, u := range []string{a, b, c, d} {
			want := "db_fetched"
			if slices.Contains(duplicates, u) {
				want = "db_duplicate"
			}
			if got := status(u); got != want {
				t.Errorf("%s: %s is %s, want %s", when, u, got, want)
			}
		}
	}
	w.update(page{url: b, content: 1, near: 0xf0}, page{url: c, content: 2, near: 0xff})
	mark := DedupOptions{MarkNear: true, Segments: []uint32{w.segment}}
	w.dedup(mark)
	w.update(page{url: a, content: 3, near: 0xf1}, page{url: d, content: 3, near: 0xf7})
	mark.Segments = []uint32{w.segment}
	w.dedup(DedupOptions{Segments: mark.Segments})
	if got := status(d); got != "db_duplicate" {
		t.Errorf("%s has the content of %s and is %s", d, a, got)
	}
	w.dedup(DedupOptions{MarkNear: true})
	check("marked", b, c, d)
	w.dedup(DedupOptions{})
	check("not marked", d)
	w.update(page{url: a, content: 4, near: 0xf1 << 32, at: 1}, page{url: d, content: 5, near: 0xfff << 32, at: 1})
	mark.Segments = []uint32{w.segment}
	w.dedup(mark)
	check("two that changed")
	w.update(page{url: a, content: 6, near: 0xf4, at: 2}, page{url: d, content: 7, near: 0xf7, at: 2})
	mark.Segments = []uint32{w.segment}
	w.dedup(mark)
	check("by segment", b, c, d)
}

// TestMarkNearSome: a dedup of a segment leaves other groups alone, and knows pages of one fingerprint that nothing is
// near.
func TestMarkNearSome(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	var pages []page
	for i, near := range []storage.SimHash{0xf0, 0xf1, 0xf0 << 32, 0xf1 << 32, 0xff << 48, 0xff << 48} {
		url := hostA + strings.Repeat("p", i+1)
		w.inject(url)
		pages = append(pages, page{url: url, content: byte(i + 1), near: near})
	}
	for _, some := range [][]page{pages[2:], pages[:2]} {
		w.update(some...)
		w.dedup(DedupOptions{MarkNear: true, Segments: []uint32{w.segment}})
	}
	for i, p := range pages {
		r := w.records()[w.key(p.url)]
		if duplicate := i%2 == 1; duplicate != (r.Status == storage.StatusDuplicate) {
			t.Errorf("%s is %s", p.url, r.Status)
		}
	}
}

// TestWatch: fetches that compare contents count, with the time between them; those that cannot do not.
func TestWatch(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	url := hostA + "a"
	w.inject(url)
	at := int64(1000)
	for _, p := range []page{
		{content: 1}, {content: 1}, {content: 1}, {content: 2}, {status: storage.FetchRetry},
		{status: storage.FetchNotModified},
	} {
		p.url, p.at = url, at
		w.update(p)
		at += 10_000
	}
	r := w.records()[w.key(url)]
	if r.Visits != 4 || r.Changes != 1 || r.Watched != 50 {
		t.Errorf("%d changes in %d visits of %d seconds, want 1 in 4 of 50", r.Changes, r.Visits, r.Watched)
	}
}
