// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestHangup: SIGHUP stops a crawl cleanly, as often as it comes.
func TestHangup(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	x := onTerminal(t, "crawl", "--dir", dir, "--allow-private", "--delay", "100ms", endlessSite(t))
	x.shows("keys     p pause")
	x.signal(syscall.SIGHUP)
	x.shows("stopping cleanly")
	x.signal(syscall.SIGHUP)
	x.signal(syscall.SIGHUP)
	x.shows("ended: it was interrupted: run it again to continue")
	if err := x.cmd.Wait(); err != nil {
		t.Error(err)
	}
	x.restored()
}

// TestTerminalGone: a crawl whose terminal goes stops cleanly, and leaves no open segment.
func TestTerminalGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	x := onTerminal(t, "crawl", "--dir", dir, "--allow-private", "--delay", "100ms", endlessSite(t))
	x.shows("keys     p pause")
	x.keys.Close()
	x.tty.Close()
	_ = x.cmd.Wait() // its report could not be written
	if s := x.cmd.ProcessState.Sys().(syscall.WaitStatus); !s.Exited() {
		t.Errorf("wait status %x", s)
	}
	got := result(t, dir, "", "readseg")
	if !strings.Contains(got, "\tindexed\t") || strings.Contains(got, "\topen\t") {
		t.Errorf("segments:\n%s", got)
	}
}

// TestNohup: a crawl that was started with SIGHUP ignored goes on when it comes.
func TestNohup(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	x := terminalOf(t, func(seine string) []string {
		return []string{"/bin/sh", "-c", `trap "" HUP; exec "$@"`, "sh", seine, "crawl", "--dir", dir,
			"--allow-private", "--delay", "100ms", endlessSite(t)}
	})
	x.shows("keys     p pause")
	x.signal(syscall.SIGHUP)
	x.press("p")
	x.shows("paused")
	x.signal(syscall.SIGHUP)
	x.press("p")
	if before := x.shows("crawling"); strings.Contains(before, "stopping") {
		t.Errorf("it stops: %q", before)
	}
	x.signal(syscall.SIGTERM)
	x.shows("stopping cleanly; press Ctrl-C again")
	if err := x.cmd.Wait(); err != nil {
		t.Error(err)
	}
	x.restored()
}

func (x *terminal) signal(s syscall.Signal) {
	x.t.Helper()
	if err := x.cmd.Process.Signal(s); err != nil {
		x.t.Error(err)
	}
}
