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
		Args:  args(cobra.NoArgs),
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
	cmd.Flags().StringVar(&format, "format", "cdxj", "what to print: cdxj")
	return cmd
}

func verifyCommand(c *console) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "check every cross-reference between store, WARC files and index",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withEngine(cmd, f.reading(), func(e *engine.Engine) error {
				r, err := e.Inspect().Verify(cmd.Context())
				if err != nil {
					return err
				}
				if err := c.report(r, f.json); err != nil {
					return err
				}
				if n := r.Problems; n > 0 {
					return fmt.Errorf("verify found %d problems", n)
				}
				return nil
			})
		},
	}
	f.settings(cmd, inViews)
	f.report(cmd)
	return cmd
}
