// SPDX-License-Identifier: Apache-2.0

//go:build unix

package storage

import (
	"io"
	"os"
	"syscall"
)

// lockHolder returns the process that holds the lock on a file, and whether another one than this holds it. The process
// is 0 if the system doesn't tell: it may be on another machine or in another container. This process must not hold the
// lock itself: it would lose it.
func lockHolder(name string) (pid int, held bool) {
	f, err := os.Open(name)
	if err != nil {
		return 0, false
	}
	defer f.Close() // open for reading: there is nothing to lose
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	err = syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock)
	return max(int(lock.Pid), 0), err == nil && lock.Type != syscall.F_UNLCK
}
