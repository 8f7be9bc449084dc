// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func exportCommand(c *console) *cobra.Command {
	var f flags
	var format string
	cmd := &cobra.Command{
		Use:   "export --format cdxj|jsonl",
		Short: "print an index of the WARC files, for replay tools, or the indexed documents",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "cdxj" && format != "jsonl" {
				return &usageError{fmt.Errorf("export: --format %q: want cdxj or jsonl", format)}
			}
			return f.withReading(cmd, func(s store) error { return s.Export(cmd.Context(), format, c.out) })
		},
	}
	f.settings(cmd, inViews|inExport) // it makes documents as index does
	cmd.Flags().StringVar(&format, "format", "cdxj", "what to print: `cdxj|jsonl`")
	return cmd
}
