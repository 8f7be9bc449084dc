// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Facet says how many matches have which values.
type Facet struct {
	Name   string       `json:"name"`
	Values []FacetValue `json:"values"` // by falling count, equal counts by value; at most SearchOptions.FacetValues
	// Distinct is the number of different values, of which Values may be a part.
	Distinct int `json:"distinct"`
}

// FacetValue is a value with the number of matches that have it.
type FacetValue struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// Names of facets beside those of stored fields. The values are what the filters lang:, type:, host: and date: take.
const (
	FacetLanguage = "lang"
	FacetType     = "type"
	FacetHost     = "host"
	FacetYear     = "year" // of Document.Date
)

// facet counts the values of one facet in windows of matches. They come part by part.
type facet interface {
	begin(x *execution, p *part) error
	count(w *window) error
	join(other facet) // what a facet of the same kind counted in other parts
	// values appends the values, counts are not ordered. Where there are many, it may leave out all but the most
	// frequent ones.
	values(x *execution, most int) (list []FacetValue, distinct int, err error)
}

// facetCounter counts facets.
type facetCounter struct {
	names  []string
	most   int // values of each
	result []Facet
}

// newFacets returns nil if none is wanted.
func newFacets(o SearchOptions) *facetCounter {
	if len(o.Facets) == 0 {
		return nil
	}
	return &facetCounter{names: o.Facets, most: cmp.Or(max(o.FacetValues, 0), defaultFacetValues)}
}

// facets returns what counts, with no matches yet.
func (c *facetCounter) facets() (list []facet) {
	for _, name := range c.names {
		switch name {
		case FacetLanguage:
			list = append(list, &textFacet{letter: columnLanguage, counts: map[string]int{}})
		case FacetType:
			list = append(list, &textFacet{letter: columnType, counts: map[string]int{}})
		case FacetYear:
			list = append(list, &yearFacet{counts: make([]int, 10_000)}) // Document.Check
		case FacetHost:
			list = append(list, &hostFacet{counts: map[uint64]hostCount{}})
		default:
			field, _ := fieldName(name)
			list = append(list, &fieldFacet{name: field, matches: map[*part]bitset{}})
		}
	}
	return list
}

// joinFacets takes in what another goroutine counted in other parts. Either may be nil: it counted none.
func joinFacets(list, other []facet) []facet {
	if list == nil {
		return other
	}
	for i, f := range other {
		list[i].join(f)
	}
	return list
}

// count counts all matches, and the values that they have. It fills the result.
func (c *facetCounter) count(x *execution, workers int, root *node) {
	x.total, x.counting = 0, nil
	x.each(workers, x.parts, func(x *execution, p *part) {
		if x.counting == nil {
			x.counting = c.facets()
		}
		facets := x.counting
		for _, f := range facets {
			if x.work.over {
				break
			}
			if err := f.begin(x, p); err != nil {
				x.work.fail(err)
			}
		}
		x.total += x.sweep(p, root, func(w *window) {
			for _, f := range facets {
				if x.work.over {
					return
				}
				if err := f.count(w); err != nil {
					x.work.fail(err)
				}
			}
		})
	})
	facets := x.counting
	if facets == nil {
		facets = c.facets()
	}
	for i, f := range facets {
		list, distinct, err := f.values(x, c.most)
		if err != nil {
			x.work.fail(err)
		}
		sortValues(list)
		list = slices.Clip(list[:min(len(list), c.most)])
		if list == nil {
			list = []FacetValue{} // [] in JSON
		}
		c.result = append(c.result, Facet{Name: c.names[i], Values: list, Distinct: distinct})
	}
}

// sortValues orders values by falling count.
func sortValues(list []FacetValue) {
	slices.SortFunc(list, func(a, b FacetValue) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Value, b.Value))
	})
}

// valuesOf makes a list of a map.
func valuesOf[K comparable](counts map[K]int, name func(K) string) (list []FacetValue, distinct int, err error) {
	list = make([]FacetValue, 0, len(counts))
	for value, n := range counts {
		list = append(list, FacetValue{name(value), n})
	}
	return list, len(list), nil
}

// columnFacet reads the column of a facet.
type columnFacet struct {
	x       *execution
	part    *part
	decoded columnBlock
}

func (f *columnFacet) begin(x *execution, p *part) error {
	f.x, f.part = x, p
	return nil
}

// blocks calls fn with the matches of each block of the window; their values are in f.decoded.
func (f *columnFacet) blocks(w *window, letter byte, fn func(bits []uint64)) (err error) {
	w.blocks(func(block uint32, bits []uint64) bool {
		if !f.x.work.spend(valueUnits) {
			return false
		}
		if err = f.part.columnOf(letter, block, bits, &f.decoded); err == nil {
			fn(bits)
		}
		return err == nil
	})
	return err
}

// textFacet counts the values of a column of texts.
type textFacet struct {
	columnFacet
	letter byte
	places []int // count of each text of a block
	counts map[string]int
}

func (f *textFacet) count(w *window) error {
	return f.blocks(w, f.letter, func(bits []uint64) {
		f.places = append(f.places[:0], make([]int, len(f.decoded.texts))...)
		numbers := f.decoded.numbers
		eachBit(bits, func(i int) { f.places[numbers[i]]++ })
		for i, n := range f.places {
			if i > 0 && n > 0 {
				f.counts[f.decoded.texts[i]] += n
			}
		}
	})
}

func (f *textFacet) join(other facet) {
	for value, n := range other.(*textFacet).counts {
		f.counts[value] += n
	}
}

func (f *textFacet) values(*execution, int) ([]FacetValue, int, error) {
	return valuesOf(f.counts, func(s string) string { return s })
}

// yearFacet counts the years of dates, in UTC.
type yearFacet struct {
	columnFacet
	counts []int // by year
}

func (f *yearFacet) count(w *window) error {
	return f.blocks(w, columnDate, func(bits []uint64) {
		eachBit(bits, func(i int) {
			if ms, ok := columnTimeMS(f.decoded.numbers[i]); ok {
				if y := yearOf(ms); 0 <= y && y < len(f.counts) {
					f.counts[y]++
				}
			}
		})
	})
}

func (f *yearFacet) join(other facet) {
	for year, n := range other.(*yearFacet).counts {
		f.counts[year] += n
	}
}

func (f *yearFacet) values(*execution, int) (list []FacetValue, distinct int, err error) {
	for year, n := range f.counts {
		if n > 0 {
			list = append(list, FacetValue{strconv.Itoa(year), n})
		}
	}
	return list, len(list), nil
}

// yearOf returns the year of milliseconds since 1970, in UTC: civil_from_days of Howard Hinnant's "chrono-Compatible
// Low-Level Date Algorithms". time.Time takes ten times as long, which matters for a million dates.
func yearOf(ms int64) int {
	const day, era = 24 * 60 * 60 * 1000, 400*365 + 97
	days := floorDiv(ms, day) + 719_468 // since March 1st of the year 0
	eras := floorDiv(days, era)
	d := days - eras*era
	y := (d - d/1460 + d/36_524 - d/146_096) / 365
	if days := d - (365*y + y/4 - y/100); days >= 306 { // January, February
		y++
	}
	return int(y + 400*eras)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// hostFacet counts the hosts. A host is an interval of documents, so it counts bits and reads no column. Names are read
// for the most frequent ones only: of those that are as frequent as the last, it takes the ones with the least hashes.
type hostFacet struct {
	x      *execution
	part   *part
	table  *hostTable
	counts map[uint64]hostCount
}

type hostCount struct {
	n    int
	part *part
	doc  uint32 // of the host in the part
}

func (f *hostFacet) begin(x *execution, p *part) (err error) {
	f.x, f.part = x, p
	f.table, err = p.hosts(x.work)
	return err
}

func (f *hostFacet) count(w *window) error {
	if f.table == nil {
		return nil // the budget is over
	}
	for at := nextBit(w.bits, 0); at >= 0; {
		host := f.table.of(w.from + uint32(at))
		_, to := f.table.interval(host, f.part.docs)
		upTo := min(int(to-w.from), 64*len(w.bits))
		c := f.counts[f.table.ids[host]]
		if c.part == nil {
			c.part, c.doc = f.part, f.table.first[host]
		}
		c.n += countBits(w.bits, at, upTo)
		f.counts[f.table.ids[host]] = c
		if upTo == 64*len(w.bits) {
			break
		}
		at = nextBit(w.bits, upTo)
	}
	return nil
}

func (f *hostFacet) join(other facet) {
	for id, c := range other.(*hostFacet).counts {
		if was, ok := f.counts[id]; ok {
			if was.part.number < c.part.number { // as if one goroutine had counted
				c.part, c.doc = was.part, was.doc
			}
			c.n += was.n
		}
		f.counts[id] = c
	}
}

func (f *hostFacet) values(x *execution, most int) (list []FacetValue, distinct int, err error) {
	ids := slices.SortedFunc(maps.Keys(f.counts), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(f.counts[b].n, f.counts[a].n), cmp.Compare(a, b))
	})
	for _, id := range ids[:min(len(ids), most)] {
		c := f.counts[id]
		if !x.work.spend(readUnits) {
			break
		}
		key, err := c.part.key(c.doc)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, FacetValue{urlkey.Key(key).HostKey().String(), c.n})
	}
	return list, len(ids), nil
}

// nextBit returns the place of the first bit from a place on, or -1.
func nextBit(words []uint64, from int) int {
	if from >= 64*len(words) {
		return -1
	}
	w := words[from/64] &^ (1<<(from%64) - 1)
	for at := from / 64; ; w = words[at] {
		if w != 0 {
			return at*64 + bits.TrailingZeros64(w)
		}
		if at++; at == len(words) {
			return -1
		}
	}
}

// countBits counts the bits from a place (inclusive) to another (exclusive).
func countBits(words []uint64, from, to int) (n int) {
	for from < to {
		w := words[from/64] >> (from % 64)
		if rest := to - from; rest < 64-from%64 {
			return n + bits.OnesCount64(w&(1<<rest-1))
		}
		n += bits.OnesCount64(w)
		from = (from/64 + 1) * 64
	}
	return n
}
