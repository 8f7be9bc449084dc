// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// Capture is one response in a WARC file.
type Capture struct {
	Key  []byte // of the URL; valid until the next step
	Time int64  // ms since 1970
	*storage.CDX
}

// Captures streams all captures in sealed segments by URL key, those of one URL oldest first. They are valid until the
// next step.
func (in *Inspect) Captures(ctx context.Context) iter.Seq2[Capture, error] {
	return captures(scan(ctx, in.env.Store, storage.CDXRange(), nil, nil, storage.DecodeCDX))
}

func captures(rows iter.Seq2[entry[storage.CDX], error]) iter.Seq2[Capture, error] {
	return func(yield func(Capture, error) bool) {
		for e, err := range rows {
			var c Capture
			if err == nil {
				c.CDX = e.value
				c.Key, c.Time, err = storage.SplitCDXKey(e.key)
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// rowsWithUnsealed streams cdx as it will be when all is sealed that is fetched now: visitsOf for all URLs, in the same
// order of looks. What is not sealed is sorted first.
func (in *Inspect) rowsWithUnsealed(ctx context.Context) iter.Seq2[entry[storage.CDX], error] {
	return func(yield func(entry[storage.CDX], error) bool) {
		sorter := storage.NewSorter(storage.SorterOptions{Dir: in.env.Store.SortDir(), FS: in.env.SortFS})
		defer sorter.Close()
		var err error
		if in.env.UnsealedCaptures != nil {
			err = in.env.UnsealedCaptures(ctx, sorter.Add)
		}
		snapshot := in.env.Store.Snapshot()
		defer snapshot.Close()
		rows := unsealedRows{open: map[uint32]bool{}}
		list, failed := snapshot.SegmentList()
		for _, seg := range list {
			rows.open[seg.Number] = seg.State == storage.SegmentOpen
		}
		if err = errors.Join(err, failed); err == nil {
			rows.run, err = sorter.Sort()
		}
		if err != nil {
			yield(entry[storage.CDX]{}, err)
			return
		}
		defer rows.run.Close()
		more := rows.next()
		for e, err := range scan(ctx, snapshot, storage.CDXRange(), nil, nil, storage.DecodeCDX) {
			for ; err == nil && more && bytes.Compare(rows.run.Key(), e.key) < 0; more = rows.next() {
				if !yield(entry[storage.CDX]{rows.run.Key(), &rows.row}, nil) {
					return
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		for ; more; more = rows.next() {
			if !yield(entry[storage.CDX]{rows.run.Key(), &rows.row}, nil) {
				return
			}
		}
		if err := errors.Join(rows.err, rows.run.Err()); err != nil {
			yield(entry[storage.CDX]{}, err)
		}
	}
}

// unsealedRows are sorted captures of segments, of which those count that are open.
type unsealedRows struct {
	run  *storage.Run
	open map[uint32]bool
	row  storage.CDX
	err  error
}

func (r *unsealedRows) next() bool {
	for r.err == nil && r.run.Next() {
		if r.err = storage.DecodeCDX(r.run.Value(), &r.row); r.err == nil && r.open[r.row.Segment] {
			return true
		}
	}
	return false
}

// ExportCDXJ writes one CDXJ line for each capture, sorted, as replay tools read them. What was written before an
// error stays written.
func (in *Inspect) ExportCDXJ(ctx context.Context, w io.Writer) error {
	sorter := storage.NewSorter(storage.SorterOptions{Dir: in.env.Store.SortDir(), FS: in.env.SortFS})
	defer sorter.Close()
	var line, url []byte
	for c, err := range captures(in.rowsWithUnsealed(ctx)) {
		if err == nil {
			url, err = urlkey.AppendURL(url[:0], c.Key)
		}
		if err == nil { // many URLs may share a key, so the order of the store is another
			line = warc.AppendCDXJ(line[:0], &warc.CDXJ{
				Key: string(warc.AppendSURT(nil, string(url))), Time: time.UnixMilli(c.Time).UTC(), URL: string(url),
				MediaType: c.MediaType, Status: int(c.HTTPStatus), Digest: string(warc.AppendSHA1(nil, c.Digest)),
				Location: c.Location,
			})
			err = sorter.Add(line, nil)
		}
		if err != nil {
			return fmt.Errorf("exporting captures: %w", err)
		}
	}
	run, err := sorter.Sort()
	if err != nil {
		return fmt.Errorf("exporting captures: %w", err)
	}
	defer run.Close()
	for n := 0; run.Next(); n++ {
		if n%contextEvery == 0 {
			err = ctx.Err()
		}
		if err == nil {
			_, err = w.Write(run.Key())
		}
		if err != nil {
			return fmt.Errorf("exporting captures: %w", err)
		}
	}
	if err := run.Err(); err != nil {
		return fmt.Errorf("exporting captures: %w", err)
	}
	return nil
}
