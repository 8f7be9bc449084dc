// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Inlinks streams up to limit links to a URL as the newest versions of the linking pages have them, by segment and
// source; limit 0 or less means all. A page that was fetched again is only counted with the links of its newest
// version; until that one's links are in linkdb, with none. A truncated version does not replace a complete one. A page
// that is gone or redirects by now has the links of its last content, as in Nutch's linkdb, which also has those that
// pages dropped; the link graph of LinkRank leaves them out, as Nutch's webgraph does.
// Records of linking pages are read as they are reached.
func (in *Inspect) Inlinks(ctx context.Context, u urlkey.URL, limit int) iter.Seq2[Link, error] {
	key := []byte(u.Key())
	from, to := storage.AppendLinkdbKey(nil, key, 0), storage.AppendLinkdbKey(nil, key, math.MaxUint32)
	return func(yield func(Link, error) bool) {
		n, newest := 0, newestLinks{of: in.contentSegment}
		for l, err := range newest.links(scan(ctx, in.env.Store, storage.Linkdb(), from, to, rowOf)) {
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
	newest := newestLinks{of: in.contentSegment}
	return newest.links(scan(ctx, in.env.Store, storage.Linkdb(), nil, nil, rowOf))
}

// LinkingPages counts the pages that link to each of some URLs. Where linkdb's rows of a URL are merged, it has all of
// them counted, as LinkCounts says; else pages are counted whose links Inlinks streams, up to limit. Two iterators
// serve all URLs, where Inlinks opens one for each URL and one for each linking page. A URL with an error has what was
// counted before it.
func (in *Inspect) LinkingPages(ctx context.Context, urls []urlkey.URL, limit int) (counts []int, err error) {
	rows := in.env.Store.Scan(storage.Linkdb(), nil, nil)
	records := in.env.Store.Scan(storage.Crawldb(), nil, nil)
	defer func() { err = errors.Join(err, rows.Close(), records.Close()) }()
	counts = make([]int, len(urls))
	var failed []error
	newest := newestLinks{of: func(page urlkey.Key) (segment uint32, err error) { return segmentAt(records, page) }}
	for i, u := range urls {
		if n, ok := mergedPages(rows, u.Key()); ok {
			counts[i] = n
			continue
		} else if err := rows.Err(); err != nil {
			failed = append(failed, fmt.Errorf("inlinks of %s: %w", u, err))
			continue
		}
		last := urlkey.Key("")
		for l, err := range newest.links(rowsOf(rows, u.Key())) {
			if ctx.Err() != nil {
				return counts, ctx.Err()
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("inlinks of %s: %w", u, err))
				break
			}
			if l.From == last {
				continue // it has several links to the URL
			}
			last = l.From
			if counts[i]++; counts[i] == limit {
				break
			}
		}
	}
	return counts, errors.Join(failed...)
}

// mergedPages returns the number of pages that link to a target, if its rows are merged into one, or it has none.
func mergedPages(sc *storage.Scanner, target urlkey.Key) (pages int, ok bool) {
	key := []byte(target)
	merged := storage.AppendLinkdbKey(nil, key, storage.MergedSegment)
	behind := storage.AppendLinkdbKey(nil, key, math.MaxUint32)
	ended := func(any bool) bool { return sc.Err() == nil && (!any || bytes.Compare(sc.Key(), behind) >= 0) }
	switch any := sc.SeekGE(merged); { // the first key that a row of the target may have
	case ended(any):
		return 0, true
	case !any || !bytes.Equal(sc.Key(), merged):
		return 0, false
	}
	c, ok := storage.MergedCounts(sc.Value())
	if !ok || !ended(sc.Next()) {
		return 0, false // its links are counted, or the error is met again
	}
	return int(c.Pages), true
}

// rowsOf are the rows of linkdb of one target.
func rowsOf(sc *storage.Scanner, target urlkey.Key) iter.Seq2[entry[[]byte], error] {
	from := storage.AppendLinkdbKey(nil, []byte(target), 0)
	to := storage.AppendLinkdbKey(nil, []byte(target), math.MaxUint32)
	return func(yield func(entry[[]byte], error) bool) {
		for ok := sc.SeekGE(from); ok && bytes.Compare(sc.Key(), to) < 0; ok = sc.Next() {
			row := sc.Value()
			if !yield(entry[[]byte]{sc.Key(), &row}, nil) {
				return
			}
		}
		if err := sc.Err(); err != nil {
			yield(entry[[]byte]{}, err)
		}
	}
}

// segmentAt is contentSegment by a scan of crawldb.
func segmentAt(sc *storage.Scanner, page urlkey.Key) (uint32, error) {
	if !sc.SeekGE([]byte(page)) || string(sc.Key()) != string(page) {
		return 0, sc.Err()
	}
	var r storage.Record
	if err := storage.DecodeRecord(sc.Value(), &r); err != nil {
		return 0, fmt.Errorf("crawldb at %q: %w", page, err)
	}
	return r.Segment, nil
}

// rowOf keeps a row of linkdb for newestLinks, which reads it as far as its links are wanted.
func rowOf(value []byte, row *[]byte) error {
	*row = value
	return nil
}

// newestLinks leaves out links that the newest versions of their pages do not have.
type newestLinks struct {
	of    func(page urlkey.Key) (segment uint32, err error) // with that version; 0: crawldb knows none
	known map[urlkey.Key]uint32                             // newest segments: a page is the source of many links
}

// links streams the links of some entries of linkdb that the newest versions of their pages have.
func (s *newestLinks) links(entries iter.Seq2[entry[[]byte], error]) iter.Seq2[Link, error] {
	return func(yield func(Link, error) bool) {
		if s.known == nil {
			s.known = map[urlkey.Key]uint32{}
		}
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
				newest, ok := s.known[urlkey.Key(links.From())]
				if !ok {
					from := urlkey.Key(links.From())
					if newest, err = s.of(from); err != nil {
						yield(Link{}, err)
						return
					}
					if len(s.known) >= knownSources {
						clear(s.known)
					}
					s.known[from] = newest
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
