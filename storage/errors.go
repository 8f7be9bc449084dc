// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
)

// Errors that callers branch on. Every one is wrapped in a message that names the directory, range or
// key; test for them with errors.Is.
var (
	// ErrLocked: another process, or another Store of this process, has the directory open.
	ErrLocked = errors.New("store is in use")
	// ErrNewerFormat: a newer program wrote the store. Open has not changed it.
	ErrNewerFormat = errors.New("store has a newer format")
	// ErrOlderFormat: the store was written by an older program, and Options.ReadOnly keeps it from being upgraded.
	ErrOlderFormat = errors.New("store was written by an older program")
	// ErrIdentity: the store was created with other settings; errors.As with *IdentityError names the setting.
	ErrIdentity = errors.New("store was made with another setting")
	// ErrCorrupt: bytes on disk are not what was written. When Pebble detects damage, the store accepts
	// no more writes; reads of undamaged blocks continue to work.
	ErrCorrupt = errors.New("store is damaged")
	// ErrNoStore: the directory contains no store, and Options.MustExist or ReadOnly was set.
	ErrNoStore = errors.New("no store")
	// ErrReadOnly: a write to a store opened with Options.ReadOnly.
	ErrReadOnly = errors.New("store is open for reading only")
	// ErrClosed: use of a store or snapshot after Close, of an ingestion after Commit or Abort, or of a
	// sorter after Sort.
	ErrClosed = errors.New("store is closed")
	// ErrFatal: an earlier sync failed. Writes acknowledged before it are safe. No write is accepted after
	// it. Only opening the store again shows which of the unacknowledged writes reached the disk.
	ErrFatal = errors.New("store can't go on")
	// ErrTransition: a segment can't go from its stored state to the given one (SegmentState.CanBecome).
	ErrTransition = errors.New("segment can't change to that state")
	// ErrOrder: the keys given to a TableWriter were not strictly increasing.
	ErrOrder = errors.New("keys are out of order")
)

// IdentityError names the setting of Options.Identity that differs from the one the store was created
// with. errors.Is(err, ErrIdentity) holds.
type IdentityError struct {
	Dir     string // of the store
	Setting string // its name
	Stored  string // value in the store; "" when the store has no such setting
	Given   string // value in Options.Identity
}

// Error names the setting, both values and the two ways to go on.
func (e *IdentityError) Error() string {
	stored := fmt.Sprintf("%q", e.Stored)
	if e.Stored == "" {
		stored = "no value"
	}
	return fmt.Sprintf("%v: %s has %s for %s, this program wants %q: "+
		"start it with the stored setting, or crawl into a new directory",
		ErrIdentity, e.Dir, stored, e.Setting, e.Given)
}

// Is makes errors.Is(err, ErrIdentity) true.
func (e *IdentityError) Is(target error) bool { return target == ErrIdentity }

// classified marks Pebble's own corruption errors, and missing tables, as ErrCorrupt, so that callers need only one
// name.
func classified(err error) error {
	missing := errors.Is(err, os.ErrNotExist)
	if err != nil && !errors.Is(err, ErrCorrupt) && (pebble.IsCorruptionError(err) || missing) {
		return &pebbleError{ErrCorrupt.Error() + ": " + plainText(err), []error{ErrCorrupt, err}}
	}
	return err
}

// openFault is classified for errors of opening: what Pebble does not understand, and files that it misses, are damage.
// Errors of the system, such as too many open files, are not.
func openFault(err error) error {
	var number syscall.Errno
	if err == nil || errors.Is(err, ErrCorrupt) {
		return err
	}
	if errors.As(err, &number) && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// corrupt returns an error that wraps ErrCorrupt.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}

// pebbleError is an error of Pebble with a text for people.
type pebbleError struct {
	text string
	errs []error
}

func (e *pebbleError) Error() string   { return e.text }
func (e *pebbleError) Unwrap() []error { return e.errs }

// plainText is the text of an error of Pebble without what only Pebble's authors know.
func plainText(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n<corruption detail carrier>", "")
	return strings.ReplaceAll(text, "pebble: ", "")
}

// closing turns the error of closing Pebble into one for people. That a reader is open is a mistake of this program.
func closing(err error) error {
	if err == nil || !strings.HasPrefix(err.Error(), "leaked ") {
		return err
	}
	return &pebbleError{"something was still reading the store: a bug in seine, by which nothing is lost", []error{err}}
}
