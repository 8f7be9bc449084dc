// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// filesCheck compares WARC files with what the store says of them.
//
//	file ──▶ its segments, their parts of it, the number of their records
//	page's record ◀─▶ capture, by file and offset: the same URL and digest
//	outcome of a fetch ──▶ record
//
// The second and third are one sort of both sides by file and offset, so memory is bounded.
type filesCheck struct {
	in     *Inspect
	ctx    context.Context
	v      *Verified
	snap   *storage.Snapshot             // what the store says; nil: nothing
	sealed map[uint32]storage.Segment    // when the check began
	parts  map[string][]storage.WARCPart // of sealed segments, by file
	open   uint32                        // the last segment that was not sealed then; 0: all were
	// deleted are the segments that hold records of deleted pages, which no capture names.
	deleted map[uint32]bool
	gone    map[string]bool // files in whose place a purge has put others since
	refs    *storage.Sorter
	key     []byte
	value   []byte
}

// What the sorter's values begin with.
const (
	refPage    = 'w' // a page's record: digest, 0, URL
	refFailure = 'f' // the record of a fetch without a response
	refCapture = 'c' // a capture: digest, 0, URL
	refOutcome = 'o' // the outcome of a fetch: URL key
	refNoBody  = 'n' // a page's record was stored without its body
)

func (in *Inspect) verifyFiles(ctx context.Context, v *Verified) error {
	c := filesCheck{in: in, ctx: ctx, v: v, sealed: map[uint32]storage.Segment{}, deleted: map[uint32]bool{},
		gone: map[string]bool{}}
	dir := ""
	if in.env.Store != nil {
		dir = in.env.Store.SortDir()
		c.snap = in.env.Store.Snapshot()
		defer c.snap.Close()
		list, err := c.snap.SegmentList()
		if errors.Is(err, storage.ErrCorrupt) {
			list = nil // Store.Verify has counted it
		} else if err != nil {
			return err
		}
		for _, seg := range list {
			if seg.State >= storage.SegmentSealed {
				c.sealed[seg.Number] = seg
			} else {
				c.open = seg.Number
			}
		}
		c.parts = storage.WARCParts(list)
	}
	if err := c.deletions(); err != nil {
		return err
	}
	c.refs = storage.NewSorter(storage.SorterOptions{Dir: dir, FS: in.env.SortFS})
	defer c.refs.Close()
	if c.snap == nil {
		return c.files()
	}
	// The store first: what it says is of one moment then, and no snapshot is held while files are read.
	for _, step := range []func() error{c.captures, c.outcomes, c.snap.Close, c.files, c.compare} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// deletions reads which segments hold records of deleted pages.
func (c *filesCheck) deletions() (err error) {
	if c.snap == nil {
		return nil
	}
	if c.deleted, err = c.snap.DeletedIn(); errors.Is(err, storage.ErrCorrupt) {
		return nil // Store.Verify has counted it
	}
	return err
}

// files reads all files of segments, and looks for those that are missing.
func (c *filesCheck) files() error {
	names, err := c.in.env.FS.List(c.in.env.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		number, ok := c.in.env.SegmentOf(name)
		if !ok {
			continue
		}
		parts, err := c.parts[name], error(nil)
		switch _, sealed := c.sealed[number]; {
		case len(parts) > 0:
			if err = c.sealedFile(name, parts); errors.Is(err, fs.ErrNotExist) {
				err = c.missing(name, parts[len(parts)-1])
			}
		case sealed:
			now, nerr := c.partsNow()
			if err = nerr; len(now[name]) == 0 { // else a purge has made it since
				c.v.Strays++
			}
		default:
			err = c.openFile(name, number)
		}
		if err != nil {
			return err
		}
	}
	for _, seg := range c.sealed {
		for _, f := range seg.WARC {
			if _, there := slices.BinarySearch(names, f.Name); !there {
				if err := c.missing(f.Name, storage.WARCPart{Segment: seg.Number, WARCFile: f}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// missing notes that a file with a part is not there, unless a purge has removed it since the snapshot.
func (c *filesCheck) missing(name string, p storage.WARCPart) error {
	now, err := c.partsNow()
	switch {
	case err != nil:
		return err
	case len(now[name]) == 0:
		c.gone[name] = true
	default:
		c.v.Problem(kindFile, "%s of segment %d is missing; it had %d bytes, %d records", c.path(name), p.Segment,
			p.End(), p.Records)
	}
	return nil
}

// partsNow are the parts of files as of now; those of the snapshot where that cannot be read.
func (c *filesCheck) partsNow() (map[string][]storage.WARCPart, error) {
	list, err := c.in.env.Store.SegmentList()
	if errors.Is(err, storage.ErrCorrupt) {
		return c.parts, nil
	}
	return storage.WARCParts(list), err
}

func (c *filesCheck) path(name string) string { return filepath.Join(c.in.env.Dir, name) }

// openFile reads a file of a segment that is not sealed: what a crash left at its end is no damage.
func (c *filesCheck) openFile(name string, number uint32) error {
	if c.in.env.Store != nil {
		_, known, err := c.in.env.Store.Segment(number)
		if err != nil && !errors.Is(err, storage.ErrCorrupt) {
			return err
		}
		if err == nil && !known {
			c.v.Problem(kindFile, "%s belongs to segment %d, which the store does not have", c.path(name), number)
		}
	}
	size, err := c.in.env.FS.Size(c.path(name))
	if err != nil {
		return err
	}
	c.v.Files++
	return c.openPart(name, 0, size)
}

// openPart reads a part of a file that belongs to no sealed segment.
func (c *filesCheck) openPart(name string, from, to int64) error {
	_, err := c.scan(name, from, to, func(f warc.Fault) {
		if f.Tail {
			c.v.Torn += uint64(f.Length)
		} else {
			c.v.Problem(kindRecord, "%s: %v", c.path(name), f)
		}
	}, func(*warc.Record) error { return nil })
	return err
}

// sealedFile reads a file with parts of segments that were complete when these were sealed.
func (c *filesCheck) sealedFile(name string, parts []storage.WARCPart) error {
	path := c.path(name)
	size, err := c.in.env.FS.Size(path)
	if err != nil {
		return err
	}
	c.v.Files++
	end := int64(0)
	for _, p := range parts {
		if p.Start < end {
			c.v.Problem(kindFile, "%s: the part of segment %d begins at %d, where another has not ended", path,
				p.Segment, p.Start)
		}
		end = max(end, p.End())
	}
	number, _ := c.in.env.SegmentOf(name)
	switch {
	case size < end:
		c.v.Problem(kindFile, "%s has %d bytes and should have %d: %d are lost", path, size, end, end-size)
	case size > end && c.open <= number:
		c.v.Problem(kindFile, "%s has %d bytes and should have %d: something else follows its end", path, size, end)
	case size > end:
		err = c.openPart(name, end, size)
	}
	for i := range parts {
		if err == nil {
			err = c.sealedPart(&parts[i], size)
		}
	}
	if err != nil {
		return err
	}
	return storage.WARCGaps(parts, min(size, end), func(from, to int64) error { return c.gap(name, from, to) })
}

// sealedPart reads a part of a file of size bytes.
func (c *filesCheck) sealedPart(p *storage.WARCPart, size int64) error {
	path := c.path(p.Name)
	faults := size < p.End()
	records, err := c.scan(p.Name, min(p.Start, size), min(size, p.End()), func(x warc.Fault) {
		faults = true
		c.v.Problem(kindRecord, "%s: %v", path, x)
	}, func(rec *warc.Record) error { return c.noteRecord(p.Name, rec) })
	if err == nil && !faults && records != p.Records {
		c.v.Problem(kindFile, "%s has %d records of segment %d and should have %d", path, records, p.Segment, p.Records)
	}
	return err
}

// gap reads what is between the parts of sealed segments: what a power loss left of records that were never synced, or
// a segment that is still open.
func (c *filesCheck) gap(name string, from, to int64) error {
	_, err := c.scan(name, from, to, func(f warc.Fault) { c.v.Torn += uint64(f.Length) },
		func(*warc.Record) error { return nil })
	return err
}

// scan reads a part of a file.
func (c *filesCheck) scan(
	name string, from, to int64, fault func(warc.Fault), record func(*warc.Record) error,
) (records uint64, err error) {
	f, err := c.in.env.FS.Open(c.path(name))
	if err != nil {
		return 0, err
	}
	defer f.Close() // open for reading: there is nothing to lose
	c.v.Bytes += uint64(to - from)
	err = warc.ScanPart(f, c.path(name), from, to, func(rec *warc.Record) error {
		records++
		c.v.Records++
		if records%contextEvery == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		return record(rec)
	}, func(x warc.Fault) error {
		fault(x)
		return nil
	})
	return records, err
}

// noteRecord adds a record that the store should know.
func (c *filesCheck) noteRecord(file string, rec *warc.Record) error {
	c.value = c.value[:0]
	switch {
	case rec.Type == warc.TypeMetadata:
		c.value = append(c.value, refFailure)
	case c.in.env.Page(rec):
		c.value = append(c.value, refPage)
		if digest := rec.Field("WARC-Payload-Digest"); digest == "" && rec.Type == warc.TypeRevisit {
			c.value = warc.AppendSHA1(c.value, sha1.Sum(nil)) // cdx has the digest of what came, which is nothing
		} else {
			c.value = append(c.value, digest...)
		}
		c.value = append(append(c.value, 0), rec.URI...)
		if !c.in.env.HasBody(rec) {
			if err := c.note(file, rec.Offset); err != nil {
				return err
			}
			c.value = append(c.value[:0], refNoBody)
		}
	default:
		return nil
	}
	return c.note(file, rec.Offset)
}

func (c *filesCheck) note(file string, offset int64) error {
	c.key = append(append(c.key[:0], file...), 0)
	c.key = binary.BigEndian.AppendUint64(c.key, uint64(offset))
	return c.refs.Add(c.key, c.value)
}

// captures adds what the store says of pages. What cannot be read or decoded, Store.Verify has counted.
func (c *filesCheck) captures() error {
	var cdx storage.CDX
	return c.each(storage.CDXRange(), func(key, value []byte) error {
		url, _, err := storage.SplitCDXKey(key)
		if err != nil || storage.DecodeCDX(value, &cdx) != nil {
			return nil
		}
		if _, ok := c.sealed[cdx.Segment]; !ok {
			return nil
		}
		c.value = append(warc.AppendSHA1(append(c.value[:0], refCapture), cdx.Digest), 0)
		if c.value, err = urlkey.AppendURL(c.value, url); err != nil {
			return nil
		}
		return c.note(cdx.Location.File, cdx.Location.Offset)
	})
}

// outcomes adds the records that parse records name.
func (c *filesCheck) outcomes() error {
	var o storage.FetchOutcome
	for number := range c.sealed {
		err := c.each(storage.ParseLinks(number), func(key, value []byte) error {
			if storage.DecodeFetchOutcome(value, &o) != nil || o.Location.File == "" {
				return nil
			}
			c.value = append(append(c.value[:0], refOutcome), key...)
			return c.note(o.Location.File, o.Location.Offset)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls fn for the keys of a range up to the first that is damaged.
func (c *filesCheck) each(r storage.Range, fn func(key, value []byte) error) error {
	sc := c.snap.Scan(r, nil, nil)
	defer sc.Close()
	for n := 0; sc.Next(); n++ {
		if n%contextEvery == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if err := fn(sc.Key(), sc.Value()); err != nil {
			return err
		}
	}
	if err := sc.Err(); !errors.Is(err, storage.ErrCorrupt) {
		return err
	}
	return nil
}

// compare goes through both sides by file and offset.
func (c *filesCheck) compare() error {
	run, err := c.refs.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	var at []byte
	var values [5][]byte // by kind, the last of each
	kinds := string([]byte{refPage, refFailure, refCapture, refOutcome, refNoBody})
	for run.Next() {
		if !bytes.Equal(run.Key(), at) {
			c.comparePlace(at, values)
			at = append(at[:0], run.Key()...)
			values = [5][]byte{}
		}
		values[strings.IndexByte(kinds, run.Value()[0])] = bytes.Clone(run.Value()[1:])
	}
	c.comparePlace(at, values)
	return run.Err()
}

func (c *filesCheck) holdsDeleted(file string) bool {
	return slices.ContainsFunc(c.parts[file], func(p storage.WARCPart) bool { return c.deleted[p.Segment] })
}

// comparePlace compares what is at one offset of a file.
func (c *filesCheck) comparePlace(at []byte, values [5][]byte) {
	if at == nil {
		return
	}
	page, failure, capture, outcome, noBody := values[0], values[1], values[2], values[3], values[4]
	file, offset := c.path(string(at[:len(at)-9])), binary.BigEndian.Uint64(at[len(at)-8:])
	switch {
	case c.gone[string(at[:len(at)-9])]:
	case capture != nil && page == nil:
		_, url, _ := bytes.Cut(capture, []byte{0})
		c.v.Problem(kindCapture, "%s: its record at %s, offset %d, is lost", url, file, offset)
	case capture != nil && !bytes.Equal(capture, page):
		digest, url, _ := bytes.Cut(capture, []byte{0})
		got, of, _ := bytes.Cut(page, []byte{0})
		c.v.Problem(kindCapture, "%s at %s, offset %d: the store has digest %s, the record is %s of %s",
			url, file, offset, digest, got, of)
	case page != nil && capture == nil && c.holdsDeleted(string(at[:len(at)-9])):
	case page != nil && capture == nil && outcome == nil && noBody != nil:
		// It was stored without its body by a process that was killed: nothing can be made of it, and its URL was due
		// again.
	case page != nil && capture == nil:
		_, url, _ := bytes.Cut(page, []byte{0})
		c.v.Problem(kindCapture, "%s at %s, offset %d: the store does not know this record", url, file, offset)
	case outcome != nil && page == nil && failure == nil:
		c.v.Problem(kindCapture, "the outcome of %s: its record at %s, offset %d, is lost", outcome, file, offset)
	}
	if capture != nil && bytes.Equal(capture, page) {
		c.v.Captures++
	}
}
