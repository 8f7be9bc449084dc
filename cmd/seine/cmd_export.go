// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func exportCommand(c *console) *cobra.Command {
	var f flags
	var format string
	cmd := &cobra.Command{
		Use:   "export --format cdxj",
		Short: "print an index of the WARC files, for replay tools",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "cdxj" {
				return &usageError{fmt.Errorf("export: --format %q: want cdxj", format)}
			}
			return withEngine(cmd, f.reading(), func(e *engine.Engine) error {
				return c.lines(func(w *bufio.Writer) error { return e.Inspect().ExportCDXJ(cmd.Context(), w) })
			})
		},
	}
	f.settings(cmd, inViews)
	cmd.Flags().StringVar(&format, "format", "cdxj", "what to print: `cdxj`")
	return cmd
}
