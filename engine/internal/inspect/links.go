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
// version; until that one's links are in linkdb, with none. A truncated version does not replace a complete one.
// Records of linking pages are read as they are reached.
func (in *Inspect) Inlinks(ctx context.Context, u urlkey.URL, limit int) iter.Seq2[Link, error] {
	key := []byte(u.Key())
	from, to := storage.AppendLinkdbKey(nil, key, 0), storage.AppendLinkdbKey(nil, key, math.MaxUint32)
	return func(yield func(Link, error) bool) {
		n := 0
		for l, err := range in.newestInlinks(scan(ctx, in.env.Store, storage.Linkdb(), from, to, decodeInlinks)) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(Link{}, fmt.Errorf("inlinks of %s: %w", u, err))
				return
			}
			if n++; !yield(l, nil) || n == limit {
				return
			}
		}
	}
}

// Link is a link with its target.
type Link struct {
	To urlkey.Key
	storage.Inlink
}

// Links streams all links of linkdb by target, as Inlinks does those of one.
func (in *Inspect) Links(ctx context.Context) iter.Seq2[Link, error] {
	return in.newestInlinks(scan(ctx, in.env.Store, storage.Linkdb(), nil, nil, decodeInlinks))
}

func decodeInlinks(value []byte, links *[]storage.Inlink) (err error) {
	*links, err = storage.DecodeInlinks(value, (*links)[:0])
	return err
}

// newestInlinks streams the links of some entries of linkdb that the newest versions of their pages have.
func (in *Inspect) newestInlinks(entries iter.Seq2[entry[[]storage.Inlink], error]) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		known := map[urlkey.Key]uint32{} // newest segments: a page is the source of many links
		for e, err := range entries {
			var target []byte
			var segment uint32
			if err == nil {
				target, segment, err = storage.SplitLinkdbKey(e.key)
			}
			if err != nil {
				yield(Link{}, err)
				return
			}
			to := urlkey.Key(target)
			for _, l := range *e.value {
				newest, ok := known[l.From]
				if !ok {
					if newest, err = in.contentSegment(l.From); err != nil {
						yield(Link{}, err)
						return
					}
					if len(known) >= knownSources {
						clear(known)
					}
					known[l.From] = newest
				}
				if (newest == segment || newest == 0) && !yield(Link{to, l}, nil) {
					return
				}
			}
		}
	}
}

// contentSegment is the segment with the version of a page that counts; 0: crawldb knows none.
func (in *Inspect) contentSegment(page urlkey.Key) (uint32, error) {
	var r storage.Record
	_, err := in.env.Store.Record(page, &r)
	return r.Segment, err
}
