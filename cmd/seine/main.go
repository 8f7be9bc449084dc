// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

// Exit statuses.
const (
	exitOK       = 0
	exitFailure  = 1  // the command could not do its work; one line on stderr says why
	exitUsage    = 2  // wrong flags or arguments
	exitNothing  = 3  // generate: nothing is due
	exitFatal    = 74 // the store failed (sysexits EX_IOERR): start the process again
	exitSignaled = 130
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program, for main and for tests.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(stderr)
	defer stop()
	root := newRoot(&console{in: stdin, out: stdout, err: stderr})
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, engine.ErrNothingDue):
		fmt.Fprintln(stderr, "seine: nothing is due")
		return exitNothing
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "seine: %s\nRun \"seine help\" for usage.\n", oneLine(err))
		return exitUsage
	}
	fmt.Fprintln(stderr, "seine: "+oneLine(err))
	return exitFailure
}

// oneLine puts an error on one line and replaces control bytes: it may quote pages and paths.
func oneLine(err error) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ';'
		case r < ' ' || r == 0x7f:
			return '?'
		}
		return r
	}, err.Error())
}

// usageError is an error in the command line itself; the exit status is 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// interruptible returns a context that the first SIGINT or SIGTERM cancels, for a clean stop. The second signal ends
// the process at once, which loses nothing that was acknowledged.
func interruptible(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			fmt.Fprintln(stderr, "seine: stopping cleanly; press Ctrl-C again to quit now")
			cancel()
		case <-done:
			return
		}
		select {
		case <-signals:
			os.Exit(exitSignaled)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// newRoot returns the command seine with all its commands.
func newRoot(c *console) *cobra.Command {
	root := &cobra.Command{
		Use:           "seine",
		Short:         "web crawler, crawl database and search engine on one machine",
		Version:       engine.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("unknown command %q", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.CompletionOptions.HiddenDefaultCmd = true
	groupUsage(root)
	for _, cmd := range commands(c) {
		root.AddCommand(cmd)
	}
	return root
}
