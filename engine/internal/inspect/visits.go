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

// Unsealed is a fetch whose segment is not sealed: what sealing will write of it.
type Unsealed struct {
	Segment uint32
	Outcome storage.FetchOutcome
	Digest  [20]byte           // SHA-1 of the payload; zero without a response
	Text    *storage.ParseText // nil: the page is not indexed, or was not parsed
}

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

// unsealedCaptures are the responses among the fetches that are not sealed, oldest first.
func (v *visits) unsealedCaptures() (list []CaptureOf) {
	for i := range v.unsealed {
		x := &v.unsealed[i]
		o := &x.Outcome
		if o.HTTPStatus == 0 {
			continue
		}
		c := storage.CDX{Segment: x.Segment, Location: o.Location, HTTPStatus: o.HTTPStatus, MediaType: o.MediaType}
		c.Digest = x.Digest
		list = append(list, CaptureOf{Time: o.Time, CDX: c, unsealed: x})
	}
	return list
}
