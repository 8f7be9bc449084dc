// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage"
)

// Purged counts what Purge removed.
type Purged struct {
	Parsed    uint64 // parse records of versions that were replaced
	Inlinks   uint64 // of linkdb, from these
	Captures  uint64 // of cdx, with their WARC records
	Removed   uint64 // WARC files
	Rewritten uint64 // WARC files
	Bytes     int64  // by which the WARC files are smaller
}

// Purge removes what is no longer referenced in segments that every phase is done with:
//
//	parse records of versions that a later fetch of the URL replaced, and their links in linkdb
//	WARC files of segments without any other parse record, with their captures
//	records of deleted pages in other WARC files, which are written again without them
//
// Versions that were replaced stay in WARC files that are needed for others: a WARC is an archive.
//
// Each segment's changes are one ingestion. After it old files are removed, and then the row of meta which says that
// the segment holds deleted pages. What a crash leaves, the next Purge does. One Purge runs at a time, and no phase
// that writes crawldb or the index meanwhile. Segments that are not linked yet may be written: they are not looked at.
//
// relinked, if not nil, is called with every URL that lost inlinks: its anchors may have changed. They come in key
// order from each segment.
func (s *Segments) Purge(ctx context.Context, relinked func(key []byte) error) (Purged, error) {
	g := purge{s: s, ctx: ctx, relinked: relinked, places: s.env.Sorter(nil)}
	defer g.places.Close()
	if err := g.run(); err != nil {
		return g.result, fmt.Errorf("purge: %w", err)
	}
	return g.result, nil
}

// purge is one run of Purge.
type purge struct {
	s        *Segments
	ctx      context.Context
	relinked func(key []byte) error
	result   Purged

	empty, marked map[uint32]bool
	places        *storage.Sorter // place in a WARC file → row of cdx; see appendPlace
}

func (g *purge) run() error {
	list, err := g.s.env.Store.SegmentList()
	if err != nil {
		return fmt.Errorf("listing segments: %w", err)
	}
	var done []storage.Segment
	for _, seg := range list {
		if seg.State >= storage.SegmentLinked {
			done = append(done, seg)
		}
	}
	if err := g.removeStrays(done); err != nil {
		return err
	}
	if g.marked, err = g.s.env.Store.DeletedIn(); err != nil {
		return err
	}
	g.empty = map[uint32]bool{}
	for _, seg := range done {
		left, err := g.dropReplaced(seg.Number)
		if err != nil {
			return fmt.Errorf("segment %d: %w", seg.Number, err)
		}
		if !left && len(seg.WARC) > 0 {
			g.empty[seg.Number] = true
		}
	}
	if len(g.empty)+len(g.marked) == 0 {
		return nil
	}
	return g.replaceFiles(done)
}

// removeStrays removes WARC files that no segment names any more, and those that a crash left half written.
func (g *purge) removeStrays(done []storage.Segment) error {
	own := map[string]bool{}
	purged := map[uint32]bool{}
	for _, seg := range done {
		purged[seg.Number] = true
		for _, f := range seg.WARC {
			own[f.Name] = true
		}
	}
	names, err := g.s.env.FS.List(g.s.env.Dir)
	if err != nil {
		return fmt.Errorf("listing %s: %w", g.s.env.Dir, err)
	}
	return g.removeFiles(slices.DeleteFunc(names, func(name string) bool {
		number, ok := NumberOf(name)
		return !ok || !purged[number] || own[name] || !strings.HasPrefix(name, filePrefix(number)+"-")
	}))
}

func (g *purge) removeFiles(names []string) error {
	for _, name := range names {
		path := g.s.env.Dir + "/" + name
		size, err := g.s.env.FS.Size(path)
		if err == nil {
			err = g.s.env.FS.Remove(path)
		}
		if err != nil {
			return fmt.Errorf("removing %s: %w", path, err)
		}
		g.result.Bytes += size
	}
	if len(names) == 0 {
		return nil
	}
	if err := g.s.env.FS.SyncDir(g.s.env.Dir); err != nil {
		return fmt.Errorf("syncing %s: %w", g.s.env.Dir, err)
	}
	return nil
}

// dropReplaced removes the parse records of a segment that are neither the content of their URL nor its newest fetch,
// and with them their links: without the parse record nothing would lead to these when the page is deleted. It reports
// whether other records are left.
func (g *purge) dropReplaced(segment uint32) (left bool, err error) {
	store := g.s.env.Store
	ing := store.NewIngestion()
	defer ing.Abort()
	links, text := ing.Table(storage.ParseLinks(segment)), ing.Table(storage.ParseTextRange(segment))
	sc, captures := store.Scan(storage.ParseLinks(segment), nil, nil), store.Scan(storage.CDXRange(), nil, nil)
	known := storage.NewFinder(store, storage.Crawldb())
	unlinked := g.s.env.Sorter(nil) // key of linkdb → source
	defer unlinked.Close()
	defer func() { err = errors.Join(err, sc.Close(), captures.Close(), known.Close()) }()
	var r storage.Record
	for n := 0; sc.Next(); n++ {
		if n%4096 == 0 && g.ctx.Err() != nil {
			return false, g.ctx.Err()
		}
		value, err := known.Find(sc.Key())
		if err == nil && value != nil {
			err = storage.DecodeRecord(value, &r)
		}
		if err != nil {
			return false, fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
		}
		needed := value != nil && r.Segment == segment
		if value != nil && r.Segment < segment {
			newest, err := newestCapture(captures, sc.Key())
			if err != nil {
				return false, err
			}
			needed = newest <= segment
		}
		if needed {
			left = true
			continue
		}
		g.result.Parsed++
		err = addLinks(unlinked, segment, sc.Key(), sc.Value())
		if err = errors.Join(err, links.Delete(sc.Key()), text.Delete(sc.Key())); err != nil {
			return false, err
		}
	}
	if err := sc.Err(); err != nil || links.Count() == 0 {
		return left, err
	}
	if err := g.dropLinks(unlinked, ing); err != nil {
		return false, fmt.Errorf("removing links of replaced versions: %w", err)
	}
	return left, ing.Commit()
}

// addLinks adds the rows of linkdb in which a parse record of a segment may have links.
func addLinks(rows *storage.Sorter, segment uint32, key, parsed []byte) error {
	var o storage.FetchOutcome
	var links storage.OutlinkReader
	if err := storage.ReadFetchOutcome(parsed, &o, &links); err != nil {
		return fmt.Errorf("parse record %s: %w", key, err)
	}
	var row []byte
	for links.Next() {
		row = storage.AppendLinkdbKey(row[:0], links.Key(), segment)
		if err := rows.Add(row, key); err != nil {
			return fmt.Errorf("sorting links: %w", err)
		}
	}
	return links.Err()
}

// dropLinks removes links of pages from linkdb.
func (g *purge) dropLinks(rows *storage.Sorter, ing *storage.Ingestion) error {
	run, err := rows.Sort()
	if err != nil {
		return fmt.Errorf("sorting links: %w", err)
	}
	defer run.Close()
	removed, err := ing.RemoveInlinks(g.ctx, run, g.relinked)
	g.result.Inlinks += removed
	return err
}

// newestCapture returns the highest number of a segment with a capture of a URL.
func newestCapture(captures *storage.Scanner, url []byte) (newest uint32, err error) {
	var c storage.CDX
	for ok := captures.SeekGE(storage.AppendCDXKey(nil, url, 0)); ok; ok = captures.Next() {
		of, _, err := storage.SplitCDXKey(captures.Key())
		if err != nil {
			return 0, err
		}
		if !bytes.Equal(of, url) {
			break
		}
		if err := storage.DecodeCDX(captures.Value(), &c); err != nil {
			return 0, fmt.Errorf("cdx of %s: %w", url, err)
		}
		newest = max(newest, c.Segment)
	}
	return newest, captures.Err()
}

// replaceFiles removes or writes again the WARC files of the segments in question.
func (g *purge) replaceFiles(done []storage.Segment) error {
	if err := g.findPlaces(); err != nil {
		return err
	}
	run, err := g.places.Sort()
	if err != nil {
		return fmt.Errorf("sorting captures: %w", err)
	}
	defer run.Close()
	run.Next()
	for _, seg := range done {
		if !g.empty[seg.Number] && !g.marked[seg.Number] {
			continue
		}
		if err := g.replace(seg, run); err != nil {
			return fmt.Errorf("segment %d: %w", seg.Number, err)
		}
	}
	return run.Err()
}

// findPlaces sorts the captures of the segments in question by their place.
func (g *purge) findPlaces() error {
	sc := g.s.env.Store.Scan(storage.CDXRange(), nil, nil)
	defer sc.Close()
	var c storage.CDX
	var place []byte
	for n := 0; sc.Next(); n++ {
		if n%4096 == 0 && g.ctx.Err() != nil {
			return g.ctx.Err()
		}
		if err := storage.DecodeCDX(sc.Value(), &c); err != nil {
			return fmt.Errorf("cdx at %q: %w", sc.Key(), err)
		}
		if !g.empty[c.Segment] && !g.marked[c.Segment] {
			continue
		}
		place = appendPlace(place[:0], c.Segment, c.Location.File, c.Location.Offset)
		if err := g.places.Add(place, sc.Key()); err != nil {
			return fmt.Errorf("sorting captures: %w", err)
		}
	}
	return sc.Err()
}

// replace removes or writes again the files of one segment. run is at its first capture, or after where that would be.
func (g *purge) replace(seg storage.Segment, run *storage.Run) error {
	store := g.s.env.Store
	ing := store.NewIngestion()
	defer ing.Abort()
	old := seg.WARC
	var moved *rewriting
	if g.empty[seg.Number] {
		if err := g.dropCaptures(seg.Number, run, ing); err != nil {
			return err
		}
		seg.WARC = nil
	} else {
		moved = g.s.newRewriting(g.ctx, seg, run)
		defer moved.close()
		files, err := moved.files()
		if err != nil {
			return err
		}
		if err := moved.writeRows(ing); err != nil {
			return err
		}
		seg.WARC = files
		g.result.Captures += moved.dropped
	}
	mark := storage.AppendDeletedInKey(nil, seg.Number)
	if err := ing.Table(storage.Meta()).Set(mark, nil); err != nil { // until the old files are gone
		return err
	}
	if err := ing.PutPurged(seg); err != nil {
		return err
	}
	if err := ing.Commit(); err != nil {
		return err
	}
	var names []string
	for _, f := range old {
		names = append(names, f.Name)
	}
	for _, f := range seg.WARC {
		g.result.Bytes -= f.Size
	}
	g.result.Removed += uint64(max(len(old)-len(seg.WARC), 0))
	g.result.Rewritten += uint64(len(seg.WARC))
	if err := g.removeFiles(names); err != nil {
		return err
	}
	return store.Apply(func(b *storage.Batch) error { return b.Delete(storage.Meta(), mark) })
}

// dropCaptures removes all captures of a segment from cdx.
func (g *purge) dropCaptures(segment uint32, run *storage.Run, ing *storage.Ingestion) error {
	keys := g.s.env.Sorter(foldLast)
	defer keys.Close()
	for ; run.Key() != nil && placeSegment(run.Key()) <= segment; run.Next() {
		if placeSegment(run.Key()) == segment {
			if err := keys.Add(run.Value(), nil); err != nil {
				return fmt.Errorf("sorting captures: %w", err)
			}
		}
	}
	sorted, err := keys.Sort()
	if err != nil {
		return fmt.Errorf("sorting captures: %w", err)
	}
	defer sorted.Close()
	table := ing.Table(storage.CDXRange())
	for sorted.Next() {
		g.result.Captures++
		if err := table.Delete(sorted.Key()); err != nil {
			return err
		}
	}
	return errors.Join(run.Err(), sorted.Err())
}

func placeSegment(place []byte) uint32 { return binary.BigEndian.Uint32(place) }
