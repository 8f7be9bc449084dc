// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/web"
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
		serveCommand(c),
		topCommand(c),
		injectCommand(c),
		dedupURLsCommand(c),
		generateCommand(c),
		freegenCommand(c),
		fetchCommand(c),
		parseCommand(c),
		updatedbCommand(c),
		invertlinksCommand(c),
		linkrankCommand(c),
		mergelinkdbCommand(c),
		mergedbCommand(c),
		splitdbCommand(c),
		dedupCommand(c),
		indexCommand(c),
		recrawlCommand(c),
		deleteCommand(c),
		purgeCommand(c),
		filterCommand(c),
		readdbCommand(c),
		readhostCommand(c),
		readlinksCommand(c),
		readsegCommand(c),
		webgraphCommand(c),
		reportCommand(c),
		checkCommand(c),
		configCommand(c),
		exportCommand(c),
		verifyCommand(c),
		rebuildCommand(c),
		simwebCommand(c),
		benchCommand(c),
		versionCommand(c),
		pdfCommand(c),
	}
}

// noArguments is the rule of commands that take none.
func noArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands(): // it is a misspelled one
		return onlyCommands(cmd, args)
	}
	return &usageError{fmt.Errorf("%s takes no argument, such as %q", cmd.CommandPath(), args[0])}
}

// needs is the rule of commands that take one argument or more.
func needs(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return &usageError{fmt.Errorf("%s needs %s: %s", cmd.CommandPath(), what, cmd.UseLine())}
		}
		return nil
	}
}

// needsOne is the rule of commands that take one argument.
func needsOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return &usageError{fmt.Errorf("%s takes one argument, not %d: %s", cmd.CommandPath(), len(args),
				cmd.UseLine())}
		}
		return needs(what)(cmd, args)
	}
}

// onlyCommands is the rule of commands that are only the heading of others: an argument is a misspelled one.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, of := range cmd.Commands() {
		if of.IsAvailableCommand() {
			names = append(names, of.Name())
		}
	}
	return &usageError{fmt.Errorf("unknown command %q%s", strings.Join(append(pathBelowRoot(cmd), args[0]), " "),
		didYouMean(args[0], names, ""))}
}

// pathBelowRoot is the path of a command without the name of the program.
func pathBelowRoot(cmd *cobra.Command) []string { return strings.Fields(cmd.CommandPath())[1:] }

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
	return f.logged(cmd, o, func(o engine.Options) error { return f.opened(cmd, o, fn) })
}

// logged calls fn with options whose events are logged, between the lines that say that the command begins and how it
// ended.
func (f *flags) logged(cmd *cobra.Command, o engine.Options, fn func(o engine.Options) error) (err error) {
	log, err := f.openLog(cmd)
	if err != nil {
		return err
	}
	defer func() { log.end(err) }()
	o.Events = log.events(o.Events)
	f.warn = o.Events.Warning
	return fn(o)
}

// opened is withOptions without a log.
func (f *flags) opened(cmd *cobra.Command, o engine.Options, fn func(e *engine.Engine) error) error {
	if f.before != nil {
		if err := f.before(); err != nil {
			return err
		}
	}
	return withOptions(o, func(e *engine.Engine) error {
		if err := f.remember(cmd, e); err != nil {
			return err
		}
		return fn(e)
	}, f.logs()...)
}

// withOptions is withEngine with options that were made already. Who looks from another process is shown the logs.
func withOptions(o engine.Options, fn func(e *engine.Engine) error, logs ...web.Log) error {
	e, err := engine.Open(o)
	if o.ReadOnly && errors.Is(err, engine.ErrOlderFormat) {
		o.ReadOnly = false // to upgrade it
		e, err = engine.Open(o)
	}
	if err != nil {
		return err
	}
	end := serveSocket(e, &o, logs)
	return errors.Join(fn(e), end(), e.Close())
}
