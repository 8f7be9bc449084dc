// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
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

// Captures streams all captures by URL key, those of one URL oldest first. They are valid until the next step.
func (in *Inspect) Captures(ctx context.Context) iter.Seq2[Capture, error] {
	return func(yield func(Capture, error) bool) {
		for e, err := range scan(ctx, in.env.Store, storage.CDXRange(), nil, nil, storage.DecodeCDX) {
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

// ExportCDXJ writes one CDXJ line for each capture, sorted, as replay tools read them. What was written before an
// error stays written.
func (in *Inspect) ExportCDXJ(ctx context.Context, w io.Writer) error {
	var line, url []byte
	for c, err := range in.Captures(ctx) {
		if err == nil {
			url, err = urlkey.AppendURL(url[:0], c.Key)
		}
		if err != nil {
			return fmt.Errorf("exporting captures: %w", err)
		}
		surt, _, _ := bytes.Cut(c.Key, []byte{' '})
		line = warc.AppendCDXJ(line[:0], &warc.CDXJ{
			Key: string(surt), Time: time.UnixMilli(c.Time).UTC(), URL: string(url), MediaType: c.MediaType,
			Status: int(c.HTTPStatus), Digest: string(warc.AppendSHA1(nil, c.Digest)), Location: c.Location,
		})
		if _, err := w.Write(line); err != nil {
			return fmt.Errorf("exporting captures: %w", err)
		}
	}
	return nil
}
