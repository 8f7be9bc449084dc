// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// member is one page of a group of equal pages.
type member struct {
	key urlkey.Key
	r   storage.Record
}

// compareMembers orders pages, the better one first.
func compareMembers(order []DedupKey, m, n *member) int {
	for _, k := range order {
		c := 0
		switch k {
		case DedupScore:
			c = cmp.Compare(n.r.Score, m.r.Score)
		case DedupTime:
			c = cmp.Compare(n.r.LastFetch, m.r.LastFetch)
		case DedupLength:
			c = cmp.Compare(len(m.key), len(n.key))
		case DedupHTTPS:
			c = -cmp.Compare(strings.Count(string(m.key), "https"), strings.Count(string(n.key), "https"))
		}
		if c != 0 {
			return c
		}
	}
	return strings.Compare(string(m.key), string(n.key))
}

func drawMember(t *rapid.T) *member {
	dates := []string{"", "Tue, 15 Nov 1994 12:45:26 GMT", "Tue, 15 Nov 1994 12:45:27 GMT"}
	scores := []float64{0, 0.5, 1, math.Copysign(0, -1), -1, math.Inf(1), math.Inf(-1), math.NaN()}
	times := []int64{0, 1, 2, -1, math.MinInt64, math.MaxInt64}
	return &member{
		key: urlkey.Key(rapid.StringMatching(`com,[ab],\)/[xy]{0,2} https?`).Draw(t, "key")),
		r: storage.Record{
			Score:        rapid.SampledFrom(scores).Draw(t, "score"),
			LastFetch:    rapid.SampledFrom(times).Draw(t, "fetched"),
			LastModified: rapid.SampledFrom(dates).Draw(t, "modified"),
		},
	}
}

var (
	dedupKeys = []DedupKey{DedupScore, DedupTime, DedupLength, DedupHTTPS}
	orders    = rapid.SliceOfDistinct(rapid.SampledFrom(dedupKeys), rapid.ID[DedupKey])
	members   = rapid.SliceOfNDistinct(rapid.Custom(drawMember), 2, 8, func(m *member) urlkey.Key { return m.key })
)

// TestDedupOrderTotal: the order is total, whatever its keys, so that the first of a group does not depend on the
// order in which its pages come; and it is the one that the keys say.
func TestDedupOrderTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := orders.Draw(t, "order")
		group := members.Draw(t, "group")
		first := func(group []*member) urlkey.Key {
			var keys []urlkey.Key
			var records []storage.Record
			for _, m := range group {
				keys, records = append(keys, m.key), append(records, m.r)
			}
			ranked := RankPages(order, keys, records)
			for i := range ranked[1:] {
				if a, b := group[ranked[i]], group[ranked[i+1]]; compareMembers(order, a, b) >= 0 {
					t.Fatalf("%v: %s %+v before %s %+v", order, a.key, a.r, b.key, b.r)
				}
			}
			return keys[ranked[0]]
		}
		if a, b := first(group), first(rapid.Permutation(group).Draw(t, "permuted")); a != b {
			t.Fatalf("%v: %s and %s", order, a, b)
		}
		for _, a := range group {
			for _, b := range group {
				ab := compareMembers(order, a, b)
				if ab != -compareMembers(order, b, a) || (ab == 0) != (a == b) {
					t.Fatalf("%v: %s and %s: %d", order, a.key, b.key, ab)
				}
				for _, c := range group {
					if ab < 0 && compareMembers(order, b, c) < 0 && compareMembers(order, a, c) >= 0 {
						t.Fatalf("%v: %s before %s before %s, but not before it", order, a.key, b.key, c.key)
					}
				}
			}
		}
	})
}

func TestParseDedupOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := orders.Draw(t, "order")
		if len(order) == 0 {
			return
		}
		var words []string
		for _, k := range order {
			words = append(words, k.String())
		}
		if got, err := ParseDedupOrder(strings.Join(words, ",")); err != nil || !slices.Equal(got, order) {
			t.Fatalf("%v, want %v: %v", got, order, err)
		}
	})
	for text, want := range map[string]string{
		"score,newest": `"newest": choose from score, time, length, https`,
		"":             `unknown key ""`,
		"time,time":    `"time" is there twice`,
	} {
		if _, err := ParseDedupOrder(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestSurvivor: which page of a group survives depends neither on when pages were fetched nor on the cut of segments.
func TestSurvivor(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		urls := []string{hostA + "x", hostA + "y", hostA + "long", hostB + "x", "http://b.test/x"}
		links := map[string][]string{}
		for _, u := range urls {
			links[u] = rapid.SliceOfN(rapid.SampledFrom(urls), 0, 3).Draw(t, "links")
		}
		var first string
		for range 2 {
			w := newWorld(t, admission.Options{})
			w.inject(urls...)
			var pages []page
			for _, u := range urls {
				at := rapid.Int64Range(0, 1000).Draw(t, "at")
				pages = append(pages, page{url: u, content: 1, links: links[u], at: at})
			}
			for _, part := range segments(t, pages) {
				r := w.update(part...)
				if rapid.Bool().Draw(t, "dedup each") {
					w.dedup(DedupOptions{Segments: []uint32{r.Segment}})
				}
			}
			w.dedup(DedupOptions{})
			w.check()
			var survivors []string
			for k, r := range w.records() {
				if r.Status != storage.StatusDuplicate {
					survivors = append(survivors, string(k))
				}
			}
			w.close()
			if len(survivors) != 1 || first != "" && survivors[0] != first {
				t.Fatalf("survivors %q, before %q", survivors, first)
			}
			first = survivors[0]
		}
	})
}

// TestDedupAll: after a dedup of all pages each group has one survivor, the best, and a page that is alone is none's
// duplicate: whatever was fetched, lost or deleted before, and whatever earlier dedups looked at.
func TestDedupAll(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
		defer w.close()
		urls := []string{hostA + "x", hostA + "y", hostA + "z", hostB + "x", hostB + "y", "http://b.test/x"}
		url := rapid.SampledFrom(urls)
		drawPage := rapid.Custom(func(t *rapid.T) page {
			p := page{url: url.Draw(t, "url"), content: rapid.Byte().Draw(t, "content")%3 + 1}
			p.near = storage.SimHash(p.content%2) << 40 // a fingerprint of some contents, of several others none
			if rapid.IntRange(0, 5).Draw(t, "lost") == 0 {
				p = page{url: p.url, status: storage.FetchGone}
			}
			return p
		})
		pages := rapid.SliceOfNDistinct(drawPage, 1, 4, func(p page) string { return p.url })
		at := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"fetch": func(t *rapid.T) {
				some := pages.Draw(t, "pages")
				for i := range some {
					at++
					some[i].at = at
				}
				segment := w.update(some...).Segment
				if rapid.Bool().Draw(t, "dedup") {
					w.dedup(DedupOptions{Segments: []uint32{segment}, MarkNear: rapid.Bool().Draw(t, "near")})
				}
			},
			"delete": func(t *rapid.T) { w.remove(url.Draw(t, "url")) },
			"dedup": func(t *rapid.T) {
				o := DedupOptions{MarkNear: rapid.Bool().Draw(t, "near")}
				w.dedup(o)
				w.check()
				checkSurvivors(t, w.records(), o.MarkNear)
			},
		})
	})
}

// checkSurvivors says which pages should be duplicates, by the default order.
func checkSurvivors(t *rapid.T, records map[urlkey.Key]storage.Record, near bool) {
	groups := map[string][]*member{}
	for key, r := range records {
		there := []storage.Status{storage.StatusFetched, storage.StatusNotModified, storage.StatusDuplicate}
		if !slices.Contains(there, r.Status) || r.Signature.IsZero() {
			continue
		}
		group := string(r.Signature[:])
		if near && r.Near() != 0 {
			group = string(appendNearKey(nil, r.Near()))
		}
		groups[group] = append(groups[group], &member{key, r})
	}
	for _, group := range groups {
		slices.SortFunc(group, func(a, b *member) int { return compareMembers(DefaultDedupOrder(), a, b) })
		for i, m := range group {
			if is := m.r.Status == storage.StatusDuplicate; is != (i > 0) {
				t.Fatalf("%s, the %d. of %d: %s (near: %t)", m.key, i+1, len(group), m.r.Status, near)
			}
		}
	}
}

// TestDedup: orders, deletions from the index, and pages that are restored.
func TestDedup(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	long, short, plain := hostA+"long", hostA+"s", "http://a.test/s"
	w.inject(long, short, plain)
	w.update(
		page{url: long, content: 1, at: 5},
		page{url: short, content: 1, at: 2},
		page{url: plain, content: 1, at: 1},
	)
	survivor := func(o DedupOptions) (Deduped, string) {
		w.deleted = nil
		r := w.dedup(o)
		if r.Deleted != uint64(len(w.deleted)) || r.Marked != r.Deleted {
			t.Errorf("%+v, deleted %q", r, w.deleted)
		}
		var all []string
		for k, rec := range w.records() {
			if rec.Status == storage.StatusFetched {
				u, _ := k.URL()
				all = append(all, u.String())
			}
		}
		return r, strings.Join(all, " ")
	}
	if r, url := survivor(DedupOptions{}); url != plain || r != (Deduped{Groups: 1, Marked: 2, Deleted: 2}) {
		t.Errorf("%+v %s", r, url)
	}
	if r, url := survivor(DedupOptions{Order: []DedupKey{DedupTime}}); url != long || r.Restored != 1 || r.Marked != 1 {
		t.Errorf("%+v %s", r, url)
	}
	if _, url := survivor(DedupOptions{Order: []DedupKey{DedupScore, DedupHTTPS, DedupLength}}); url != short {
		t.Error(url)
	}
	if _, url := survivor(DedupOptions{Order: []DedupKey{}}); url != long { // by key alone
		t.Error(url)
	}
	w.update(page{url: long, content: 2, at: 9})
	if r, url := survivor(DedupOptions{}); url != long+" "+plain && url != plain+" "+long || r.Restored != 1 {
		t.Errorf("%+v %s", r, url)
	}
	w.check()
}

// TestDedupFetchedAgain: a dedup of a segment decides again about the copies of each page that was fetched in it, also
// if that brought no content.
func TestDedupFetchedAgain(t *testing.T) {
	best, copied, moved := hostA+"a", hostA+"bb", hostA+"ccc"
	for name, c := range map[string]struct {
		page page
		want string // status of the copy
	}{
		"the copy, confirmed":      {page{url: copied, status: storage.FetchNotModified}, "db_duplicate"},
		"the copy, the same":       {page{url: copied, content: 1, near: 0xf0}, "db_duplicate"},
		"the copy, gone":           {page{url: copied, status: storage.FetchGone}, "db_gone"},
		"the best, gone":           {page{url: best, status: storage.FetchGone}, "db_fetched"},
		"the best, moved":          {page{url: best, redirect: moved}, "db_fetched"},
		"the best, without answer": {page{url: best, status: storage.FetchRetry}, "db_fetched"},
		"the best, confirmed":      {page{url: best, status: storage.FetchNotModified}, "db_duplicate"},
	} {
		for _, near := range []bool{false, true} {
			w := newWorld(t, admission.Options{})
			w.inject(best, copied, moved)
			content := byte(1)
			if near {
				content = 3
			}
			w.update(page{url: best, content: content, near: 0xf3}, page{url: copied, content: 1, near: 0xf0})
			w.dedup(DedupOptions{MarkNear: near})
			c.page.at = 1
			w.update(c.page)
			w.dedup(DedupOptions{MarkNear: near, Segments: []uint32{w.segment}})
			w.check()
			if r := w.records()[w.key(copied)]; r.Status.String() != c.want {
				t.Errorf("%s, near %t: the copy is %s, want %s", name, near, r.Status, c.want)
			}
			w.close()
		}
	}
}

// TestDedupMarked: a dedup of all pages that grouped near-duplicates leaves its mark, too: the next one has nothing to
// do.
func TestDedupMarked(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	w.inject(hostA)
	w.update(page{url: hostA, content: 1, near: 0xf0}, page{url: hostA + "a", content: 1, near: 0xf0})
	if r := w.dedup(DedupOptions{}); r.Near != 1 || r.Marked != 1 {
		t.Errorf("%+v", r)
	}
	if _, marked, err := w.store.Mark(dedupMark); err != nil || !marked {
		t.Errorf("it leaves no mark: %v", err)
	}
}

// TestDedupMemory: a group of equal pages is not held in memory, however many they are.
func TestDedupMemory(t *testing.T) {
	const equal = 20_000
	w := &world{t: t, now: firstMS, dir: t.TempDir(), cacheBytes: 1 << 20}
	w.options.Scope = policy.ScopeAny
	w.options.Now = func() time.Time { return time.UnixMilli(w.now) }
	w.open()
	defer w.close()
	var pages []page
	for i := range equal {
		url := fmt.Sprintf("http://h%d.test/a/page/whose/name/is/not/short/%d", i%7, i)
		pages = append(pages, page{url: url, content: 1})
	}
	w.update(pages...)
	w.update(page{url: hostA, content: 2}, page{url: hostB, content: 2})
	clear(pages)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	// The decisions are written while the memory of the run is still held.
	held := int64(0)
	w.p.env.Deletes = func(*storage.Ingestion) Deletes {
		held = heap()
		return &deletions{w: w}
	}
	w.dedup(DedupOptions{Segments: []uint32{w.segment}})
	small := held
	r := w.dedup(DedupOptions{Segments: []uint32{1}})
	if r.Marked != equal-1 {
		t.Errorf("%+v", r)
	}
	if more := held - small; more > 4<<20 {
		t.Errorf("%d KiB more for %d equal pages", more>>10, equal)
	}
}

// TestDedupCopies: the trap watch is told how many pages below each prefix are equal, whichever of them survives: near
// ones are not, nor is one that was fetched before a copy of those that are fetched now.
func TestDedupCopies(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny, TrapPercent: 60})
	defer w.close()
	of := func(folder string, i int, near storage.SimHash, signature ...byte) page {
		o := storage.FetchOutcome{Status: storage.FetchSuccess}
		copy(o.Signature[8:], signature)
		return page{url: fmt.Sprintf("%s%s/%d", hostA, folder, i), outcome: &o, near: near}
	}
	w.update(of("before", 1000, 0, 3))
	var pages []page
	for i := range 200 {
		n := byte(i)
		pages = append(pages,
			of("equal", i, 0, 1), of("near", i, 5<<40, 2, n),
			of("en", i, 0, 5, n), of("fr", i, 0, 5, n), // each is equal to one below another folder
			of("before", i, 0, 3, n-min(n, 119)), of("bound", i, 0, 4, n-min(n, 119))) // 120 are equal
	}
	for _, o := range []DedupOptions{{}, {MarkNear: true}} {
		r := w.update(pages...)
		o.Segments = []uint32{r.Segment}
		d := w.dedup(o)
		var closed []string
		for _, c := range w.adm.Closed() {
			closed = append(closed, strings.TrimPrefix(c.Prefix, string(w.key(hostA))[:len("test,a,)/")]))
		}
		if want := []string{"before/", "equal/"}; !slices.Equal(closed, want) {
			t.Errorf("%+v: %+v, closed %q, want %q", o, d, closed, want)
		}
	}
}
