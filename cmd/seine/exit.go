// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Exit statuses. exitMeanings says what they mean, here and in the README.
const (
	exitOK       = 0
	exitFailure  = 1
	exitUsage    = 2
	exitNothing  = 3
	exitNoPage   = 4
	exitDisk     = 74 // sysexits.h: EX_IOERR
	exitLocked   = 75 // sysexits.h: EX_TEMPFAIL
	exitSignaled = 130
)

// exitMeanings is the table of exit statuses.
var exitMeanings = []struct {
	status  int
	meaning string
}{
	{exitOK, "done"},
	{exitFailure, "failed: the last line says why"},
	{exitUsage, "wrong usage: an argument, a flag, a setting, a file that one of them names, no seeds, or no contact"},
	{exitNothing, "nothing is due: no URL for `generate`, no segment for the other phases"},
	{exitNoPage, "`crawl` or `fetch` got nothing: the last line says why"},
	{exitDisk, "the disk is full or takes no writes, or the store failed: mend that, then run it again"},
	{exitLocked, "another process uses the data directory"},
	{exitSignaled, "a second Ctrl-C"},
}

// usageError is an error in the command line itself.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// Errors that only this program has.
var (
	// errNoneDue: a phase found no segment that it could take.
	errNoneDue = errors.New("nothing is due")
	// errNoPage: a crawl or fetch got nothing. Its report has been printed.
	errNoPage = errors.New("nothing could be fetched")
)

// exitStatus is the exit status of a command that ran on a data directory and returned err; dir is "" if it had none.
// It is the only place that decides this.
func exitStatus(err error, dir string) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage), errors.Is(err, engine.ErrNoContact), errors.Is(err, engine.ErrNoSeed),
		errors.Is(err, engine.ErrNoPart), noURL(err):
		return exitUsage
	case errors.Is(err, engine.ErrNothingDue), errors.Is(err, errNoneDue):
		return exitNothing
	case errors.Is(err, errNoPage):
		return exitNoPage
	case diskFailed(err), dir != "" && notPermitted(err, dir):
		return exitDisk
	case errors.Is(err, engine.ErrLocked), errors.Is(err, engine.ErrBusy):
		return exitLocked
	}
	return exitFailure
}

// noURL reports whether the cause of an error is a text that is no URL, target or host: what a person typed. A damaged
// store may have such texts, too.
func noURL(err error) bool {
	var wrong *urlkey.Error
	return errors.As(err, &wrong) && !errors.Is(err, engine.ErrDamaged)
}

// diskFailed reports whether the disk or the store on it is the cause of an error.
func diskFailed(err error) bool {
	for _, cause := range []error{
		engine.ErrDiskLow, storage.ErrFatal, engine.ErrDamaged, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG,
		syscall.EIO, syscall.EROFS,
	} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// notPermitted reports whether the system forbids what was tried with the data directory, a file in it, or a folder
// that it needs above it.
func notPermitted(err error, dir string) bool {
	if !errors.Is(err, fs.ErrPermission) {
		return false
	}
	names := []string{}
	var path *fs.PathError
	if errors.As(err, &path) {
		names = append(names, path.Path)
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		names = append(names, link.Old, link.New)
	}
	return slices.ContainsFunc(names, func(name string) bool { return isBelow(dir, name) || isBelow(name, dir) })
}

// isBelow reports whether a name is that of a folder or of what is in it.
func isBelow(folder, name string) bool {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return false
	}
	if name, err = filepath.Abs(name); err != nil {
		return false
	}
	way, err := filepath.Rel(folder, name)
	return err == nil && filepath.IsLocal(way)
}

// message is what stderr says of an error of a command.
func message(cmd *cobra.Command, err error) string {
	text := oneLine(err)
	if errors.Is(err, engine.ErrDamaged) && !strings.Contains(text, "\"seine ") {
		text += ": \"seine verify\" lists all that is wrong, \"seine verify --repair\" makes the best of what is left"
	}
	if errors.Is(err, engine.ErrLocked) && !strings.Contains(text, "\"seine ") {
		text += whoHasIt(cmd.Annotations[dirKey])
	}
	text = "seine: " + advice(cmd, text)
	var usage *usageError
	if errors.As(err, &usage) {
		help := []string{"seine", "help"}
		if cmd.Name() != "help" {
			help = append(help, pathBelowRoot(cmd)...)
		}
		text += fmt.Sprintf("\nRun %q for usage.", strings.Join(help, " "))
	}
	return text
}

// oneLine puts an error on one line and replaces control bytes: it may quote pages and paths. It says of Ctrl-C what
// people say.
func oneLine(err error) string {
	return plainLine(strings.ReplaceAll(err.Error(), context.Canceled.Error(), "it was interrupted"))
}

// plainLine puts a text on one line and replaces control bytes.
func plainLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ReplaceAll(s, "\n", "; "))
}

// nothingFetched is errNoPage with the cause.
func nothingFetched(c engine.Cause) error { return fmt.Errorf("%w: %s", errNoPage, c) }
