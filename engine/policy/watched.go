// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"os"
	"time"
)

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
