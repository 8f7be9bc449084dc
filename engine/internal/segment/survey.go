// SPDX-License-Identifier: Apache-2.0

package segment

import (
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
// segment, except files of fetchlists, which are whole. Call it once, before the segments are used; without it every
// file counts as one of the segment in its name.
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

// gap looks through a part of a file for the segments in it. owner is the one to which its beginning belongs; 0: it is
// not known, and what is there is none of a segment that counts on it. Of a segment that a crash kept from saying its
// number, the bytes are cut off the end of the file, which last says this is.
func (v *survey) gap(f warc.File, name string, owner uint32, from, to int64, last bool) error {
	start := from
	end := func(at int64) {
		if owner != 0 && at > start {
			v.add(owner, warc.FileInfo{Name: name, Start: start, Size: at - start})
		}
		start = at
	}
	r := warc.NewReaderOptions(f, to, warc.ReaderOptions{File: name, Start: from, Resync: true})
	damaged, whole := int64(-1), 0
	for v.ctx.Err() == nil {
		rec, err := r.Next()
		var corrupt *warc.CorruptError
		var large *warc.TooLargeError
		switch {
		case err == nil:
			whole++
			if number, ok := beginsSegment(rec); ok && number != owner {
				end(rec.Offset)
				owner = number
			}
		case errors.Is(err, io.EOF):
			end(to)
			return nil
		case errors.Is(err, warc.ErrTorn):
			if owner == 0 && whole == 0 && last {
				return warc.Cut(v.s.env.FS, v.s.env.Dir+"/"+name, from)
			}
			end(to)
			return nil
		case errors.As(err, &large):
		case errors.As(err, &corrupt):
			if corrupt.Next < 0 || corrupt.Offset == damaged { // repair says what is wrong with it
				end(to)
				return nil
			}
			damaged = corrupt.Offset
		default:
			return err
		}
	}
	return v.ctx.Err()
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
