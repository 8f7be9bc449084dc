// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"
)

// Order is what hits are ordered by. Where the values of two are equal, and among documents without the value, which
// come last, scores decide, then keys.
type Order uint8

// The orders of hits.
const (
	OrderScore    Order = iota // the best first
	OrderNewest                // by Document.Date
	OrderOldest                // by Document.Date
	OrderLargest               // by Document.Size
	OrderSmallest              // by Document.Size
	OrderFetched               // by Document.Fetched, the latest first
)

// orderNames are what people write.
var orderNames = [...]string{"score", "newest", "oldest", "largest", "smallest", "fetched"}

// String returns the name of the order, which ParseOrder reads.
func (o Order) String() string {
	if int(o) < len(orderNames) {
		return orderNames[o]
	}
	return fmt.Sprintf("order %d", uint8(o))
}

// OrderNames returns the names that ParseOrder reads.
func OrderNames() []string { return orderNames[:] }

// ParseOrder reads the name of an order. Any other text is an error that lists the names.
func ParseOrder(name string) (Order, error) {
	for i, n := range orderNames {
		if n == name {
			return Order(i), nil
		}
	}
	return 0, fmt.Errorf("unknown order %q: want %s", name, strings.Join(orderNames[:], ", "))
}

// column returns the column of the order's values.
func (o Order) column() byte {
	switch o {
	case OrderNewest, OrderOldest:
		return columnDate
	case OrderFetched:
		return columnFetched
	}
	return columnSize
}

// of returns what candidates are compared by, of a number of the column: the largest comes first.
func (o Order) of(v uint64) int64 {
	if v == 0 {
		return math.MinInt64
	}
	value := int64(v)
	if o.column() != columnSize {
		value, _ = columnTimeMS(v)
	}
	if o == OrderOldest || o == OrderSmallest {
		return -value
	}
	return value
}

// sweep calls fn with the matches of a part, window by window, deleted documents left out, and returns their number.
// The windows are whole blocks of columns. It ends early with the budget; fn may fail it.
func (x *execution) sweep(p *part, root *node, fn func(w *window)) (n uint64) {
	it := x.open(p, root, 1)
	if it == nil {
		return 0
	}
	all := make([]uint64, countDocs/64)
	for from := uint32(0); x.work.spend(1); {
		at, _ := it.shallow(from)
		if at >= p.docs {
			break
		}
		w := window{at &^ (countDocs - 1), all}
		clear(w.bits)
		it.mark(&w)
		n += w.alive(p.dead)
		if fn(&w); w.last() >= p.docs-1 {
			break
		}
		from = w.last() + 1
	}
	return n
}

// blocks calls fn with each block of columns in which the window has documents, until fn returns false.
func (w *window) blocks(fn func(block uint32, bits []uint64) bool) {
	for i := 0; i < len(w.bits); i += normDocs / 64 {
		in, any := w.bits[i:i+normDocs/64], uint64(0)
		for _, b := range in {
			any |= b
		}
		if any != 0 && !fn((w.from+uint32(i)*64)/normDocs, in) {
			return
		}
	}
}

// eachBit calls fn with the place of each bit.
func eachBit(words []uint64, fn func(i int)) {
	for at, w := range words {
		for ; w != 0; w &= w - 1 {
			fn(at*64 + bits.TrailingZeros64(w))
		}
	}
}

// rankByValue offers all matches of a part by their values, and counts them. Scores are computed for those documents
// only whose values let them be among the best.
func (x *execution) rankByValue(p *part, root *node) {
	var column columnBlock
	scores := x.open(p, root, 1)
	r := ranker{matched: x.matches.of(p)}
	x.total += x.sweep(p, root, func(w *window) {
		r.note(w.from, w.bits)
		w.blocks(func(block uint32, bits []uint64) bool {
			if !x.work.spend(valueUnits) {
				return false
			}
			if err := p.columnOf(x.order.column(), block, bits, &column); err != nil {
				x.work.fail(err)
				return false
			}
			eachBit(bits, func(i int) {
				order, doc := x.order.of(column.numbers[i]), block*normDocs+uint32(i)
				if worst := x.top.worst(); worst != nil && order < worst.order || x.top.k == 0 {
					return
				}
				if x.work.spend(1) && scores.seek(doc) == doc && scores.matches() {
					x.top.offerOrdered(doc, order, scores.score())
				}
			})
			return !x.work.over
		})
	})
}

// values reads the values of a hit.
func (h *Hit) values(c *candidate) (err error) {
	if h.Language = c.part.language; h.Language == "" {
		if h.Language, err = c.part.text(columnLanguage, c.doc); err != nil {
			return err
		}
	}
	if h.Type, err = c.part.text(columnType, c.doc); err != nil {
		return err
	}
	size, err := c.part.value(columnSize, c.doc)
	if err != nil {
		return err
	}
	h.Size = int64(size)
	fetched, err := c.part.value(columnFetched, c.doc)
	if ms, ok := columnTimeMS(fetched); ok {
		h.Fetched = time.UnixMilli(ms).UTC()
	}
	return err
}
