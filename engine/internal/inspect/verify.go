// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// Verified says what Verify read and what it found wrong.
type Verified struct {
	Store     storage.VerifyReport
	Captures  uint64 // whose WARC record was read
	Documents uint64 // in the index
	Problems  uint64
	Examples  []string // the first examplesMax problems
	Took      time.Duration
}

func (v *Verified) problem(format string, args ...any) {
	if v.Problems++; v.Problems <= examplesMax {
		v.Examples = append(v.Examples, fmt.Sprintf(format, args...))
	}
}

// Verify checks every cross-reference within the store, that the WARC record of each capture has the digest that the
// store has, and that the index can be read. Damage is a problem in the report. An error means that Verify could not
// finish; the report is then of what it did.
//
// It may run beside a crawl: the store is checked as of one moment, the captures as of a later one.
func (in *Inspect) Verify(ctx context.Context) (v Verified, err error) {
	start := in.env.Now()
	defer func() { v.Took = in.env.Now().Sub(start) }()
	if v.Store, err = in.env.Store.Verify(ctx); err != nil {
		return v, err
	}
	for _, p := range v.Store.Problems {
		v.problem("%s %s: %s", p.Where, p.Key, p.What)
	}
	v.Problems = v.Store.Found
	if err := in.verifyCaptures(ctx, &v); err != nil {
		return v, err
	}
	v.Documents = in.env.Index.Stats().Documents
	if _, err := in.env.Index.Digest(ctx); ctx.Err() != nil {
		return v, ctx.Err()
	} else if err != nil {
		v.problem("index: %v", err)
	}
	return v, nil
}

func (in *Inspect) verifyCaptures(ctx context.Context, v *Verified) error {
	files := openFiles{fs: in.env.FS, open: map[string]warc.File{}}
	defer files.close()
	for c, err := range in.Captures(ctx) {
		if errors.Is(err, storage.ErrCorrupt) {
			v.problem("%v", err) // no capture after it can be read
			return nil
		} else if err != nil {
			return err
		}
		v.Captures++
		path := filepath.Join(in.env.Dir, c.Location.File)
		rec, err := files.read(path, c.Location)
		if err != nil {
			v.problem("%s at %s, offset %d: %v", c.Key, path, c.Location.Offset, err)
			continue
		}
		want := string(warc.AppendSHA1(nil, c.Digest))
		if got := rec.Field("WARC-Payload-Digest"); got != want {
			v.problem("%s at %s, offset %d: digest %s, cdx says %s", c.Key, path, c.Location.Offset, got, want)
		}
	}
	return nil
}

// openFiles are WARC files that are open. Captures come in key order: any file may be next.
type openFiles struct {
	fs   warc.FS
	open map[string]warc.File
}

// read reads a record and checks the digests in its header.
func (o *openFiles) read(path string, at warc.Location) (*warc.Record, error) {
	f := o.open[path]
	if f == nil {
		if len(o.open) >= openFilesMax {
			o.close()
		}
		var err error
		if f, err = o.fs.Open(path); err != nil {
			return nil, err
		}
		o.open[path] = f
	}
	size, err := o.fs.Size(path)
	if err != nil {
		return nil, err
	}
	rec, err := warc.ReadAt(f, size, at)
	if err != nil {
		return nil, err
	}
	return rec, rec.CheckDigests()
}

func (o *openFiles) close() {
	for _, f := range o.open {
		f.Close() // open for reading: there is nothing to lose
	}
	clear(o.open)
}
