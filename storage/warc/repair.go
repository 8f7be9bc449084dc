// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// Repair cuts off the torn tail that a crash left at the end of a file, and syncs the file. It returns the length of
// the file afterwards and the number of bytes removed, 0 if the file was whole. Do not call it while the file is being
// written.
//
// The cut is after the last readable record. A request record may remain without its response record; that is correct,
// because the request was made. Damage in the middle, with readable records after it, has another cause than a torn
// write, so Repair never cuts there; a Reader with Resync reports the damage and skips it. A file that does not look
// like a WARC file is refused with a *CorruptError and not changed. A file of nothing but zeros (created, but its data
// was lost) becomes empty.
func Repair(fs FS, name string) (valid int64, removed int64, err error) {
	size, err := fs.Size(name)
	if err != nil {
		return 0, 0, fmt.Errorf("repairing WARC file %q: %w", name, err)
	}
	valid, err = lastRecord(fs, name, size)
	if err != nil || valid == size {
		return valid, 0, err
	}
	if err := fs.Truncate(name, valid); err != nil {
		return valid, 0, fmt.Errorf("cutting WARC file %q from %d to %d bytes: %w", name, size, valid, err)
	}
	f, err := fs.Open(name)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		return valid, size - valid, fmt.Errorf("syncing the repaired WARC file %q: %w", name, err)
	}
	return valid, size - valid, nil
}

// lastRecord returns the offset after the last readable record of a file.
func lastRecord(fs FS, name string, size int64) (valid int64, err error) {
	f, err := fs.Open(name)
	if err != nil {
		return 0, fmt.Errorf("repairing WARC file %q: %w", name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := NewReaderOptions(f, size, ReaderOptions{File: filepath.Base(name), Resync: true})
	for {
		_, err := r.Next()
		var corrupt *CorruptError
		var large *TooLargeError
		switch {
		case err == nil, errors.As(err, &large):
		case err == io.EOF:
			return size, nil // not Valid: blank lines at the end are kept
		case errors.Is(err, ErrTorn):
			return r.Valid(), nil
		case errors.As(err, &corrupt) && r.err == nil:
			// the Reader has skipped the damage: records follow
		default:
			return r.Valid(), fmt.Errorf("repairing WARC file %q: %w", name, err)
		}
	}
}
