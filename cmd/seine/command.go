// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

// console is where a command reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// commands is the table of commands, in the order in which help shows them.
func commands(c *console) []*cobra.Command {
	return []*cobra.Command{
		initCommand(c),
		crawlCommand(c),
		searchCommand(c),
		injectCommand(c),
		generateCommand(c),
		fetchCommand(c),
		parseCommand(c),
		updatedbCommand(c),
		invertlinksCommand(c),
		dedupCommand(c),
		indexCommand(c),
		recrawlCommand(c),
		deleteCommand(c),
		purgeCommand(c),
		readdbCommand(c),
		readhostCommand(c),
		readlinksCommand(c),
		readsegCommand(c),
		checkCommand(c),
		configCommand(c),
		exportCommand(c),
		verifyCommand(c),
		rebuildCommand(c),
		simwebCommand(c),
		benchCommand(c),
		pdfCommand(c),
	}
}

// args returns rule with its errors as usage errors.
func args(rule cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, a []string) error {
		if err := rule(cmd, a); err != nil {
			return &usageError{fmt.Errorf("%s: %w", cmd.CommandPath(), err)}
		}
		return nil
	}
}

// withEngine opens the engine with the options of the flags, runs fn and closes the engine.
func withEngine(cmd *cobra.Command, f *flags, fn func(e *engine.Engine) error) error {
	o, err := f.options(cmd)
	if err != nil {
		return err
	}
	return withOptions(o, func(e *engine.Engine) error {
		if err := f.remember(cmd, e); err != nil {
			return err
		}
		return fn(e)
	})
}

// withOptions is withEngine with options that were made already.
func withOptions(o engine.Options, fn func(e *engine.Engine) error) error {
	e, err := engine.Open(o)
	if o.ReadOnly && errors.Is(err, engine.ErrOlderFormat) {
		o.ReadOnly = false // to upgrade it
		e, err = engine.Open(o)
	}
	if err != nil {
		return err
	}
	return errors.Join(fn(e), e.Close())
}

// phaseFunc runs one phase on a segment; 0 is the newest segment that the phase applies to, or all of them.
type phaseFunc func(ctx context.Context, e *engine.Engine, segment uint32) (engine.Report, error)

// phaseCommand is a command that runs one phase on one segment and prints its report.
func phaseCommand(c *console, command uses, use, short string, run phaseFunc) *cobra.Command {
	var f flags
	var segment uint32
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withEngine(cmd, &f, func(e *engine.Engine) error {
				r, err := run(cmd.Context(), e, segment)
				if err != nil {
					return err
				}
				return c.report(r, f.json)
			})
		},
	}
	f.settings(cmd, command)
	f.report(cmd)
	cmd.Flags().Uint32Var(&segment, "segment", 0, "segment number (default: the newest that needs it)")
	return cmd
}
