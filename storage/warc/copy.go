// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"fmt"
	"io"
)

// CopyRecords appends neighbouring records of another file as they are, byte by byte: length bytes from offset on,
// which must be complete records as a Reader found them. Where they begin now is returned; they stay neighbours. It may
// be called from any goroutine, and errors are those of WriteExchange.
func (w *Writer) CopyRecords(from io.ReaderAt, offset, length, records int64) (Location, error) {
	if length <= 0 || length > 2*(DefaultMaxBlockBytes+MaxHeaderBytes) {
		return Location{}, fmt.Errorf("copying WARC records: %d bytes at offset %d are no records", length, offset)
	}
	members := make([]byte, length)
	if n, err := from.ReadAt(members, offset); n < len(members) {
		return Location{}, fmt.Errorf("copying WARC records of %d bytes at offset %d: %w", length, offset, err)
	}
	file, at, err := w.append(members, records)
	return Location{File: file, Offset: at, Length: length}, err
}
