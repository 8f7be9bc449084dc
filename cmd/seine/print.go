// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// report prints what a phase did, as a line or as a JSON object.
func (c *console) report(r engine.Report, asJSON bool) error {
	if asJSON {
		return c.object(r)
	}
	_, err := fmt.Fprintln(c.out, r)
	return err
}

// object prints one JSON object on one line.
func (c *console) object(v any) error {
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// lines buffers the output of a command that prints many lines, and flushes it at the end.
func (c *console) lines(fn func(w *bufio.Writer) error) error {
	w := bufio.NewWriterSize(c.out, 64<<10)
	if err := fn(w); err != nil {
		w.Flush()
		return err
	}
	return w.Flush()
}

// jsonLine prints v as one line of JSON.
func jsonLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// when prints a time in milliseconds as people and scripts read it: RFC 3339, or "" for none.
func when(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}
