// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"fmt"
	"io"
)

// CopyRecords appends neighbouring records of another file as they are, with the mark of this Writer: those of the
// given lengths, in bytes, from offset on, which must be complete records as a Reader found them. Where they begin now
// is returned; they stay neighbours. It may be called from any goroutine, and errors are those of WriteExchange.
func (w *Writer) CopyRecords(from io.ReaderAt, offset int64, lengths ...int64) (Location, error) {
	total := int64(0)
	for _, n := range lengths {
		if n <= 0 || n > DefaultMaxBlockBytes+MaxHeaderBytes {
			return Location{}, fmt.Errorf("copying WARC records: %d bytes at offset %d are no record", n, offset+total)
		}
		total += n
	}
	members := make([]byte, total)
	if n, err := from.ReadAt(members, offset); n < len(members) {
		return Location{}, fmt.Errorf("copying WARC records of %d bytes at offset %d: %w", total, offset, err)
	}
	at := members
	for _, n := range lengths {
		if n >= markedBytes {
			if mark, _ := headerMark(at[:markedBytes]); mark != nil { // no checksum covers it
				copy(at[gzipHeadBytes+2:markedBytes], w.mark)
			}
		}
		at = at[n:]
	}
	file, start, err := w.append(members, int64(len(lengths)))
	return Location{File: file, Offset: start, Length: total}, err
}
