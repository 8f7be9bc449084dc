// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// foreground reports whether this process may change a terminal.
func foreground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}

// suspend stops this process until its shell continues it. Where nobody could, the system does not stop it.
func suspend() {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select { // the call returns before the process stops
	case <-goesOn:
	case <-time.After(time.Second):
	}
}

// readInBackground makes a read of the terminal in the background an error: otherwise it stops the process.
func readInBackground() { signal.Ignore(syscall.SIGTTIN) }

// leaveOnQuit gives the terminal back when SIGQUIT ends this process at once, and then lets it. It works until the
// returned function is called.
func (s *screen) leaveOnQuit() (end func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGQUIT)
	go func() {
		select {
		case got := <-signals:
			s.restore()
			signal.Reset(got)
			_ = syscall.Kill(os.Getpid(), got.(syscall.Signal))
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// interruptSelf does what Ctrl-C does.
func interruptSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGINT) }
