// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Errors that callers decide by. Every one arrives wrapped in a message that names the directory,
// range or key; compare with errors.Is.
var (
	// ErrLocked: another process, or another Store of this process, has the directory open.
	ErrLocked = errors.New("store is in use")
	// ErrNewerFormat: the store was written by a newer program. It has not been touched.
	ErrNewerFormat = errors.New("store has a newer format")
	// ErrIdentity: the store was made with other settings; errors.As with *IdentityError tells which.
	ErrIdentity = errors.New("store was made with another setting")
	// ErrCorrupt: bytes on disk are not what was written. Once it is seen the store takes no more
	// writes; reads go on where checksums hold.
	ErrCorrupt = errors.New("store is damaged")
	// ErrNoStore: the directory holds no store, and Options.MustExist or ReadOnly was set.
	ErrNoStore = errors.New("no store")
	// ErrReadOnly: a write to a store that was opened with Options.ReadOnly.
	ErrReadOnly = errors.New("store is open for reading only")
	// ErrClosed: use of a store, scanner or ingestion after its end.
	ErrClosed = errors.New("store is closed")
	// ErrFatal: an earlier failure to make something durable. What was acknowledged before it is
	// safe; nothing is accepted after it, and only opening the store again can tell what arrived.
	ErrFatal = errors.New("store can't go on")
	// ErrTransition: a segment was asked to go from one state to another that is not next to it.
	ErrTransition = errors.New("segment can't change to that state")
	// ErrOrder: keys of a table were not strictly increasing.
	ErrOrder = errors.New("keys are out of order")
)

// IdentityError tells which setting of Options.Identity differs from what the store was made with.
// errors.Is(err, ErrIdentity) holds.
type IdentityError struct {
	Dir     string // of the store
	Setting string
	Stored  string // "" when the store knows no such setting
	Given   string
}

// Error names the setting, both values and the two ways out.
func (e *IdentityError) Error() string {
	stored := fmt.Sprintf("%q", e.Stored)
	if e.Stored == "" {
		stored = "no value"
	}
	return fmt.Sprintf("%v: %s has %s for %s, this program wants %q: start it with the stored setting, or crawl into a new directory",
		ErrIdentity, e.Dir, stored, e.Setting, e.Given)
}

// Is makes errors.Is(err, ErrIdentity) true.
func (e *IdentityError) Is(target error) bool { return target == ErrIdentity }

// classified marks Pebble's own corruption errors as ErrCorrupt, so that callers need to know one
// name only.
func classified(err error) error {
	if err != nil && !errors.Is(err, ErrCorrupt) && pebble.IsCorruptionError(err) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// corrupt makes an ErrCorrupt of its own.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}
