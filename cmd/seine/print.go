// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"

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

// outcome prints the report of a call unless that failed; a failure to send comes after what the report says.
func (c *console) outcome(r engine.Report, err error, asJSON bool) error {
	if err != nil && !errors.Is(err, engine.ErrNotSent) {
		return err
	}
	return errors.Join(c.report(r, asJSON), err)
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

// listFormat is how a list is printed: as lines of text, of JSON, or as CSV.
type listFormat struct{ name string }

func (o *listFormat) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.name, "format", "", "`text|json|csv` (default text)")
}

// check returns an error for a format that does not exist, or one that contradicts --json.
func (o *listFormat) check(f *flags) error {
	switch o.name {
	case "", "text", "csv":
		if f.json && o.name != "" {
			return &usageError{fmt.Errorf("--json and --format %s: give one", o.name)}
		}
	case "json":
		f.json = true
	default:
		return &usageError{fmt.Errorf("--format %q: want text, json or csv", o.name)}
	}
	return nil
}

// row is what a list prints.
type row interface {
	fmt.Stringer
	Cells() []string
}

// printList prints each value; columns are the names of its cells. It stops at the first error.
func printList[T row](c *console, o *listFormat, f *flags, columns []string, values iter.Seq2[T, error]) error {
	if o.name != "csv" {
		return eachLine(c, values, f.json)
	}
	w := csv.NewWriter(c.out)
	if err := w.Write(columns); err != nil {
		return err
	}
	for v, err := range values {
		if err == nil {
			err = w.Write(safeCells(v.Cells()))
		}
		if err != nil {
			w.Flush()
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// safeCells puts an apostrophe before cells that a spreadsheet would take for a formula: they come from the web.
func safeCells(cells []string) []string {
	for i, cell := range cells {
		if cell != "" && strings.IndexByte("=+-@\t\r", cell[0]) >= 0 {
			cells[i] = "'" + cell
		}
	}
	return cells
}
