// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"os"

	"golang.org/x/sys/unix"
)

// forget tells the system to drop a part of a file from its page cache. It is only advice, so errors are ignored.
func forget(f *os.File, from, n int64) {
	_ = unix.Fadvise(int(f.Fd()), from, n, unix.FADV_DONTNEED)
}
