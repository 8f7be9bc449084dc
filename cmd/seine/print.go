// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

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
