// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"

	"github.com/seine-crawler/seine/storage"
)

// redirectDocs is how many documents are redirected while a Builder has to wait: some 30 ms. Tests lower it.
var redirectDocs = 1 << 16

// redirect has Located name an index segment for its documents, where it still names those that were merged into it.
// Documents that were deleted, or replaced by a newer version, are named elsewhere or not at all.
func (x *Index) redirect(ctx context.Context, st *state, seg *segment) error {
	return x.redirectBy(ctx, st, seg, x.redirectPiece)
}

// redirectAll has Located name the index segment of each document. The caller holds the writers' lock and merging.
func (x *Index) redirectAll(ctx context.Context) (err error) {
	st, err := x.acquire()
	if err != nil {
		return err
	}
	defer x.releaseAfter(st, &err)
	for _, seg := range st.segments {
		if len(seg.info.From) == 0 {
			continue
		}
		if err := x.redirectBy(ctx, st, seg, x.redirectSome); err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) redirectBy(
	ctx context.Context, st *state, seg *segment, piece func(*keyScanner) (more bool, err error),
) error {
	keys := newKeyScanner(st.snap, seg)
	defer keys.sc.Close()
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if more, err = piece(keys); err != nil {
			return fmt.Errorf("redirecting to index segment %d: %w", seg.number, err)
		}
		if err := x.merged("redirected"); err != nil {
			return err
		}
	}
	return x.Refresh()
}

// redirectPiece redirects the next documents; more is false if they were the last.
func (x *Index) redirectPiece(keys *keyScanner) (more bool, err error) {
	x.writers.Lock()
	defer x.writers.Unlock()
	return x.redirectSome(keys)
}

// redirectSome is redirectPiece for a caller that holds the writers' lock.
func (x *Index) redirectSome(keys *keyScanner) (more bool, err error) {
	seg := keys.seg
	deleted, err := readDeleted(x.s, seg.number) // those of now
	if err != nil {
		return false, err
	}
	ing := x.s.NewIngestion()
	defer ing.Abort()
	located := ing.Table(Located())
	var value []byte
	for n := 0; n < redirectDocs; n++ {
		if more, err = keys.next(); err != nil {
			return false, err
		}
		if !more {
			info := seg.info
			info.From = nil
			if err := registerSegment(ing, seg.number, &info); err != nil {
				return false, err
			}
			break
		}
		if deleted != nil && deleted.Contains(keys.doc) {
			continue
		}
		value = appendLocated(value[:0], Location{Segment: seg.number, Doc: keys.doc, Stamp: keys.stamp()})
		if err := located.Set(keys.key(), value); err != nil {
			return false, err
		}
	}
	return more, ing.Commit()
}

// moved finds documents whose index segment was merged into another while Located still names the old one.
type moved struct {
	rd storage.Reader
	to map[uint32]*keyReader // by the number of the old one
}

// newMoved reads the registry as it is committed: a Refresh after a merge may have failed, and then the Index's state
// has the index segments that the merge removed.
func newMoved(rd storage.Reader) (*moved, error) {
	m := &moved{rd: rd, to: map[uint32]*keyReader{}}
	sc := rd.Scan(storage.IndexRange(kindSegments), nil, nil)
	defer sc.Close()
	for sc.Next() {
		seg, err := registered(sc.Key(), sc.Value())
		if err != nil {
			return nil, err
		}
		if len(seg.info.From) == 0 {
			continue
		}
		keys := newKeyReader(rd, seg)
		for _, number := range seg.info.From {
			m.to[number] = keys
		}
	}
	return m, sc.Err()
}

// follow returns where a document is that Located says to be at a place.
func (m *moved) follow(key string, at Location) (Location, error) {
	keys := m.to[at.Segment]
	if keys == nil {
		return at, nil
	}
	doc, err := keys.first(key)
	if err != nil {
		return at, err
	}
	if doc == keys.seg.info.Docs {
		return at, keys.missing(doc)
	}
	found, _, err := keys.key(doc)
	if err != nil {
		return at, err
	}
	if string(found) != key {
		return at, fmt.Errorf("%w: index segment %d, merged into %d, has no document %q",
			storage.ErrCorrupt, at.Segment, keys.seg.number, key)
	}
	at.Segment, at.Doc = keys.seg.number, doc
	return at, nil
}
