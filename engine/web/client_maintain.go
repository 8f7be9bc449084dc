// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// Verify is Inspector.Verify.
func (c *Client) Verify(ctx context.Context) (r engine.VerifyReport, err error) {
	return r, c.post(ctx, "/verify", struct{}{}, &r)
}

// Index is Engine.Index; IndexOptions.Refresh is set.
func (c *Client) Index(ctx context.Context, o engine.IndexOptions) (engine.IndexReport, error) {
	var a IndexAnswer
	body := indexing{
		Segments: o.Segments, MaxSegments: o.MaxSegments, Resend: o.Resend, EveryDocument: o.EveryDocument,
	}
	err := c.post(ctx, "/index", body, &a)
	if err == nil && a.Problem != nil {
		err = a.Problem.asError()
	}
	return a.IndexReport, err
}

// Dedup is Engine.Dedup, in the order of that engine.
func (c *Client) Dedup(ctx context.Context, o engine.DedupOptions) (r engine.DedupReport, err error) {
	return r, c.post(ctx, "/dedup", SegmentNumbers{o.Segments}, &r)
}

// Purge is Engine.Purge.
func (c *Client) Purge(ctx context.Context) (engine.PurgeReport, error) {
	var a PurgeAnswer
	err := c.post(ctx, "/purge", struct{}{}, &a)
	if err == nil && a.Problem != nil {
		err = a.Problem.asError()
	}
	return a.PurgeReport, err
}

// DueSegments is Inspector.DueSegments.
func (c *Client) DueSegments(state storage.SegmentState) ([]uint32, error) {
	var a DueSegments
	err := c.get(c.ctx, "/segments/due", url.Values{"state": {state.String()}}, &a)
	if err == nil && a.Problem != nil {
		err = a.Problem.asError()
	}
	return a.Segments, err
}

// Export writes what an export in a format, cdxj or jsonl, has. What was written before an error stays written.
func (c *Client) Export(ctx context.Context, format string, w io.Writer) error {
	response, err := c.send(ctx, http.MethodGet, apiPath+"/export/"+url.PathEscape(format), nil, nil, "")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return c.refused(ctx, response)
	}
	taken := &takingWriter{to: w}
	if _, err := io.Copy(taken, response.Body); err != nil {
		if taken.err != nil {
			return taken.err
		}
		return c.failed(ctx, err)
	}
	if text := response.Trailer.Get(problemTrailer); text != "" {
		var p Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return c.failed(ctx, err)
		}
		return p.asError()
	}
	return nil
}

// takingWriter remembers the error of a write, to tell it from one of a read.
type takingWriter struct {
	to  io.Writer
	err error
}

func (t *takingWriter) Write(p []byte) (int, error) {
	n, err := t.to.Write(p)
	t.err = err
	return n, err
}
