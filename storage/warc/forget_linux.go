// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"os"

	"golang.org/x/sys/unix"
)

// forget tells the system that a part of a file need not stay in its cache. That it may not listen is no error.
func forget(f *os.File, from, n int64) {
	_ = unix.Fadvise(int(f.Fd()), from, n, unix.FADV_DONTNEED)
}
