// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Inlinks streams up to limit links to a URL as the newest versions of the linking pages have them, by segment and
// source; limit 0 or less means all. A page that was fetched again is only counted with the links of its newest
// version; until that one's links are in linkdb, with none. Records of linking pages are read as they are reached.
func (in *Inspect) Inlinks(ctx context.Context, u urlkey.URL, limit int) iter.Seq2[storage.Inlink, error] {
	key := []byte(u.Key())
	from, to := storage.AppendLinkdbKey(nil, key, 0), storage.AppendLinkdbKey(nil, key, math.MaxUint32)
	decode := func(value []byte, links *[]storage.Inlink) (err error) {
		*links, err = storage.DecodeInlinks(value, (*links)[:0])
		return err
	}
	return func(yield func(storage.Inlink, error) bool) {
		n := 0
		for e, err := range scan(ctx, in.env.Store, storage.Linkdb(), from, to, decode) {
			var segment uint32
			if err == nil {
				_, segment, err = storage.SplitLinkdbKey(e.key)
			}
			if err != nil {
				yield(storage.Inlink{}, fmt.Errorf("inlinks of %s: %w", u, err))
				return
			}
			for i, l := range *e.value {
				if i%contextEvery == contextEvery-1 && ctx.Err() != nil {
					yield(storage.Inlink{}, ctx.Err())
					return
				}
				newest, err := in.newestSegment(l.From)
				if err != nil {
					yield(storage.Inlink{}, fmt.Errorf("inlinks of %s: %w", u, err))
					return
				}
				if newest > segment {
					continue
				}
				if n++; !yield(l, nil) || n == limit {
					return
				}
			}
		}
	}
}

// newestSegment is the segment with the newest parse record of a page; 0: it has none.
func (in *Inspect) newestSegment(page urlkey.Key) (uint32, error) {
	var r storage.Record
	_, err := in.env.Store.Record(page, &r)
	return r.Segment, err
}
