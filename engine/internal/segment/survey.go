// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// fieldSegment is the field of a warcinfo record that says which segment the records behind it belong to, up to the
// next one with such a field. Files of format 12 and before have none: they belong to the segment in their name.
const fieldSegment = "seine-segment"

// take returns a log in which a segment's part is begun: the one that the segment before has left, or a new one. alone
// says that the segment shares no file.
func (g *Segments) take(number uint32, alone bool) (*warc.Writer, error) {
	p, env := &g.parts, &g.env
	prefix, field := filePrefix(number), segmentField(number)
	p.mu.Lock()
	defer p.mu.Unlock()
	for !alone && len(p.free) > 0 {
		log := p.free[0]
		p.free = p.free[1:]
		if log.BeginPart(prefix, field) == nil { // a log with an error takes nothing more
			return log, nil
		}
	}
	log, err := warc.NewWriter(warc.WriterOptions{
		FS: env.FS, Dir: env.Dir, Prefix: prefix, Now: env.Now, Info: env.Info, MaxFileBytes: env.FileBytes,
		MaxFileAge: env.FileAge,
	})
	if err == nil {
		err = log.BeginPart(prefix, field)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the WARC of segment %d: %w", number, err)
	}
	p.logs = append(p.logs, log)
	return log, nil
}

// alone reports whether a file has no part of another segment, and gets none.
func (g *Segments) alone(name string, number uint32) (bool, error) {
	if g.parts.written(name) {
		return false, nil
	}
	g.parts.mu.Lock()
	defer g.parts.mu.Unlock()
	for of, files := range g.parts.at {
		if of != number && slices.ContainsFunc(files, func(f warc.FileInfo) bool { return f.Name == name }) {
			return false, nil
		}
	}
	list, err := g.env.Store.SegmentList()
	others := func(p storage.WARCPart) bool { return p.Segment != number }
	return !slices.ContainsFunc(storage.WARCParts(list)[name], others), err
}

// partsOf returns where a segment is, in the order in which it was written.
func (g *Segments) partsOf(seg *storage.Segment) (files []warc.FileInfo, err error) {
	if seg.State != storage.SegmentOpen {
		for _, f := range seg.WARC {
			files = append(files, warc.FileInfo{Name: f.Name, Start: f.Start, Size: f.Size, Records: int64(f.Records)})
		}
		return files, nil
	}
	g.parts.mu.Lock()
	files, ok := g.parts.at[seg.Number]
	g.parts.mu.Unlock()
	if ok {
		return slices.Clone(files), nil
	}
	names, err := g.Files(seg.Number) // of its own, such as the files of a fetchlist
	for _, name := range names {
		size, serr := g.env.FS.Size(g.env.Dir + "/" + name)
		files, err = append(files, warc.FileInfo{Name: name, Size: size}), errors.Join(err, serr)
	}
	return files, err
}

// Survey finds out where the segments that are not sealed are in the WARC files. list is what the store has. It returns
// the numbers of segments that are in the files and not in the list, in order. It reads what belongs to no sealed
// segment, except files of fetchlists, which are whole. Where the record cannot be read with which a segment begins in
// the middle of a file, what is sound behind it counts as a segment that is open and found nowhere else, or as a new
// one. Call it once, before the segments are used; without it every file counts as one of the segment in its name.
func (g *Segments) Survey(ctx context.Context, list []storage.Segment) (unknown []uint32, err error) {
	v := survey{
		s: g, ctx: ctx, list: map[uint32]*storage.Segment{}, own: storage.WARCParts(list),
		at: map[uint32][]warc.FileInfo{},
	}
	for i := range list {
		v.list[list[i].Number] = &list[i]
	}
	names, err := g.env.FS.List(g.env.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing %s: %w", g.env.Dir, err)
	}
	slices.Sort(names)
	for _, name := range names {
		if number, ok := NumberOf(name); ok {
			if err := v.file(name, number); err != nil {
				return nil, fmt.Errorf("reading %s/%s: %w", g.env.Dir, name, err)
			}
		}
	}
	v.assign()
	g.parts.mu.Lock()
	defer g.parts.mu.Unlock()
	for number, files := range v.at {
		if v.list[number] == nil {
			unknown = append(unknown, number)
		}
		g.parts.note(number, files)
	}
	slices.Sort(unknown)
	return unknown, nil
}

// survey is one run of Survey.
type survey struct {
	s    *Segments
	ctx  context.Context
	list map[uint32]*storage.Segment
	own  map[string][]storage.WARCPart
	at   map[uint32][]warc.FileInfo
	lost []lostPart
}

// lostPart is a part of a file that lacks the record which says of which segment it is.
type lostPart struct {
	warc.FileInfo
	after uint32 // the segment before it, or that of the file's name
}

// file looks at what belongs to no sealed segment.
func (v *survey) file(name string, number uint32) (err error) {
	path := v.s.env.Dir + "/" + name
	size, err := v.s.env.FS.Size(path)
	if err != nil {
		return err
	}
	of, own := v.list[number], v.own[name]
	if of == nil && size == 0 {
		v.add(number, warc.FileInfo{Name: name})
	}
	if len(own) == 0 && of != nil {
		switch {
		case of.State != storage.SegmentOpen: // a purge that was interrupted left it
			return nil
		case of.Batch:
			v.add(number, warc.FileInfo{Name: name, Size: size})
			return nil
		}
	}
	var f warc.File
	defer func() {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	return storage.WARCGaps(own, size, func(from, to int64) error {
		if f == nil {
			if f, err = v.s.env.FS.Open(path); err != nil {
				return err
			}
		}
		owner := uint32(0)
		if from == 0 {
			owner = number
		}
		return v.gap(f, name, owner, from, to, to == size)
	})
}

// gap looks through a part of a file for the segments in it. owner is the one to which its beginning belongs; 0: the
// record there tells. last says that the part is the end of the file.
func (v *survey) gap(f warc.File, name string, owner uint32, from, to int64, last bool) error {
	start := from
	end := func(at int64) error {
		part := warc.FileInfo{Name: name, Start: start, Size: at - start}
		start = at
		switch {
		case part.Size <= 0:
		case owner == 0:
			return v.nobodys(f, part, last && at == to)
		default:
			v.add(owner, part)
		}
		return nil
	}
	r := warc.NewReaderOptions(f, to, warc.ReaderOptions{File: name, Start: from, Resync: true})
	damaged := int64(-1)
	for v.ctx.Err() == nil {
		rec, err := r.Next()
		var corrupt *warc.CorruptError
		var large *warc.TooLargeError
		switch {
		case err == nil:
			if number, ok := beginsSegment(rec); ok && number != owner {
				if err := end(rec.Offset); err != nil {
					return err
				}
				owner = number
			}
		case errors.Is(err, io.EOF), errors.Is(err, warc.ErrTorn):
			return end(to)
		case errors.As(err, &large):
		case errors.As(err, &corrupt):
			if corrupt.Next < 0 || corrupt.Offset == damaged { // repair says what is wrong with it
				return end(to)
			}
			damaged = corrupt.Offset
		default:
			return err
		}
	}
	return v.ctx.Err()
}

// nobodys is for a part that begins in the middle of a file without a record that says of which segment it is: a power
// loss took that, or damage. What is sound in it, a segment that is not sealed has stored. Otherwise the part is what a
// crash kept from becoming one, or a hole that belongs to nobody; at the end of the file it is cut off, unless it is
// nothing that a Writer or a power loss leaves.
func (v *survey) nobodys(f warc.File, part warc.FileInfo, last bool) error {
	path := v.s.env.Dir + "/" + part.Name
	sound, _, err := v.s.scanSound(path, part)
	switch {
	case err != nil:
		return err
	case len(sound) > 0:
		after, _ := NumberOf(part.Name)
		for _, p := range v.own[part.Name] {
			if p.Start < part.Start {
				after = max(after, p.Segment)
			}
		}
		v.lost = append(v.lost, lostPart{part, after})
	case last:
		head := make([]byte, min(part.Size, 2))
		if _, err := f.ReadAt(head, part.Start); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(bytes.Trim(head, "\x00")) == 0 || bytes.HasPrefix([]byte{0x1f, 0x8b}, head) {
			return warc.Cut(v.s.env.FS, path, part.Start)
		}
	}
	return nil
}

// assign gives each lost part to the first segment after the one before it that is open and was found nowhere; if there
// is none, to a new one.
func (v *survey) assign() {
	for _, lost := range v.lost {
		number, next := uint32(0), lost.after+1
		for n, seg := range v.list {
			next = max(next, n+1)
			open := seg.State == storage.SegmentOpen && !seg.Batch && len(v.at[n]) == 0
			if open && n > lost.after && (number == 0 || n < number) {
				number = n
			}
		}
		for n := range v.at {
			next = max(next, n+1)
		}
		if number == 0 {
			number = next
		}
		v.at[number] = []warc.FileInfo{lost.FileInfo}
		v.s.env.Warn(fmt.Errorf("%s/%s: the record at offset %d, which says that a segment begins there, cannot be "+
			"read: what follows it counts as segment %d", v.s.env.Dir, lost.Name, lost.Start, number))
	}
}

// add notes a part of a segment that is not sealed. What else a crash left of one that is sealed is in no part.
func (v *survey) add(number uint32, part warc.FileInfo) {
	if of := v.list[number]; of == nil || of.State == storage.SegmentOpen {
		v.at[number] = append(v.at[number], part)
	}
}

func segmentField(number uint32) warc.Field {
	return warc.Field{Name: fieldSegment, Value: strconv.FormatUint(uint64(number), 10)}
}

// beginsSegment returns the number of the segment that begins with a record.
func beginsSegment(rec *warc.Record) (number uint32, ok bool) {
	if rec.Type != warc.TypeWarcinfo {
		return 0, false
	}
	n, err := strconv.ParseUint(blockField(rec, fieldSegment), 10, 32)
	return uint32(n), err == nil && n > 0
}

// BeginsAt returns the number of the segment that begins at an offset of a file; 0: none does. ok is false if there is
// no record that can be read.
func BeginsAt(f io.ReaderAt, size, offset int64) (number uint32, ok bool) {
	rec, err := warc.NewReaderOptions(f, size, warc.ReaderOptions{Start: offset}).Next()
	if err != nil {
		return 0, false
	}
	number, _ = beginsSegment(rec)
	return number, true
}
