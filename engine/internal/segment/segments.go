// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"context"
	"fmt"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// Create stores the next segment as open and opens its WARC. The writer must end in Finish, Abandon or Close.
func (s *Segments) Create() (*Writer, error) {
	seg, err := s.number()
	if err != nil {
		return nil, fmt.Errorf("opening a segment: %w", err)
	}
	w := s.newFetch(seg)
	if err := w.open(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// number stores the next segment as open.
func (s *Segments) number() (storage.Segment, error) {
	s.createMu.Lock()
	defer s.createMu.Unlock()
	number, err := s.env.Store.NextSegmentNumber()
	if err != nil {
		return storage.Segment{}, err
	}
	seg := storage.Segment{Number: number, State: storage.SegmentOpen, Created: s.env.Now()}
	return seg, s.env.Store.PutSegment(seg)
}

// Resume opens a segment that exists. It reads back what the WARC files hold and calls each, if not nil, with the key
// of every URL in them, from several goroutines; the key is valid during the call. More is stored into new files. The
// writer must end in Finish, Abandon or Close.
func (s *Segments) Resume(ctx context.Context, seg storage.Segment, each func(key []byte)) (*Writer, error) {
	w := s.newFetch(seg)
	files, _, err := s.readBack(ctx, w, each)
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("reading segment %d back: %w", seg.Number, err)
	}
	w.earlier = files
	if err := w.open(); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// Seal makes the parse records of a segment from its WARC files and seals it. It may run again on a sealed segment that
// was not updated yet, for example after a change of parser. The caller checks the state. After an error the segment is
// as before, but torn tails of its files may be cut off.
//
// Pages that were stored without content cannot be parsed: of an open segment they are left out, so that they are due
// again; for a sealed one the error is ErrNoContent.
func (s *Segments) Seal(ctx context.Context, seg storage.Segment) (Sealed, error) {
	return s.SealWithout(ctx, seg, nil)
}

// SealWithout is Seal that leaves out the URLs of which left, if not nil, says so. It calls left with their keys, from
// several goroutines.
func (s *Segments) SealWithout(
	ctx context.Context, seg storage.Segment, left func(key []byte) bool,
) (Sealed, error) {
	w := s.newWriter(seg)
	w.left = left
	defer w.Close()
	files, torn, err := s.readBack(ctx, w, nil)
	if err != nil {
		return Sealed{}, fmt.Errorf("parsing segment %d: %w", seg.Number, err)
	}
	sealed, err := w.seal(ctx, files)
	sealed.Torn = torn
	return sealed, err
}

// newFetch makes a writer without a WARC for what is fetched.
func (s *Segments) newFetch(seg storage.Segment) *Writer {
	w := s.newWriter(seg)
	if s.env.ParseLater {
		w.later = s.Seal
	}
	return w
}

// newWriter makes a writer without a WARC.
func (s *Segments) newWriter(seg storage.Segment) *Writer {
	sorter := s.env.Sorter
	return &Writer{s: s, seg: seg, links: sorter(foldLast), text: sorter(foldLast), cdx: sorter(foldLast)}
}

// foldLast keeps the later of two values of one key: of a URL that was fetched twice within a segment, which only a
// crash can cause, the later outcome counts.
func foldLast(dst, _, b []byte) []byte { return append(dst, b...) }

// open opens the WARC of a writer.
func (w *Writer) open() (err error) {
	env := &w.s.env
	w.warc, err = warc.NewWriter(warc.WriterOptions{
		FS: env.FS, Dir: env.Dir, Prefix: filePrefix(w.seg.Number), Now: env.Now, Info: env.Info,
	})
	if err != nil {
		return fmt.Errorf("opening the WARC of segment %d: %w", w.seg.Number, err)
	}
	return nil
}
