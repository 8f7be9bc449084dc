// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/seine-crawler/seine/storage"
)

// Purged counts what Purge removed.
type Purged struct {
	Parsed    uint64 // parse records of versions that were replaced
	Inlinks   uint64 // of linkdb, from these
	Captures  uint64 // of cdx, with their WARC records, and records of failures
	Removed   uint64 // WARC files
	Rewritten uint64 // WARC files
	Waiting   uint64 // WARC files that are still needed by segments that are not done: the next Purge changes them
	Bytes     int64  // by which the WARC files are smaller
}

// Purge removes what is no longer referenced in segments that every phase is done with:
//
//	parse records of versions that a later fetch of the URL replaced, and their links in linkdb
//	WARC files all of whose segments are without any other parse record, with their captures
//	records of deleted pages in other WARC files, which are written again without them
//
// Versions that were replaced stay in WARC files that are needed for others: a WARC is an archive.
//
// Each file's changes, in all its segments, are one ingestion, after which the old file is removed. At the end goes the
// row of meta which says that a segment holds deleted pages. What a crash leaves, the next Purge does. One Purge runs
// at a time, and no phase that writes crawldb or the index meanwhile. Segments that are not linked yet may be written:
// files with parts of them wait for a later Purge. So does a file for which the disk has no room once more; then the
// error, after all others are done, is one of a full disk.
//
// relinked, if not nil, is called with every URL that lost inlinks: its anchors may have changed. They come in key
// order from each segment.
func (g *Segments) Purge(ctx context.Context, relinked func(key []byte) error) (Purged, error) {
	p := purge{s: g, ctx: ctx, relinked: relinked, places: g.env.Sorter(nil)}
	defer p.places.Close()
	if err := p.run(); err != nil {
		return p.result, fmt.Errorf("purge: %w", err)
	}
	return p.result, nil
}

// purge is one run of Purge.
type purge struct {
	s        *Segments
	ctx      context.Context
	relinked func(key []byte) error
	result   Purged

	segments      map[uint32]storage.Segment    // that are done, as they are now
	owned         map[string][]storage.WARCPart // by file
	empty, marked map[uint32]bool
	places        *storage.Sorter // place in a WARC file → row of cdx; see appendPlace
}

func (g *purge) run() error {
	// In this order. A file that is there and that nobody holds is not written any more, and each segment with a part
	// in it was sealed before the list is read.
	names, err := g.s.env.FS.List(g.s.env.Dir)
	if err != nil {
		return fmt.Errorf("listing %s: %w", g.s.env.Dir, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { _, ok := NumberOf(name); return !ok })
	held := g.s.parts.held()
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
	g.owned = storage.WARCParts(list)
	maps.DeleteFunc(g.owned, func(name string, _ []storage.WARCPart) bool { return !slices.Contains(names, name) })
	if err := g.removeStrays(names, done, held); err != nil {
		return err
	}
	if g.marked, err = g.s.env.Store.DeletedIn(); err != nil {
		return err
	}
	g.empty = map[uint32]bool{}
	g.segments = map[uint32]storage.Segment{}
	for _, seg := range done {
		g.segments[seg.Number] = seg
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
	return g.replaceFiles(held)
}

// removeStrays removes WARC files of which no segment has a part any more, and those that a crash left half written.
func (g *purge) removeStrays(names []string, done []storage.Segment, held map[string]bool) error {
	purged := map[uint32]bool{}
	for _, seg := range done {
		purged[seg.Number] = true
	}
	return g.removeFiles(slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		number, _ := NumberOf(name)
		return !purged[number] || g.owned[name] != nil || held[name] ||
			!strings.HasPrefix(name, filePrefix(number)+"-")
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
		if value != nil && r.Segment != segment {
			if needed, err = isNewest(captures, &r, segment, sc.Key(), sc.Value()); err != nil {
				return false, err
			}
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

// isNewest reports whether a parse record of a segment, which does not have the content of its URL, may be of the
// newest fetch. Fetches without an answer have no capture: whether a later one of these replaced it says the time of
// the last fetch. Else a page that fails in one segment after another would keep the files of all of them.
func isNewest(captures *storage.Scanner, r *storage.Record, segment uint32, key, parsed []byte) (bool, error) {
	newest, err := storage.NewestCapture(captures, key)
	if err != nil || newest >= segment {
		return newest == segment, err
	}
	var o storage.FetchOutcome
	var links storage.OutlinkReader
	if err := storage.ReadFetchOutcome(parsed, &o, &links); err != nil {
		return false, fmt.Errorf("parse record %s: %w", key, err)
	}
	return o.Time >= r.LastFetch, nil
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

// replaceFiles removes or writes again the WARC files in question, file by file, and forgets then that segments hold
// deleted pages.
func (g *purge) replaceFiles(held map[string]bool) error {
	names, waits := g.choose(held)
	if len(names) > 0 {
		if err := g.findPlaces(names); err != nil {
			return err
		}
	}
	run, err := g.places.Sort()
	if err != nil {
		return fmt.Errorf("sorting captures: %w", err)
	}
	defer run.Close()
	run.Next()
	var full *noRoomError // the first file that is left for lack of room
	for _, name := range names {
		err := g.replace(name, g.owned[name], run)
		if none := (*noRoomError)(nil); errors.As(err, &none) {
			full = cmp.Or(full, none)
			g.wait(name, waits)
			continue
		}
		if err != nil {
			return err
		}
	}
	if err := run.Err(); err != nil {
		return err
	}
	err = g.s.env.Store.Apply(func(b *storage.Batch) error {
		for number := range g.marked {
			if _, done := g.segments[number]; !done || waits[number] {
				continue
			}
			if err := b.Delete(storage.Meta(), storage.AppendDeletedInKey(nil, number)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && full != nil {
		return full
	}
	return err
}

// choose returns the files in question that can be changed now, in order, and the segments with parts in others.
func (g *purge) choose(held map[string]bool) (names []string, waits map[uint32]bool) {
	waits = map[uint32]bool{}
	for name, parts := range g.owned {
		marked := func(p storage.WARCPart) bool { return g.marked[p.Segment] }
		if !slices.ContainsFunc(parts, marked) && !g.isEmpty(parts) {
			continue
		}
		undone := func(p storage.WARCPart) bool { _, ok := g.segments[p.Segment]; return !ok }
		if held[name] || slices.ContainsFunc(parts, undone) {
			g.wait(name, waits)
			g.s.parts.turn(name) // so that the next Purge can change it
			g.result.Waiting++
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, waits
}

// wait notes the segments with parts in a file that is left as it is.
func (g *purge) wait(name string, waits map[uint32]bool) {
	for _, p := range g.owned[name] {
		waits[p.Segment] = true
	}
}

// purgeReserve is how many bytes a disk must have free beside a WARC file that is written again, or a 16th of a small
// disk: the store must never see a full one.
const purgeReserve = 64 << 20

// noRoomError says that a disk has no room for a WARC file once more. It is a syscall.ENOSPC.
type noRoomError struct {
	path             string
	need, free, keep uint64 // bytes; keep is what must stay free
}

func (e *noRoomError) Error() string {
	return fmt.Sprintf("%s is to be written again without what is deleted, which takes up to %d MiB, and %d MiB are "+
		"free, of which %d are for the store: free some space and purge again",
		e.path, e.need>>20, e.free>>20, e.keep>>20)
}

func (e *noRoomError) Unwrap() error { return syscall.ENOSPC }

// room returns a *noRoomError unless the disk has room for the parts of a file once more. Where it does not say how
// much is free, there is.
func (g *purge) room(name string, parts []storage.WARCPart) error {
	free, total, err := g.s.env.Store.DiskFree(g.s.env.Dir)
	if err != nil || total == 0 {
		return nil
	}
	need := uint64(0)
	for _, p := range parts {
		need += uint64(p.Size)
	}
	if keep := min(purgeReserve, total/16); free < need+keep {
		return &noRoomError{g.s.env.Dir + "/" + name, need, free, keep}
	}
	return nil
}

// isEmpty reports whether no segment of a file has a parse record left.
func (g *purge) isEmpty(parts []storage.WARCPart) bool {
	return !slices.ContainsFunc(parts, func(p storage.WARCPart) bool { return !g.empty[p.Segment] })
}

// findPlaces sorts the captures in files by their place.
func (g *purge) findPlaces(names []string) error {
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
		if _, ok := slices.BinarySearch(names, c.Location.File); !ok {
			continue
		}
		place = appendPlace(place[:0], c.Location.File, c.Location.Offset)
		if err := g.places.Add(place, sc.Key()); err != nil {
			return fmt.Errorf("sorting captures: %w", err)
		}
	}
	return sc.Err()
}

// replace removes or writes again one file. run is at its first capture, or after where that would be.
func (g *purge) replace(name string, parts []storage.WARCPart, run *storage.Run) error {
	ing := g.s.env.Store.NewIngestion()
	defer ing.Abort()
	var now []storage.WARCPart
	moved := g.s.newRewriting(g.ctx, run)
	defer moved.close()
	if g.isEmpty(parts) {
		if err := g.dropCaptures(name, run, ing); err != nil {
			return err
		}
	} else {
		err := g.room(name, parts)
		if err == nil {
			now, err = moved.file(name, parts)
		}
		if err != nil {
			return err
		}
		if err := moved.writeRows(ing); err != nil {
			return err
		}
		g.result.Captures += moved.dropped
	}
	for _, seg := range g.changed(name, parts, now) {
		if err := ing.PutPurged(seg); err != nil {
			return err
		}
		g.segments[seg.Number] = seg
	}
	moved.kept = true // also if it fails: the store may have them then
	if err := ing.Commit(); err != nil {
		return err
	}
	files := map[string]bool{}
	for _, p := range now {
		files[p.Name] = true
		g.result.Bytes -= p.Size
	}
	g.result.Removed += uint64(max(1-len(files), 0))
	g.result.Rewritten += uint64(len(files))
	return g.removeFiles([]string{name})
}

// changed returns the segments with parts in a file, with their parts in other files that hold the same now.
func (g *purge) changed(name string, parts, now []storage.WARCPart) (list []storage.Segment) {
	for _, p := range parts {
		seg := g.segments[p.Segment]
		var files []storage.WARCFile
		for _, f := range seg.WARC {
			if f.Name != name {
				files = append(files, f)
			}
		}
		for _, n := range now {
			if n.Segment == p.Segment {
				files = append(files, n.WARCFile)
			}
		}
		seg.WARC = files
		list = append(list, seg)
	}
	return list
}

// dropCaptures removes all captures in a file from cdx.
func (g *purge) dropCaptures(name string, run *storage.Run, ing *storage.Ingestion) error {
	keys := g.s.env.Sorter(storage.FoldLast)
	defer keys.Close()
	for end := appendPlace(nil, name, 1<<63-1); run.Key() != nil && bytes.Compare(run.Key(), end) < 0; run.Next() {
		if placeFile(run.Key()) == name {
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

func placeFile(place []byte) string { return string(place[:len(place)-9]) }
