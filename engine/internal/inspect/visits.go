// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// visits is where everything here finds out how often a URL was fetched: the store as of one moment, and the fetches
// that were durable then in segments that were not sealed. Who asks only one of them tells half of the story.
type visits struct {
	*storage.Snapshot
	url      urlkey.URL
	unsealed []Unsealed // oldest first
}

// visitsOf looks for the fetches of a URL. Close it.
//
// The order matters. Sealing a segment makes what it has visible in the store, and afterwards forgets it as unsealed.
// So what is sealed between the two looks is in both, and the state of its segment in the snapshot says which counts.
func (in *Inspect) visitsOf(u urlkey.URL) (*visits, error) {
	v := &visits{url: u}
	if in.env.Unsealed != nil {
		var err error
		if v.unsealed, err = in.env.Unsealed(u); err != nil {
			return nil, err
		}
	}
	v.Snapshot = in.env.Store.Snapshot()
	var failed error
	v.unsealed = slices.DeleteFunc(v.unsealed, func(x Unsealed) bool {
		seg, ok, err := v.Segment(x.Segment)
		if err != nil && failed == nil {
			failed = fmt.Errorf("fetches of %s: %w", u, err)
		}
		return !ok || seg.State != storage.SegmentOpen
	})
	if failed != nil {
		return nil, errors.Join(failed, v.Close())
	}
	slices.SortStableFunc(v.unsealed, func(a, b Unsealed) int { return cmp.Compare(a.Outcome.Time, b.Outcome.Time) })
	return v, nil
}
