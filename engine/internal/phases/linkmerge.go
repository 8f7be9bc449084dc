// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seine-crawler/seine/storage"
)

// LinksMerged counts what MergeLinks did.
type LinksMerged struct {
	Dropped uint64 // links of versions of pages that were replaced
	Targets uint64 // whose rows are one row now
	Rows    uint64 // these were
	Done    bool   // all targets were looked at
	Ended   bool   // the last target was
}

// metaMerge is the row of Meta with the target at which the next MergeLinks goes on.
const metaMerge = "linkdb/merge"

// rowsLeft is how many rows of a target are left alone when all are merged, rowsSettled when a part is looked at: a
// merge writes all links of a target again, so each that a crawl makes by itself should be of many rows. With 2 for
// both, a crawl of three segments wrote linkdb twice, and compactions wrote it a third time: 25 µs a page.
const rowsLeft, rowsSettled = 2, 8

// rowsMark is the mark of a look at all rows of linkdb. Its value is the limit of bytes of a target, and the number of
// rows that were left alone.
const rowsMark = "linkdb rows"

// MergeLinks takes links that their pages dropped out of linkdb, and merges the rows of targets that have more than a
// few into one, with counts. The first is as much work as pages were fetched since the last call, the second looks
// at most rows, where the call before ended (0: at all), and none if all were looked at and nothing changed since.
// Without a bound it leaves rowsLeft rows of a target, with one rowsSettled. Links of other directories go with the
// first, when their pages are fetched here: where there are any, all of linkdb is read for that.
//
//	pages of new segments ─▶ their replaced versions, by cdx ─▶ links of these, sorted by target ─▶ linkdb without them
//	linkdb from the place on ─▶ rows of a target ─▶ one row
//
// Each is one ingestion, with the place in Meta. InvertLinks may run at the same time; phases that write crawldb, and
// Purge, may not. changed, if not nil, is called with each target that lost links, in key order.
func (p *Phases) MergeLinks(
	ctx context.Context, most int, changed func(target []byte) error,
) (result LinksMerged, err error) {
	var newer bool
	if result.Dropped, newer, err = p.dropReplaced(ctx, changed); err == nil && (newer || most == 0) {
		var foreign uint64
		foreign, err = p.dropForeign(ctx, changed)
		result.Dropped += foreign
	}
	if err == nil {
		err = p.mergeRows(ctx, most, &result)
	}
	if err != nil {
		return result, fmt.Errorf("merging linkdb: %w", err)
	}
	return result, nil
}

// mergeRows merges the rows of targets, at most most, from the place on at which the call before ended.
func (p *Phases) mergeRows(ctx context.Context, most int, result *LinksMerged) (err error) {
	store := p.env.Store
	since, limit, left := store.Moment(), p.mergedBytes(), rowsLeft
	if most > 0 {
		left = rowsSettled
	}
	merged, ok, err := store.Mark(rowsMark)
	if err != nil {
		return err
	}
	if ok && rowsMerged(merged, limit, left) {
		result.Done, result.Ended = true, true
		return nil
	}
	place, _, err := store.Get(storage.Meta(), []byte(metaMerge), nil)
	if err != nil {
		return err
	}
	if most == 0 {
		place = nil
	}
	ing := store.NewIngestion()
	defer ing.Abort()
	parts, err := p.mergings(ing, most, place, merging{limit: limit, left: left, way: storage.NewPacer(p.env.GiveWay)})
	if err != nil {
		return err
	}
	err = p.together(ctx, StepMergeLinks, len(parts), func(ctx context.Context, i int) error {
		return parts[i].run(ctx, store, most)
	})
	for _, m := range parts {
		result.Targets += m.targets
		result.Rows += m.merged
	}
	if err != nil {
		return err
	}
	next := parts[len(parts)-1].next
	result.Ended = next == nil
	result.Done = result.Ended && len(place) == 0
	if result.Done {
		ing.Mark(rowsMark, appendRowsMark(nil, limit, left), since)
	} else if result.Targets == 0 && bytes.Equal(next, place) {
		return nil
	}
	if err := ing.Table(storage.Meta()).Set([]byte(metaMerge), next); err != nil {
		return err
	}
	return p.commit(StepMergeLinks, ing)
}

// mergings returns one merging from the place on, or, of all linkdb, one for each of its parts: there are as many as
// goroutines may share the work, and as have room for what they hold of a target.
func (p *Phases) mergings(ing *storage.Ingestion, most int, place []byte, of merging) ([]merging, error) {
	from := [][]byte{nil}
	if most == 0 {
		room := max(4*p.env.TableBytes/of.limit, 1) // the memory of four sorters, as other phases take
		tables, err := p.share.partsOf(storage.Linkdb(), int(min(int64(max(p.env.Processors, 1)), room)))
		if err != nil {
			return nil, err
		}
		for _, key := range tables[1:] {
			if target := storage.LinkdbTarget(key); !bytes.Equal(target, from[len(from)-1]) {
				from = append(from, target)
			}
		}
	}
	stale, err := p.keepRefreshedParts(ing, from) // of many anchors, the first in the row are read
	if err != nil {
		return nil, err
	}
	parts := make([]merging, len(from))
	for i, table := range ing.TableParts(storage.Linkdb(), from) {
		parts[i] = of
		parts[i].from, parts[i].table, parts[i].stale = from[i], table, stale[i]
		if i > 0 {
			parts[i-1].until = from[i]
		}
	}
	if len(parts) == 1 {
		parts[0].from = place
	}
	return parts, nil
}

func appendRowsMark(dst []byte, limit int64, left int) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(limit)), uint64(left))
}

// rowsMerged reports whether a mark is of a merge that left so many rows, or fewer.
func rowsMerged(mark []byte, limit int64, left int) bool {
	for ; left > 0; left-- {
		if bytes.Equal(mark, appendRowsMark(nil, limit, left)) {
			return true
		}
	}
	return false
}

// mergedBytes bounds what is held of a target while its rows are merged. Rows beyond it stay as they are.
func (p *Phases) mergedBytes() int64 {
	return min(max(2*p.env.TableBytes, mergedBytesMin), mergedBytesMax)
}

// merging merges the rows of one target after the other, of those from one on up to another. It belongs to one
// goroutine.
type merging struct {
	from, until []byte
	rows        *storage.Scanner
	table       *storage.TableWriter
	limit       int64
	left        int
	stale       staleNotes
	way         storage.Pacer
	// elsewhere, if not nil, says of which pages another directory has the contents from now on. Rows become one then
	// if they have a link of such a page, however few they are.
	elsewhere func(from []byte) bool

	next            []byte // nil: all were looked at
	targets, merged uint64 // as in LinksMerged

	of     []byte
	values [][]byte // of the target, as many as fit
	keys   [][]byte
	merge  storage.LinkMerge
	row    storage.LinkRow
	value  []byte
}

// run looks at most rows, 0: at all.
func (m *merging) run(ctx context.Context, store *storage.Store, most int) (err error) {
	m.rows = store.Scan(storage.Linkdb(), m.from, m.until)
	defer func() { err = errors.Join(err, m.rows.Close()) }()
	ok := m.rows.Next()
	for n := 0; ok && (most == 0 || n < most); {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var read int
		if read, ok, err = m.target(); err != nil {
			return err
		}
		n += read
	}
	if ok {
		m.next = bytes.Clone(m.rows.Key())
	}
	return m.rows.Err()
}

// target merges the rows of the target at which the scan stands, and moves on to the next. It returns how many rows it
// read.
func (m *merging) target() (read int, more bool, err error) {
	target, _, err := storage.SplitLinkdbKey(m.rows.Key())
	if err != nil {
		return 0, false, err
	}
	m.of = append(m.of[:0], target...)
	m.keys, m.values = m.keys[:0], m.values[:0]
	size := int64(0)
	for more = true; more; more = m.rows.Next() {
		target, _, err := storage.SplitLinkdbKey(m.rows.Key())
		if err != nil {
			return read, false, err
		}
		if !bytes.Equal(target, m.of) {
			break
		}
		read++
		m.way.Step()
		if size += int64(len(m.rows.Value())); size <= m.limit {
			m.keys = append(m.keys, bytes.Clone(m.rows.Key()))
			m.values = append(m.values, bytes.Clone(m.rows.Value()))
		}
	}
	some, err := m.wanted()
	if err == nil && some {
		err = m.write()
	}
	return read, more, err
}

// wanted reports whether the rows that were read are to become one.
func (m *merging) wanted() (some bool, err error) {
	if m.elsewhere == nil {
		return len(m.keys) > m.left, nil
	}
	for i := 0; i < len(m.values) && !some && err == nil; i++ {
		err = storage.VisitLinks(m.values[i], 0, func(from, _ []byte, _ uint32) bool {
			some = m.elsewhere(from)
			return !some
		})
	}
	if err != nil {
		err = fmt.Errorf("inlinks of %s: %w", m.of, err)
	}
	return some, err
}

// write writes one row in place of those that were read.
func (m *merging) write() error {
	for i, value := range m.values {
		_, segment, err := storage.SplitLinkdbKey(m.keys[i])
		if err == nil {
			err = m.merge.Add(value, segment)
		}
		if err != nil {
			return fmt.Errorf("inlinks at %q: %w", m.keys[i], err)
		}
	}
	m.row.Reset(true)
	err := m.merge.Each(func(from, anchor []byte, segment uint32) error {
		if m.elsewhere != nil && m.elsewhere(from) {
			segment = importedSegment
		}
		m.row.Add(from, anchor, segment)
		return nil
	})
	if err != nil {
		return fmt.Errorf("inlinks of %s: %w", m.of, err)
	}
	m.targets++
	m.merged += uint64(len(m.keys))
	merged := storage.AppendLinkdbKey(nil, m.of, storage.MergedSegment)
	m.value = m.row.Append(m.value[:0])
	if err := errors.Join(m.table.Set(merged, m.value), m.stale.page(m.of)); err != nil {
		return err
	}
	for _, key := range m.keys {
		if !bytes.Equal(key, merged) {
			if err := m.table.Delete(key); err != nil {
				return err
			}
		}
	}
	return nil
}
