// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
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
	{exitUsage, "wrong usage: a flag, an argument, no seeds, or no contact"},
	{exitNothing, "nothing is due: no URL for `generate`, no segment for the other phases"},
	{exitNoPage, "`crawl` or `fetch` got nothing: the last line says why"},
	{exitDisk, "the disk is full, or the store failed: mend that, then run it again"},
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

// exitStatus is the exit status of a command that returned err. It is the only place that decides this.
func exitStatus(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage), errors.Is(err, engine.ErrNoContact), errors.Is(err, engine.ErrNoSeed):
		return exitUsage
	case errors.Is(err, engine.ErrNothingDue), errors.Is(err, errNoneDue):
		return exitNothing
	case errors.Is(err, errNoPage):
		return exitNoPage
	case diskFailed(err):
		return exitDisk
	case errors.Is(err, engine.ErrLocked):
		return exitLocked
	}
	return exitFailure
}

// diskFailed reports whether the disk or the store on it is the cause of an error.
func diskFailed(err error) bool {
	for _, cause := range []error{
		engine.ErrDiskLow, storage.ErrFatal, engine.ErrDamaged, syscall.ENOSPC, syscall.EDQUOT, syscall.EIO,
		syscall.EROFS,
	} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// message is what stderr says of an error.
func message(err error) string {
	text := "seine: " + oneLine(err)
	var usage *usageError
	if errors.As(err, &usage) {
		text += "\nRun \"seine help\" for usage."
	}
	return text
}

// oneLine puts an error on one line and replaces control bytes: it may quote pages and paths.
func oneLine(err error) string { return plainLine(err.Error()) }

// plainLine puts a text on one line and replaces control bytes.
func plainLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ';'
		case r < ' ' || r == 0x7f:
			return '?'
		}
		return r
	}, s)
}

// nothingFetched is errNoPage with the cause.
func nothingFetched(c engine.Cause) error { return fmt.Errorf("%w: %s", errNoPage, c) }
