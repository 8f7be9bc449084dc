// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/bench/measure"
	"github.com/seine-crawler/seine/engine/web"
)

// benchLongCommand measures how a crawl goes on.
func benchLongCommand(c *console) *cobra.Command {
	var o measure.LongOptions
	var out, svg string
	cmd := &cobra.Command{
		Use:   "long",
		Short: "measure whether a page of a long crawl costs more than one of a short crawl",
		Long: "Crawls the first pages of a web on loopback and then, into another data directory, all of it.\n" +
			"Shows what a page costs in both, and how far the slowest ten seconds are below the mean. 10^6 pages\n" +
			"take ten minutes or more, and 10 GB of disk.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Binary, err = os.Executable(); err != nil {
				return err
			}
			o.Fetched = fetchedNow
			var lines []measure.Line
			o.Line = func(l measure.Line) { lines = append(lines, l) }
			o.Log = func(s string) { fmt.Fprintln(c.err, "bench: "+s) }
			run, err := measure.Long(cmd.Context(), o)
			if out != "" {
				err = errors.Join(err, writeFile(out, func(f *os.File) error { return measure.WriteLines(f, lines) }))
			}
			if svg != "" && err == nil {
				err = writeFile(svg, func(f *os.File) error {
					_, err := f.WriteString(run.SVG())
					return err
				})
			}
			return errors.Join(err, c.lines(func(w *bufio.Writer) error { return measure.WriteTable(w, lines) }))
		},
	}
	f := cmd.Flags()
	addCount(f, &o.Pages, "pages", 1_000_000, 1, "pages of the web")
	addCount(f, &o.Hosts, "hosts", 10_000, 1, "hosts of the web")
	addCount(f, &o.Short, "short", 60_000, 1, "pages of the short crawl")
	f.StringVar(&svg, "svg", "", "also draw how the long crawl went into this file")
	f.StringVar(&o.Dir, "work-dir", "", "folder for data (default: the system's temporary folder)")
	f.StringVar(&out, "out", "", "also write the results to this file, in the format of go test -bench")
	return cmd
}

// fetchedNow asks the process that crawls into a data directory how many pages it has fetched.
func fetchedNow(ctx context.Context, data string) (pages int, ok bool) {
	c, err := web.Dial(ctx, data)
	if err != nil {
		return 0, false
	}
	s, err := c.Status()
	if err := errors.Join(err, c.Close()); err != nil || s.Progress == nil {
		return 0, false
	}
	return int(s.Progress.Fetched), true
}
