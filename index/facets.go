// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
	FacetYear     = "year" // of Document.Date; a stored field of this name is not counted
)

// FacetError says that a name of SearchOptions.Facets is none of which there are values.
type FacetError struct {
	Name  string
	Known []string // names that there are
}

func (e *FacetError) Error() string {
	known := strings.Join(e.Known, ", ")
	if _, ok := fieldName(e.Name); !ok {
		return fmt.Sprintf("facet %q: this is no name of a field with values; there are %s", e.Name, known)
	}
	return fmt.Sprintf("facet %q: no document has a field of this name; there are %s", e.Name, known)
}

// checkFacets returns a *FacetError for a name that is neither that of a value of all documents nor that of a stored
// field that a document has, or had. Without documents nobody knows which fields there will be.
func (st *state) checkFacets(names []string) error {
	known := []string{FacetLanguage, FacetType, FacetHost, FacetYear}
	for _, name := range names {
		if slices.Contains(known[:4], name) || len(st.segments) == 0 {
			continue
		}
		if field, ok := fieldName(name); ok && st.hasField(field) {
			continue
		}
		return &FacetError{Name: name, Known: append(known, mergedFieldNames(st.segments)...)}
	}
	return nil
}

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
			list = append(list, newTextFacet(columnLanguage))
		case FacetType:
			list = append(list, newTextFacet(columnType))
		case FacetYear:
			list = append(list, newYearFacet())
		case FacetHost:
			list = append(list, &hostFacet{})
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

// count counts all matches, and the values that they have. It fills the result. Ranking has found those of all parts
// but some.
func (c *facetCounter) count(x *execution, workers int, root *node, but []*part) {
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
		each := func(w *window) {
			for _, f := range facets {
				if x.work.over {
					return
				}
				if err := f.count(w); err != nil {
					x.work.fail(err)
				}
			}
		}
		if slices.Contains(but, p) {
			x.total += x.sweep(p, root, each)
		} else {
			x.total += x.sweepFound(p, each)
		}
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

// columnFacet reads the column of a facet: one that is held, else block by block.
type columnFacet struct {
	letter  byte
	x       *execution
	part    *part
	held    *heldColumn // nil: it is not
	decoded columnBlock
}

func (f *columnFacet) begin(x *execution, p *part) (err error) {
	f.x, f.part = x, p
	f.held, err = x.heldColumn(p, f.letter)
	return err
}

// codes calls fn with the number of matches in the window that have each code of the held column.
func (f *columnFacet) codes(w *window, fn func(code, n int)) {
	var counts codeCounts
	w.blocks(func(block uint32, bits []uint64) bool {
		f.held.count(block, bits, &counts)
		return f.x.work.spend(1)
	})
	for code, n := range counts {
		if n > 0 {
			fn(code, n)
		}
	}
}

// blocks calls fn with the matches of each block of the window; their values are in f.decoded.
func (f *columnFacet) blocks(w *window, fn func(bits []uint64)) (err error) {
	w.blocks(func(block uint32, bits []uint64) bool {
		if !f.x.work.spend(valueUnits) {
			return false
		}
		if err = f.part.columnOf(f.letter, block, bits, &f.decoded); err == nil {
			fn(bits)
		}
		return err == nil
	})
	return err
}

// textFacet counts the values of a column of texts.
type textFacet struct {
	columnFacet
	places []int // count of each text of a block
	counts map[string]int
}

func newTextFacet(letter byte) *textFacet {
	return &textFacet{columnFacet: columnFacet{letter: letter}, counts: map[string]int{}}
}

func (f *textFacet) count(w *window) error {
	if f.held != nil {
		f.codes(w, func(code, n int) {
			if code > 0 {
				f.counts[f.held.texts[code]] += n
			}
		})
		return nil
	}
	return f.blocks(w, func(bits []uint64) {
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
	counts []int // by year, up to the last one that was counted
}

// yearsMost is the year that is not counted any more, nor any behind it: see Document.Check.
const yearsMost = 10_000

func newYearFacet() *yearFacet { return &yearFacet{columnFacet: columnFacet{letter: columnDate}} }

func (f *yearFacet) add(year, n int) {
	if year < 0 || year >= yearsMost {
		return
	}
	if more := year + 1 - len(f.counts); more > 0 {
		f.counts = append(f.counts, make([]int, more)...)
	}
	f.counts[year] += n
}

func (f *yearFacet) count(w *window) error {
	if f.held != nil {
		f.codes(w, func(code, n int) { f.add(f.held.years[code], n) })
		return nil
	}
	return f.blocks(w, func(bits []uint64) {
		eachBit(bits, func(i int) {
			if ms, ok := columnTimeMS(f.decoded.numbers[i]); ok {
				f.add(yearOf(ms), 1)
			}
		})
	})
}

func (f *yearFacet) join(other facet) {
	for year, n := range other.(*yearFacet).counts {
		f.add(year, n)
	}
}

func (f *yearFacet) values(*execution, int) (list []FacetValue, distinct int, err error) {
	for year, n := range f.counts {
		if n > 0 {
			list = append(list, FacetValue{fmt.Sprintf("%04d", year), n})
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
