// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// ExportCDXJ writes one CDXJ line per capture, sorted, as replay tools want them.
func (e *Engine) ExportCDXJ(ctx context.Context, w io.Writer) error {
	var line []byte
	return e.eachCapture(ctx, func(key []byte, ms int64, c *storage.CDX) error {
		url, err := urlkey.AppendURL(nil, key)
		if err != nil {
			return err
		}
		surt, _, _ := bytes.Cut(key, []byte{' '})
		line = warc.AppendCDXJ(line[:0], &warc.CDXJ{Key: string(surt), Time: time.UnixMilli(ms).UTC(), URL: string(url), MediaType: c.MediaType,
			Status: int(c.HTTPStatus), Digest: string(warc.AppendSHA1(nil, c.Digest)), Location: c.Location})
		_, err = w.Write(line)
		return err
	})
}

func (e *Engine) eachCapture(ctx context.Context, fn func(key []byte, ms int64, c *storage.CDX) error) error {
	sc := e.store.Scan(storage.CDXRange(), nil, nil)
	defer sc.Close()
	var c storage.CDX
	for n := 0; sc.Next(); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		key, ms, err := storage.SplitCDXKey(sc.Key())
		if err == nil {
			err = storage.DecodeCDX(sc.Value(), &c)
		}
		if err != nil {
			return fmt.Errorf("cdx entry %q: %w", sc.Key(), err)
		}
		if err := fn(key, ms, &c); err != nil {
			return err
		}
	}
	return sc.Err()
}

// VerifyReport says what Verify looked at and what it found wrong.
type VerifyReport struct {
	Store     storage.VerifyReport `json:"store"`
	Captures  uint64               `json:"captures"` // cdx entries whose WARC record was read
	Documents uint64               `json:"documents"`
	Problems  uint64               `json:"problems"`
	Examples  []string             `json:"examples,omitempty"`
	Seconds   Took                 `json:"seconds"`
}

func (r VerifyReport) String() string {
	s := fmt.Sprintf("verify: %d captures read, %d documents indexed, %d problems in %.2fs", r.Captures, r.Documents, r.Problems, r.Seconds)
	for _, x := range r.Examples {
		s += "\n  " + x
	}
	return s
}

// problemsQuoted is the number of problems a VerifyReport quotes.
const problemsQuoted = 20

func (r *VerifyReport) problem(format string, args ...any) {
	if r.Problems++; r.Problems <= problemsQuoted {
		r.Examples = append(r.Examples, fmt.Sprintf(format, args...))
	}
}

// Verify checks every cross-reference: within the store, from each cdx entry to a WARC record whose
// payload has its digest, and that every index entry belongs to a page that should be indexed.
func (e *Engine) Verify(ctx context.Context) (VerifyReport, error) {
	start := time.Now()
	var r VerifyReport
	var err error
	if r.Store, err = e.store.Verify(ctx); err != nil {
		return r, err
	}
	for _, p := range r.Store.Problems {
		r.problem("%s %s: %s", p.Where, p.Key, p.What)
	}
	r.Problems = r.Store.Found
	if err := e.verifyCaptures(ctx, &r); err != nil {
		return r, err
	}
	r.Documents = e.index.Stats().Documents
	if _, err := e.index.Digest(ctx); err != nil {
		r.problem("index: %v", err)
	}
	r.Seconds = since(start)
	return r, nil
}

func (e *Engine) verifyCaptures(ctx context.Context, r *VerifyReport) error {
	files := map[string]warc.File{}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	return e.eachCapture(ctx, func(key []byte, _ int64, c *storage.CDX) error {
		r.Captures++
		path := e.warcDir() + "/" + c.Location.File
		size, err := e.warcFS.Size(path)
		if err != nil {
			r.problem("%s: %v", key, err)
			return nil
		}
		f := files[path]
		if f == nil {
			if len(files) >= 64 { // captures come in key order: any file may be next
				for name, open := range files {
					open.Close()
					delete(files, name)
				}
			}
			if f, err = e.warcFS.Open(path); err != nil {
				r.problem("%s: %v", key, err)
				return nil
			}
			files[path] = f
		}
		rec, err := warc.ReadAt(f, size, c.Location)
		if err == nil {
			err = rec.CheckDigests()
		}
		if err != nil {
			r.problem("%s at %s, offset %d: %v", key, path, c.Location.Offset, err)
			return nil
		}
		want := string(warc.AppendSHA1(nil, c.Digest))
		if got := rec.Field("WARC-Payload-Digest"); got != want {
			r.problem("%s at %s, offset %d: digest %s, cdx says %s", key, path, c.Location.Offset, got, want)
		}
		return nil
	})
}
