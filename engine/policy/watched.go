// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// watched is what a file of rules says. It may be asked while Refresh reads the file again.
type watched[T any] struct {
	file  watchedFile // Refresh's own
	parse func(path string, text []byte) (*T, error)
	now   atomic.Pointer[T]
}

// open reads the file for the first time.
func (w *watched[T]) open(path, what string, parse func(path string, text []byte) (*T, error)) error {
	w.file, w.parse = watchedFile{path: path, what: what}, parse
	_, err := w.Refresh()
	return err
}

// Refresh reads the file again if it has changed, and reports whether what it says is new. After an error the
// old rules hold, and the error is not repeated until the file changes again. It must not be called by
// two goroutines at once.
func (w *watched[T]) Refresh() (changed bool, err error) {
	text, err := w.file.changed()
	if text == nil || err != nil {
		return false, err
	}
	value, err := w.parse(w.file.path, text)
	if err != nil {
		return false, err
	}
	w.now.Store(value)
	return true, nil
}

// watchedFile is a file that is read again when it has changed, by one goroutine.
type watchedFile struct {
	path string
	what string // for errors: "URL rules"

	// Of what was read last, good or not.
	tried     time.Time
	triedSize int64
}

// changed returns the file's text when it is another than last time, else nil. A file that is missing after
// it was there is being replaced.
func (w *watchedFile) changed() ([]byte, error) {
	info, err := os.Stat(w.path)
	if err != nil {
		if w.tried.IsZero() {
			return nil, fmt.Errorf("reading %s: %w", w.what, err)
		}
		return nil, nil
	}
	if info.ModTime().Equal(w.tried) && info.Size() == w.triedSize {
		return nil, nil
	}
	w.tried, w.triedSize = info.ModTime(), info.Size()
	text, err := os.ReadFile(w.path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", w.what, err)
	}
	if text == nil {
		text = []byte{}
	}
	return text, nil
}
