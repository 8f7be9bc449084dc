// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// valuedWorld is a world whose documents have values.
type valuedWorld struct {
	*world
	values [][]columns // by part and document
}

// newValuedWorld gives the documents of newWorld times, sizes, languages and groups; a host has the keys that begin
// with the same digits, few hosts or many.
func newValuedWorld(seed uint64) *valuedWorld {
	w := &valuedWorld{world: newWorld(seed)}
	rng := rand.New(rand.NewPCG(seed, 2))
	digits, dated, groups := 1+rng.IntN(5), rng.IntN(4), 1+rng.IntN(300)
	for _, p := range w.parts {
		values := make([]columns, len(p.names))
		for i := range values {
			v := &values[i]
			if rng.IntN(4) < dated {
				v.date = timeNumber(time.Date(1965+rng.IntN(9), 1, 1+rng.IntN(400), 0, 0, 0, 0, time.UTC))
				v.size = uint64(rng.IntN(20))
				v.fetched = timeNumber(time.UnixMilli(1.7e12 + rng.Int64N(9)))
			}
			v.language = []string{"", "de", "en", "fr"}[rng.IntN(4)]
			if rng.IntN(2) == 0 {
				v.group = uint64(1 + rng.IntN(groups))
			}
		}
		w.values = append(w.values, values)
		p.setValues(values, digits)
	}
	return w
}

func (p *memoryPart) setValues(values []columns, digits int) {
	number := func(letter byte, v *columns) uint64 {
		switch letter {
		case columnDate:
			return v.date
		case columnFetched:
			return v.fetched
		case columnSize:
			return v.size
		}
		return v.group
	}
	p.value = func(letter byte, doc uint32) (uint64, error) { return number(letter, &values[doc]), nil }
	p.column = func(letter byte, block uint32, dst *columnBlock) error {
		dst.numbers, dst.texts = dst.numbers[:0], append(dst.texts[:0], "")
		var c textColumn
		for i := range values[block*normDocs : min(int(block+1)*normDocs, len(values))] {
			v := &values[int(block)*normDocs+i]
			if letter == columnLanguage {
				c.add(v.language)
			} else {
				dst.numbers = append(dst.numbers, number(letter, v))
			}
		}
		if letter == columnLanguage {
			dst.numbers, dst.texts = c.of, append(dst.texts, c.texts...)
		}
		return nil
	}
	p.columnOf = func(letter byte, block uint32, _ []uint64, dst *columnBlock) error {
		return p.column(letter, block, dst)
	}
	table := &hostTable{}
	last := ""
	for doc, name := range p.names {
		if h := name[:digits]; h != last {
			last = h
			table.first, table.ids = append(table.first, uint32(doc)), append(table.ids, xxh3.HashString(h))
		}
	}
	p.hosts = func(*budget) (*hostTable, error) { return table, nil }
	p.key = func(doc uint32) (urlkey.Key, error) { return urlkey.Key(p.names[doc] + ")"), nil }
}

func (w *valuedWorld) of(c *candidate) *columns { return &w.values[c.part.number][c.doc] }

func (w *valuedWorld) host(c *candidate) uint64 {
	t, _ := c.part.hosts(nil)
	return t.ids[t.of(c.doc)]
}

// sorted orders all matches: by value, score, key.
func (w *valuedWorld) sorted(all []candidate, o Order) []candidate {
	all = slices.Clone(all)
	value := func(c *candidate) int64 {
		ms, ok := columnTimeMS(w.of(c).date)
		switch {
		case o == OrderScore:
			return 0
		case o == OrderFetched:
			ms, ok = columnTimeMS(w.of(c).fetched)
		case o == OrderLargest || o == OrderSmallest:
			ms, ok = int64(w.of(c).size), w.of(c).size > 0
		}
		switch {
		case !ok:
			return math.MinInt64
		case o == OrderOldest || o == OrderSmallest:
			return -ms
		}
		return ms
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(value(&b), value(&a)) })
	return all
}

// thinned is the plain rule: in the order of the ranking, a hit stays unless its host is full or its group there.
func (w *valuedWorld) thinned(all []candidate, c crowding) (kept []candidate) {
	hosts, groups := map[uint64]int{}, map[uint64]bool{}
	for i := range all {
		h, g := w.host(&all[i]), c.of(w.of(&all[i]).group)
		if c.perHost > 0 && hosts[h] == c.perHost || c.collapse && groups[g] {
			continue
		}
		hosts[h]++
		groups[g] = g != 0
		kept = append(kept, all[i])
	}
	return kept
}

// TestValues: searches in every order, with hosts limited and duplicates collapsed or not, find what sorting all
// matches of the naive searcher and thinning them finds, page after page; and they count values and further matches of
// hosts as it does.
func TestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newValuedWorld(rapid.Uint64Range(0, 3000).Draw(t, "world"))
		if rapid.Bool().Draw(t, "hold") { // also the columns of facets
			w.hold(1 << 20)
		}
		for range 6 {
			root := drawTree(t, 2)
			s := naive{w.world, map[string]uint64{}}
			all, total := s.search(root, math.MaxInt)
			o := Order(rapid.IntRange(0, len(orderNames)-1).Draw(t, "order"))
			c := crowding{
				perHost:  rapid.SampledFrom([]int{0, 0, 1, 2, 5, 50}).Draw(t, "per host"),
				collapse: rapid.Bool().Draw(t, "collapse"),
			}
			if rapid.Bool().Draw(t, "groups merged") {
				c.groupOf = func(group uint64) uint64 { return group | 1 }
			}
			k := rapid.SampledFrom([]int{0, 1, 3, 10, 40, 2000}).Draw(t, "k")
			want := w.thinned(w.sorted(all, o), c)
			for _, exhaustive := range []bool{false, true} {
				x := w.execution(k)
				x.exhaustive, x.order, x.crowding = exhaustive, o, c
				x.facets = newFacets(SearchOptions{
					Facets:      []string{FacetLanguage, FacetYear, FacetHost},
					FacetValues: rapid.IntRange(1, 9).Draw(t, "n"),
				})
				if rapid.Bool().Draw(t, "no facets") {
					x.facets = nil
				}
				got := x.run(root)
				x.countMore(root, got)
				if x.work.over || x.work.err != nil {
					t.Fatalf("over: %v, error: %v", x.work.over, x.work.err)
				}
				sameCandidates(t, got, want[:min(k, len(want))])
				if x.total != uint64(total) {
					t.Fatalf("total %d, want %d", x.total, total)
				}
				w.checkMore(t, got, all, c.perHost)
				if x.facets != nil {
					w.checkFacets(t, x.facets, all)
				}
			}
		}
	})
}

func (w *valuedWorld) checkMore(t *rapid.T, got, all []candidate, perHost int) {
	hosts := map[uint64]int{}
	for i := range all {
		hosts[w.host(&all[i])]++
	}
	for i := range got {
		want := max(0, hosts[w.host(&got[i])]-perHost)
		if perHost == 0 {
			want = 0
		}
		if got[i].more != want {
			t.Fatalf("%d more of the host of hit %d, want %d", got[i].more, i, want)
		}
	}
}

func (w *valuedWorld) checkFacets(t *rapid.T, f *facetCounter, all []candidate) {
	languages, years, hosts := map[string]int{}, map[string]int{}, map[uint64]int{}
	for i := range all {
		v := w.of(&all[i])
		if v.language != "" {
			languages[v.language]++
		}
		if ms, ok := columnTimeMS(v.date); ok {
			years[strconv.Itoa(time.UnixMilli(ms).UTC().Year())]++
		}
		hosts[w.host(&all[i])]++
	}
	for i, counts := range []map[string]int{languages, years} {
		var want []FacetValue
		for value, n := range counts {
			want = append(want, FacetValue{value, n})
		}
		slices.SortFunc(want, func(a, b FacetValue) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
		})
		want = want[:min(len(want), f.most)]
		if got := f.result[i]; !slices.Equal(got.Values, want) || got.Distinct != len(counts) {
			t.Fatalf("%v of %d, want %v of %d", got, got.Distinct, want, len(counts))
		}
	}
	counts := slices.Sorted(func(yield func(int) bool) {
		for _, n := range hosts {
			if !yield(-n) {
				return
			}
		}
	})
	got := f.result[2]
	if len(got.Values) != min(f.most, len(counts)) || got.Distinct != len(counts) {
		t.Fatalf("hosts %v, want %d", got, len(counts))
	}
	for i, v := range got.Values {
		if v.Count != -counts[i] {
			t.Fatalf("place %d has %d, want %d", i, v.Count, -counts[i])
		}
	}
}

// TestCrowdedPagesFit: with the second phase too, a search with limits finds the plain search's hits without those that
// crowd, whatever page is wanted.
func TestCrowdedPagesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newValuedWorld(rapid.Uint64Range(0, 3000).Draw(t, "world"))
		root := drawTree(t, 2)
		all := w.execution(5000)
		all.onePhase = false
		c := crowding{
			perHost: rapid.IntRange(0, 3).Draw(t, "per host"), collapse: rapid.Bool().Draw(t, "collapse"),
		}
		want := w.thinned(all.run(root), c)
		x := w.execution(rapid.IntRange(1, 300).Draw(t, "k"))
		x.onePhase, x.crowding = false, c
		sameCandidates(t, x.run(root), want[:min(x.wanted, len(want))])
	})
}

// TestValuesEnd: a search for values or limits that sees its deadline passed stops, and says so.
func TestValuesEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newValuedWorld(rapid.Uint64Range(0, 3000).Draw(t, "world"))
		root := drawTree(t, 3)
		looks, allowed := 0, rapid.IntRange(0, 20).Draw(t, "looks")
		x := w.execution(10)
		x.order = Order(rapid.IntRange(0, len(orderNames)-1).Draw(t, "order"))
		x.crowding = crowding{
			perHost: rapid.IntRange(0, 2).Draw(t, "per host"), collapse: rapid.Bool().Draw(t, "collapse"),
		}
		x.facets = newFacets(SearchOptions{Facets: []string{FacetLanguage, FacetHost}})
		start := x.work.deadline.Add(-time.Minute)
		x.work.now = func() time.Time {
			if looks++; looks > allowed {
				return x.work.deadline.Add(time.Second)
			}
			return start
		}
		x.countMore(root, x.run(root))
		read := 0
		for _, p := range w.parts {
			read += int(p.read.Load())
		}
		// Looking up the groups of up to 20 candidates after the deadline looks at the clock too.
		if most := (allowed + 1) * (clockUnits + 1); read > most || looks > allowed+2+20*readUnits/clockUnits {
			t.Fatalf("%d blocks read with %d looks at the clock, %d allowed", read, looks, allowed)
		}
		if !x.work.over && looks > allowed {
			t.Fatal("the deadline was seen and ignored")
		}
	})
}

// TestOrderNames: each order has a name, and the name is read as this order.
func TestOrderNames(t *testing.T) {
	for _, name := range OrderNames() {
		if o, err := ParseOrder(name); err != nil || o.String() != name {
			t.Errorf("%s is %v: %v", name, o, err)
		}
	}
	if o, err := ParseOrder("age"); err == nil || !strings.Contains(err.Error(), "newest") {
		t.Errorf("age is %v: %v", o, err)
	}
	if s := Order(99).String(); s != "order 99" {
		t.Error(s)
	}
}

// TestYearOf: the year of a moment is that of package time, at the ends of years too.
func TestYearOf(t *testing.T) {
	for year := range 10_000 {
		first := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
		for _, ms := range []int64{first - 1, first, first + 59*24*3600_000} {
			if want := time.UnixMilli(ms).UTC().Year(); yearOf(ms) != want {
				t.Fatalf("%d is in %d, want %d", ms, yearOf(ms), want)
			}
		}
	}
}

// TestCountBits: counting bits of an interval is counting them one by one.
func TestCountBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := []uint64{rng.Uint64(), 0, ^uint64(0), rng.Uint64()}
	for from := range 257 {
		for to := from; to <= 256; to++ {
			n := 0
			for i := from; i < to; i++ {
				n += int(words[i/64] >> (i % 64) & 1)
			}
			if got := countBits(words, from, to); got != n {
				t.Fatalf("%d bits from %d to %d, want %d", got, from, to, n)
			}
		}
	}
}
