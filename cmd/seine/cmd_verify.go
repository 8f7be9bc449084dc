// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func verifyCommand(c *console) *cobra.Command {
	var f flags
	var repair bool
	cmd := &cobra.Command{
		Use:   "verify [--repair]",
		Short: "read everything in the data directory and check it; --repair makes the best of damage",
		Long: "Reads every block of the store, every byte of every WARC file and the index, and follows every\n" +
			"cross-reference. It changes nothing, and lists what is wrong by kind, also where other commands refuse\n" +
			"to open the directory.\n\n" +
			"With --repair it then cuts out of the WARC files what is not sound, makes a new store of them, brings\n" +
			"in what can be read of the old one, and verifies the outcome. Pages that are lost are due again. The\n" +
			"damaged store is kept as DIR/store.damaged. The settings should be those of the crawl.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.reading().options(cmd)
			if err != nil {
				return err
			}
			if repair {
				return c.repair(cmd, &f, o)
			}
			r, err := engine.Verify(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := c.report(r, f.json); err != nil {
				return err
			}
			return problems("found", r)
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "mend what is damaged")
	f.report(cmd)
	f.settings(cmd, rebuilding)
	return cmd
}

// repair is verify --repair.
func (c *console) repair(cmd *cobra.Command, f *flags, o engine.Options) error {
	o.ReadOnly = false
	r, err := engine.Repair(cmd.Context(), o)
	if err != nil {
		return err
	}
	if !f.json {
		if err := c.report(r.Found, false); err != nil {
			return err
		}
	}
	if err := c.report(r, f.json); err != nil {
		return err
	}
	return problems("left", r.Left)
}

// problems is the error of a report that has some.
func problems(what string, r engine.VerifyReport) error {
	if r.Problems == 0 {
		return nil
	}
	return fmt.Errorf("verify %s %d problems", what, r.Problems)
}

func rebuildCommand(c *console) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "make the store of a data directory of its WARC files alone",
		Long: "Makes the store of a directory that has WARC files and no store: statuses, schedules, signatures,\n" +
			"links and index. The settings should be those of the crawl. Not in the files, and lost, are seeds that\n" +
			"were never fetched, scores and intervals that seeds were given, and fetchlists. Inject such seeds again.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			r, err := engine.Rebuild(cmd.Context(), o)
			if err != nil {
				return err
			}
			if err := withOptions(o, func(e *engine.Engine) error { return f.remember(cmd, e) }); err != nil {
				return err
			}
			return c.report(r, f.json)
		},
	}
	f.report(cmd)
	f.settings(cmd, rebuilding)
	return cmd
}
