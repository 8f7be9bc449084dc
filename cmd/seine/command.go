// SPDX-License-Identifier: Apache-2.0

package main

import (
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

// screen is stderr, which main has made a screen.
func (c *console) screen() *screen {
	if s, ok := c.err.(*screen); ok {
		return s
	}
	return newScreen(c.err)
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
	return f.withOptions(cmd, o, fn)
}

// withOptions is withEngine with options that f.options made.
func (f *flags) withOptions(cmd *cobra.Command, o engine.Options, fn func(e *engine.Engine) error) error {
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
