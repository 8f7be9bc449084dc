// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"net/url"
	"slices"
)

// column is the head of a column of a table, which may lead to the table in that order.
type column struct {
	Name    string
	Number  bool
	Address string // "": there is no such order
	Sort    string // as in aria-sort; "": the table is in another order
}

// trail is the way to a page of a list that can only be read forward: where this page begins, and where those before it
// did. All of it stands in the address.
type trail struct {
	After string
	Back  []string
}

// Bounds of a trail: pages, and bytes of their positions. A longer one forgets its beginning.
const (
	trailMost  = 30
	trailBytes = 8 << 10
)

func trailOf(q url.Values) trail { return trail{q.Get("after"), q["back"]} }

// next are the parameters of the page behind a position.
func (t trail) next(after string) []any {
	back := append(slices.Clone(t.Back), t.After)
	sum := 0
	for i := len(back) - 1; i >= 0; i-- {
		if sum += len(back[i]); sum > trailBytes || len(back)-i > trailMost {
			back = back[i+1:]
			break
		}
	}
	return []any{"after", after, "back", back}
}

// previous are the parameters of the page before; known says whether the trail has it.
func (t trail) previous() (parameters []any, known bool) {
	last := len(t.Back) - 1
	if last < 0 {
		return nil, false
	}
	return []any{"after", t.Back[last], "back", t.Back[:last]}, true
}

// sortRows puts rows in the order of a column, largest first or, for texts, in the order of letters; down turns that
// round. Of equal rows the order stays.
func sortRows(rows [][]reportCell, at int, down bool) {
	slices.SortStableFunc(rows, func(a, b []reportCell) int {
		c := cmp.Compare(a[at].Text, b[at].Text)
		if a[at].Number || b[at].Number {
			c = cmp.Compare(b[at].Value, a[at].Value)
		}
		if down {
			return -c
		}
		return c
	})
}
