// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func main() {
	// A sample of the heap profile walks a deep stack. One in 512 KiB, as by default, cost a crawl 7 µs a page.
	runtime.MemProfileRate = 4 << 20
	// The end of run lets go of the signals. One in the moment between that and the exit must not make a clean stop
	// look like a killed one.
	signal.Notify(make(chan os.Signal, 1), stopSignals()...)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program, for main and for tests.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return onScreen(stderr, func(screen *screen) int {
		ctx, stop := interruptible(screen)
		defer stop()
		out := &checkedWriter{w: stdout}
		root := newRoot(&console{in: stdin, out: out, err: screen})
		root.SetArgs(args)
		root.SetIn(stdin)
		root.SetOut(out)
		root.SetErr(screen)
		cmd, err := root.ExecuteContextC(ctx)
		if err == nil {
			err = out.err // help is printed without regard to it
		}
		if err != nil {
			fmt.Fprintln(screen, message(cmd, err))
		}
		return exitStatus(err, cmd.Annotations[dirKey])
	})
}

// checkedWriter remembers the first error of a writer.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if err != nil && c.err == nil {
		c.err = err
	}
	return n, err
}

// Stat is that of the file behind it, if there is one.
func (c *checkedWriter) Stat() (fs.FileInfo, error) {
	if file, ok := c.w.(*os.File); ok {
		return file.Stat()
	}
	return nil, fs.ErrNotExist
}

// onScreen runs a program with a screen on stderr, and gives the terminal back also when a panic ends it.
func onScreen(stderr io.Writer, program func(*screen) int) int {
	screen := newScreen(stderr)
	defer screen.leave()
	return program(screen)
}

// stopSignals are the signals that stop a command cleanly. A hangup is one unless it was ignored at the start, as nohup
// does.
func stopSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// interruptible returns a context that the first signal cancels, for a clean stop. A second SIGINT or SIGTERM ends the
// process at once, which loses nothing that was acknowledged. A hangup never does: a terminal that goes may send two,
// one from the shell and one from the system, and nobody chose the second.
func interruptible(stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, stopSignals()...)
	done := make(chan struct{})
	go func() {
		for chosen := false; ; {
			says := "stopping cleanly"
			select {
			case got := <-signals:
				if got != syscall.SIGHUP {
					if chosen {
						restore(stderr)
						os.Exit(exitSignaled)
					}
					chosen = true
					says += "; press Ctrl-C again to quit now"
				}
			case <-done:
				return
			}
			// Ctrl-C also ends the programs that read what this one writes: it must not end of that, but stop cleanly.
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
			if !viewing(stderr) {
				briefly(func() { fmt.Fprintln(stderr, "seine: "+says) })
			}
			cancel()
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// briefly calls fn and waits until it returns, for a second at most: a terminal or program that takes nothing now must
// not keep a signal from its effect.
func briefly(fn func()) {
	done := make(chan struct{})
	go func() {
		fn()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// newRoot returns the command seine with all its commands.
func newRoot(c *console) *cobra.Command {
	root := &cobra.Command{
		Use:           "seine COMMAND [flags]",
		Short:         "web crawler, crawl database and search engine on one machine",
		Version:       engine.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          onlyCommands,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{flagError(cmd, err)} })
	root.DisableFlagsInUseLine = true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(helpCommand(root))
	helpTexts(root)
	for _, cmd := range commands(c) {
		root.AddCommand(cmd)
	}
	return root
}
