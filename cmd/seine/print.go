// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/seine-crawler/seine/engine"
)

// report prints the report of a phase, as one line or as one JSON object.
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

// lines buffers the output of fn, and flushes it also when fn fails.
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
