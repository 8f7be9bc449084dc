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
	lock, err := lockOn(name)
	return max(int(lock.Pid), 0), err == nil && lock.Type != syscall.F_UNLCK
}

// abandoned reports whether there is a file on which no process has the lock. As lockHolder, it is not for files of
// this process.
func abandoned(name string) bool {
	lock, err := lockOn(name)
	return err == nil && lock.Type == syscall.F_UNLCK
}

// lockOn returns the lock that another process has on a file.
func lockOn(name string) (lock syscall.Flock_t, err error) {
	f, err := os.Open(name)
	if err != nil {
		return lock, err
	}
	defer f.Close() // open for reading: there is nothing to lose
	lock = syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	return lock, syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock)
}
