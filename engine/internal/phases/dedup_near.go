// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/seine-crawler/seine/storage"
)

// How dedup marks near-duplicates.

// A group of near-duplicates takes the place of a signature among the pages and groups of a dedup: eight zero bytes,
// then its number. No page has such a signature but one in 2^64.
func appendNearKey(dst []byte, group storage.SimHash) []byte {
	return group.Append(append(dst, 0, 0, 0, 0, 0, 0, 0, 0))
}

func isNearKey(signature []byte) bool { return bytes.HasPrefix(signature, make([]byte, 8)) }

// groupNear brings the groups up to date. If they are to be marked, and not all of them will be looked at anyway, it
// returns those that changed, and keeps their fingerprints queued until the records are written.
func (d *dedup) groupNear(ctx context.Context) (touched []storage.SimHash, err error) {
	keep := d.markNear && !d.whole
	if d.result.Near, err = d.p.GroupNear(ctx, keep); err != nil || !keep {
		return nil, err
	}
	sc := d.p.env.Store.Scan(storage.NearChanged(), nil, nil)
	defer sc.Close()
	for sc.Next() {
		s, err := storage.ReadSimHash(sc.Key())
		if err != nil {
			return nil, err
		}
		group, err := d.p.env.Store.NearGroup(s)
		if err != nil {
			return nil, err
		}
		d.grouped, touched = append(d.grouped, s), append(touched, group)
	}
	slices.Sort(touched)
	return slices.Compact(touched), sc.Err()
}

// findNear adds the pages of the groups in question to those whose records are looked up.
func (d *dedup) findNear(ctx context.Context, touched []storage.SimHash) error {
	pages := d.p.env.Store.Scan(storage.NearPages(), nil, nil)
	defer pages.Close()
	if d.whole {
		return d.findAllNear(ctx, pages)
	}
	for n, group := range touched {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		list, err := d.p.nearGroup(group)
		if err != nil {
			return err
		}
		for _, s := range list {
			prefix := s.Append(nil)
			for ok := pages.SeekGE(prefix); ok && bytes.HasPrefix(pages.Key(), prefix); ok = pages.Next() {
				d.add(pages.Key())
			}
		}
		if err := d.lookUpNear(group); err != nil {
			return err
		}
	}
	return pages.Err()
}

// findAllNear walks all fingerprints beside their groups. The pages of a group come apart, so only a page that no other
// has the fingerprint of, and that is in no group, is known to be alone.
func (d *dedup) findAllNear(ctx context.Context, pages *storage.Scanner) error {
	groups := d.p.env.Store.Scan(storage.NearGroups(), nil, nil)
	defer groups.Close()
	more := groups.Next()
	for ok, n := pages.Next(), 0; ok; n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		s, _, err := storage.SplitNearPageKey(pages.Key())
		if err != nil {
			return err
		}
		prefix := s.Append(nil)
		for ; ok && bytes.HasPrefix(pages.Key(), prefix); ok = pages.Next() {
			d.add(pages.Key())
		}
		for more && bytes.Compare(groups.Key(), prefix) < 0 {
			more = groups.Next()
		}
		group := s
		if more && bytes.Equal(groups.Key(), prefix) {
			if group, err = storage.ReadSimHash(groups.Value()); err != nil {
				return err
			}
			if err = d.addNear(group, false); err != nil {
				return err
			}
			continue
		}
		if err := d.lookUpNear(group); err != nil {
			return err
		}
	}
	if err := groups.Err(); err != nil {
		return err
	}
	return pages.Err()
}

// lookUpNear adds the noted pages, which are all of a group.
func (d *dedup) lookUpNear(group storage.SimHash) error { return d.addNear(group, len(d.keys) == 1) }

func (d *dedup) addNear(group storage.SimHash, alone bool) error {
	defer func() { d.keys = d.keys[:0] }()
	d.value = appendNearKey(d.value[:0], group)
	if alone {
		d.value = append(d.value, 1)
	}
	for _, entry := range d.keys {
		_, page, err := storage.SplitNearPageKey(entry)
		if err == nil {
			err = d.pages.Add(page, d.value)
		}
		if err != nil {
			return fmt.Errorf("sorting pages: %w", err)
		}
	}
	return nil
}
