// SPDX-License-Identifier: Apache-2.0

//go:build unix

package storage

import (
	"io"
	"os"
	"syscall"
)

// lockedByOther reports whether another process holds the lock on a file that this one may only read.
func lockedByOther(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close() // open for reading: there is nothing to lose
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock)
	return err == nil && lock.Type != syscall.F_UNLCK
}
