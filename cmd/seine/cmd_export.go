// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/writers"
)

func exportCommand(c *console) *cobra.Command {
	var f flags
	var format string
	cmd := &cobra.Command{
		Use:   "export --format cdxj|jsonl",
		Short: "print an index of the WARC files, for replay tools, or the indexed documents",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			print := exportCDXJ
			switch format {
			case "cdxj":
			case "jsonl":
				print = exportDocuments
			default:
				return &usageError{fmt.Errorf("export: --format %q: want cdxj or jsonl", format)}
			}
			return withEngine(cmd, f.reading(), func(e *engine.Engine) error {
				return c.lines(func(w *bufio.Writer) error { return print(cmd.Context(), e, w) })
			})
		},
	}
	f.settings(cmd, inViews)
	cmd.Flags().StringVar(&format, "format", "cdxj", "what to print: `cdxj|jsonl`")
	return cmd
}

func exportCDXJ(ctx context.Context, e *engine.Engine, w *bufio.Writer) error {
	return e.Inspect().ExportCDXJ(ctx, w)
}

// exportDocuments prints each document of the index as a line of JSON, as index writers get it.
func exportDocuments(ctx context.Context, e *engine.Engine, w *bufio.Writer) error {
	var line []byte
	return e.Inspect().Documents(ctx, func(c *policy.IndexChange) error {
		line = append(writers.AppendJSON(line[:0], c), '\n')
		_, err := w.Write(line)
		return err
	})
}
