// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"context"
	"errors"
	"fmt"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// Create stores the next segment as open. What is stored in it goes on in the WARC file of the segment before, if that
// has ended and another writer is not closed yet, and otherwise into a new file. The writer must end in Finish, Abandon
// or Close.
func (g *Segments) Create() (*Writer, error) {
	seg, err := g.number()
	if err != nil {
		return nil, fmt.Errorf("opening a segment: %w", err)
	}
	w := g.newFetch(seg)
	w.open()
	return w, nil
}

// number stores the next segment as open.
func (g *Segments) number() (storage.Segment, error) {
	g.createMu.Lock()
	defer g.createMu.Unlock()
	number, err := g.env.Store.NextSegmentNumber()
	if err != nil {
		return storage.Segment{}, err
	}
	seg := storage.Segment{Number: number, State: storage.SegmentOpen, Created: g.env.Now()}
	return seg, g.env.Store.PutSegment(seg)
}

// Resume opens a segment that exists. It reads back what the WARC files hold and calls each, if not nil, with every
// attempt in them. More is stored into new files, which it shares with no other segment. The writer must end in Finish,
// Abandon or Close.
func (g *Segments) Resume(ctx context.Context, seg storage.Segment, each Each) (*Writer, error) {
	w := g.newFetch(seg)
	w.alone = true
	files, _, err := g.readBack(ctx, w, each)
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("reading segment %d back: %w", seg.Number, err)
	}
	w.earlier = files
	w.noted.synced(len(w.noted.places)) // what is read back is on the disk
	w.open()
	return w, nil
}

// Costs calls each with every attempt in the WARC files of a segment that is open and that nobody writes. It changes
// nothing. What cannot be read ends a file: Resume and Seal say what is wrong with it.
func (g *Segments) Costs(ctx context.Context, number uint32, each Each) error {
	files, err := g.partsOf(&storage.Segment{Number: number, State: storage.SegmentOpen})
	for _, f := range files {
		if err == nil {
			err = g.costsOf(ctx, f, each)
		}
	}
	return err
}

// costsOf is Costs for a part of one file.
func (g *Segments) costsOf(ctx context.Context, part warc.FileInfo, each Each) error {
	path := g.env.Dir + "/" + part.Name
	size, err := g.env.FS.Size(path)
	if err != nil {
		return err
	}
	f, err := g.env.FS.Open(path)
	if err != nil {
		return err
	}
	end := min(part.Start+part.Size, size)
	r := warc.NewReaderOptions(f, end, warc.ReaderOptions{File: path, Start: part.Start})
	var key []byte
	for ctx.Err() == nil {
		rec, err := r.Next()
		if err != nil {
			break
		}
		a, ok, err := storedAttempt(rec)
		if err != nil || !ok {
			continue
		}
		key = a.URL.AppendKey(key[:0])
		each(key, a.received(), a.Took)
		if a.Response != nil {
			a.Response.Release()
		}
	}
	return errors.Join(ctx.Err(), f.Close())
}

// Seal makes the parse records of a segment from its WARC files and seals it. It may run again on a sealed segment that
// was not updated yet, for example after a change of parser. The caller checks the state. After an error the segment is
// as before, but torn tails of the files of one that was open may be cut off.
//
// Pages that were stored without content cannot be parsed: of an open segment they are left out, so that they are due
// again; for a sealed one the error is ErrNoContent.
func (g *Segments) Seal(ctx context.Context, seg storage.Segment) (Sealed, error) {
	return g.SealAgain(ctx, seg, nil)
}

// SealAgain is Seal for a store that is made anew; nil is a segment that is sealed for the first time.
func (g *Segments) SealAgain(ctx context.Context, seg storage.Segment, again *Again) (Sealed, error) {
	w := g.newWriter(seg)
	w.again = again
	return g.sealFrom(ctx, w)
}

// sealFrom reads the segment of a new writer back, seals it and closes the writer.
func (g *Segments) sealFrom(ctx context.Context, w *Writer) (Sealed, error) {
	defer w.Close()
	files, torn, err := g.readBack(ctx, w, nil)
	if err != nil {
		return Sealed{}, fmt.Errorf("parsing segment %d: %w", w.seg.Number, err)
	}
	sealed, err := w.seal(ctx, files)
	sealed.Torn = torn
	return sealed, err
}

// newFetch makes a writer without a WARC for what is fetched.
func (g *Segments) newFetch(seg storage.Segment) *Writer {
	w := g.newWriter(seg)
	if g.env.ParseLater {
		w.later = func(ctx context.Context, seg storage.Segment) (Sealed, error) {
			again := g.newWriter(seg)
			again.closed = w.closed
			return g.sealFrom(ctx, again)
		}
	}
	return w
}

// newWriter makes a writer without a WARC. Of a URL that was fetched twice within a segment, which only a crash can
// cause, the later outcome counts.
func (g *Segments) newWriter(seg storage.Segment) *Writer {
	sorter := func() *storage.Sorter { return g.env.Sorter(storage.FoldLast) }
	return &Writer{s: g, seg: seg, noted: &noted{}, links: sorter(), text: sorter(), cdx: sorter()}
}

// open makes a writer one that stores.
func (w *Writer) open() {
	w.stores = true
	w.s.parts.open(w.seg.Number, w.noted)
}
