// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// Repair cuts off the torn tail that a crash left at the end of a file, and syncs it. It returns the length of the
// file now and how many bytes were removed: 0 when the file was whole.
//
// The cut is behind the last record that can be read. A request record may stay without the response record that the
// crash took: a request was made, and that is true. Damage in the middle, with readable records behind it, is not the
// work of a torn write alone and is never cut: Repair leaves it, and a Reader with Resync reports it and steps over it.
// A file that does not look like a WARC file at all is refused with a *CorruptError and left as it is; one that is
// empty or all zeros (created, and lost its data) becomes empty.
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

// lastRecord returns the offset behind the last readable record of a file.
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
			return size, nil // blank lines at the end are no reason to cut
		case errors.Is(err, ErrTorn):
			return r.Valid(), nil
		case errors.As(err, &corrupt) && r.err == nil:
			// stepped over: records follow
		default:
			return r.Valid(), fmt.Errorf("repairing WARC file %q: %w", name, err)
		}
	}
}
