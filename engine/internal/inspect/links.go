// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
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
		for l, err := range in.newestInlinks(scan(ctx, in.env.Store, storage.Linkdb(), from, to, rowOf)) {
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
	Segment uint32 // in which the page was fetched
}

// Links streams all links of linkdb by target, as Inlinks does those of one.
func (in *Inspect) Links(ctx context.Context) iter.Seq2[Link, error] {
	return in.newestInlinks(scan(ctx, in.env.Store, storage.Linkdb(), nil, nil, rowOf))
}

// rowOf keeps a row of linkdb for newestInlinks, which reads it as far as its links are wanted.
func rowOf(value []byte, row *[]byte) error {
	*row = value
	return nil
}

// newestInlinks streams the links of some entries of linkdb that the newest versions of their pages have.
func (in *Inspect) newestInlinks(entries iter.Seq2[entry[[]byte], error]) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		known := map[urlkey.Key]uint32{} // newest segments: a page is the source of many links
		var links storage.LinkReader
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
			for links.Reset(*e.value, segment); links.Next(); {
				newest, ok := known[urlkey.Key(links.From())]
				if !ok {
					from := urlkey.Key(links.From())
					if newest, err = in.contentSegment(from); err != nil {
						yield(Link{}, err)
						return
					}
					if len(known) >= knownSources {
						clear(known)
					}
					known[from] = newest
				}
				if newest != links.Segment() && newest != 0 {
					continue
				}
				l := storage.Inlink{From: urlkey.Key(links.From()), Anchor: string(links.Anchor())}
				if !yield(Link{to, l, links.Segment()}, nil) {
					return
				}
			}
			if err := links.Err(); err != nil {
				yield(Link{}, fmt.Errorf("reading %s at %q: %w", storage.Linkdb(), e.key, err))
				return
			}
		}
	}
}

// LinkCounts counts the pages that link to a URL, their hosts and domains, as linkdb has them: links that pages dropped
// count until they are merged out. A merged row alone has the counts; otherwise all links are read.
func (in *Inspect) LinkCounts(ctx context.Context, u urlkey.URL) (storage.LinkCounts, error) {
	key := []byte(u.Key())
	from, to := storage.AppendLinkdbKey(nil, key, 0), storage.AppendLinkdbKey(nil, key, math.MaxUint32)
	var rows [][]byte
	for e, err := range scan(ctx, in.env.Store, storage.Linkdb(), from, to, rowOf) {
		if err != nil {
			return storage.LinkCounts{}, fmt.Errorf("counting inlinks of %s: %w", u, err)
		}
		rows = append(rows, bytes.Clone(*e.value))
	}
	if len(rows) == 1 {
		if c, ok := storage.MergedCounts(rows[0]); ok {
			return c, nil
		}
	}
	var merge storage.LinkMerge
	var all storage.LinkRow
	for _, row := range rows {
		if err := merge.Add(row, 0); err != nil {
			return storage.LinkCounts{}, fmt.Errorf("counting inlinks of %s: %w", u, err)
		}
	}
	err := merge.Each(func(from, _ []byte, _ uint32) error {
		all.Add(from, nil, 0)
		return ctx.Err()
	})
	if err != nil {
		return storage.LinkCounts{}, fmt.Errorf("counting inlinks of %s: %w", u, err)
	}
	return all.Counts(), nil
}

// contentSegment is the segment with the version of a page that counts; 0: crawldb knows none.
func (in *Inspect) contentSegment(page urlkey.Key) (uint32, error) {
	var r storage.Record
	_, err := in.env.Store.Record(page, &r)
	return r.Segment, err
}
