// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/seine-crawler/seine/engine"
)

// keysHelp is the line of the dashboard that names the keys.
const keysHelp = "  keys     p pause or go on   + - more or fewer fetchers   q stop cleanly"

// foregroundPause is how often a crawl that a shell put into the background looks whether it is in front again.
const foregroundPause = 200 * time.Millisecond

// Control characters that a terminal in raw mode sends in place of signals.
const (
	ctrlC = 3
	ctrlZ = 26
)

// controls are what keys do to a crawl. Others may control it meanwhile, by the API or by "seine crawl --pause". So
// each key goes on from what the crawl does now.
type controls struct {
	e        *engine.Engine
	fetchers int // at the start
	out      io.Writer
	stop     func() // as Ctrl-C
	stopping bool   // a key has said so
	suspend  func() // as Ctrl-Z
}

// press does what a key says. A key that says nothing does nothing.
//
// + and - change the number of fetchers and never the delay: a key must not make a crawl impolite.
func (k *controls) press(key byte) {
	switch key {
	case 'p', 'P', ' ':
		paused, err := k.e.Inspect().Paused()
		switch {
		case err != nil: // the crawl has ended
		case paused:
			err = k.e.Resume()
		default:
			err = k.e.Pause()
		}
		k.note(err)
	case '+', '=':
		n := k.now()
		k.note(k.e.SetConcurrency(n + max(n/2, 1)))
	case '-', '_':
		k.note(k.e.SetConcurrency(max(k.now()*2/3, 1)))
	case 'q', 'Q':
		if !k.stopping { // a second signal would end it at once
			k.stopping = true
			k.stop()
		}
	case ctrlC:
		k.stopping = true
		k.stop()
	case ctrlZ:
		k.suspend()
	}
}

// now is the number of fetchers.
func (k *controls) now() int {
	s, err := k.e.Inspect().Status()
	if err != nil || !s.Running || s.Progress == nil || s.Progress.Fetchers == 0 {
		return k.fetchers
	}
	return s.Progress.Fetchers
}

func (k *controls) note(err error) {
	if err != nil {
		fmt.Fprintln(k.out, "seine: "+oneLine(err))
	}
}

// readKeys reads keys from the terminal until the returned function is called, which gives the terminal back. It does
// nothing unless both stdin and stderr are a terminal and this process is in its foreground: a crawl in the background
// must not touch it.
//
// A panic on another goroutine leaves the terminal in raw mode, as Go calls nothing then; "reset" brings it back.
func (s *screen) readKeys(stdin io.Reader, k *controls) (end func(), ok bool) {
	in, isFile := stdin.(*os.File)
	if !s.isTerminal() || !isFile || !term.IsTerminal(int(in.Fd())) || !foreground(in) {
		return func() {}, false
	}
	// Its own descriptor: closing it ends the read.
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return func() {}, false
	}
	raw := func() bool {
		was, err := term.MakeRaw(int(in.Fd())) // tty.Fd would make its reads uninterruptible
		if err != nil {
			return false
		}
		undo := func() {
			if foreground(in) {
				_ = term.Restore(int(in.Fd()), was)
			}
		}
		s.undo.Store(&undo)
		return true
	}
	readInBackground()
	if !raw() {
		tty.Close()
		return func() {}, false
	}
	endSignals := s.leaveOnQuit()
	ended, done := make(chan struct{}), make(chan struct{})
	inFront := func() bool { return untilForeground(in, ended) && raw() }
	k.suspend = func() {
		s.leave()
		suspend()
		inFront()
	}
	go func() {
		defer close(done)
		var key [1]byte
		for {
			switch n, err := tty.Read(key[:]); {
			case err != nil && !foreground(in):
				s.undo.Store(nil)
				if !inFront() {
					return
				}
			case err != nil || n == 0:
				return
			default:
				k.press(key[0])
			}
		}
	}()
	return func() {
		close(ended)
		endSignals()
		s.leave()
		tty.Close()
		select {
		case <-done:
		case <-time.After(time.Second): // a system whose terminals cannot be polled: the next key ends the read
		}
	}, true
}

// untilForeground waits until this process is in the foreground of a terminal, unless ended is closed before: a shell
// may go on with it in the background, where the terminal and its keys are those of others.
func untilForeground(tty *os.File, ended <-chan struct{}) bool {
	for !foreground(tty) {
		select {
		case <-time.After(foregroundPause):
		case <-ended:
			return false
		}
	}
	return true
}
