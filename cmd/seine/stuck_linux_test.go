// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSignalsWhileStuck: a signal has its effect also while the terminal takes nothing, as that of a connection that
// hangs: the first one ends the context, a second one the process, which gives the terminal back.
func TestSignalsWhileStuck(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	x := onTerminal(t, "crawl", "--dir", dir, "--allow-private", "--delay", "100ms", endlessSite(t))
	x.shows("keys     p pause")
	flow := func(what int) {
		t.Helper()
		if err := unix.IoctlSetInt(int(x.tty.Fd()), unix.TCXONC, what); err != nil {
			t.Fatal(err)
		}
	}
	flow(unix.TCOOFF)
	x.signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- x.cmd.Wait() }()
	late := time.After(time.Minute)
	for again := time.NewTicker(100 * time.Millisecond); ; {
		select {
		case <-again.C: // the first one may have come before the process was stuck
			_ = x.cmd.Process.Signal(syscall.SIGTERM)
			continue
		case <-late:
			flow(unix.TCOON)
			t.Error("signals do not end it")
			_ = x.cmd.Process.Kill()
			<-ended
		case <-ended:
			if got := x.cmd.ProcessState.ExitCode(); got != exitSignaled {
				t.Errorf("exit status %d", got)
			}
			flow(unix.TCOON)
			x.restored()
		}
		again.Stop()
		return
	}
}

// TestStopsWhileStuck: the first signal ends the context of a command whose stderr takes nothing.
func TestStopsWhileStuck(t *testing.T) {
	from, to := io.Pipe() // nobody reads
	screen := newScreen(to)
	written := make(chan struct{})
	go func() {
		_, _ = screen.Write([]byte("a line\n"))
		close(written)
	}()
	ctx, stop := interruptible(screen)
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Error("it goes on")
	}
	from.Close()
	<-written
	stop()
}

// TestReaderGone: a crawl stops cleanly also where Ctrl-C has ended the program that reads what it writes.
func TestReaderGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(programNamed(t), "crawl", "--dir", dir, "--allow-private", "--delay", "100ms", endlessSite(t))
	cmd.Stdout, cmd.Stderr = to, to
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	to.Close()
	for late := time.Now().Add(time.Minute); !strings.HasPrefix(result(t, dir, "", "top"), "crawling "); {
		if time.Now().After(late) {
			t.Fatal("it does not crawl")
		}
		time.Sleep(10 * time.Millisecond)
	}
	from.Close()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its report could not be written
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); !s.Exited() {
		t.Errorf("wait status %x", s)
	}
	got := result(t, dir, "", "readseg")
	if !strings.Contains(got, "\tindexed\t") || strings.Contains(got, "\topen\t") {
		t.Errorf("segments:\n%s", got)
	}
}

// TestBackground: a crawl with which a shell goes on in the background crawls on when keys are pressed, which are for
// others, and takes keys again when it is in front.
func TestBackground(t *testing.T) {
	dir, next := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "next")
	if err := syscall.Mkfifo(next, 0o600); err != nil {
		t.Fatal(err)
	}
	x := terminalOf(t, func(seine string) []string {
		return []string{"/bin/sh", "-c", `set -m; "$@"; bg; echo hidden; read line <"$0"; fg; echo over`, next,
			seine, "crawl", "--dir", dir, "--allow-private", "--delay", "100ms", endlessSite(t)}
	})
	x.shows("keys     p pause")
	x.press("\x1a")
	x.shows("hidden")
	x.press("x")                                                                    // which nobody reads
	for began, pages := 0, 0; pages < began+10; time.Sleep(50 * time.Millisecond) { // one in 100ms
		text := result(t, dir, "", "top")
		m := regexp.MustCompile(`^crawling .* ([0-9]+) pages`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("it stands still in the background: %s", text)
		}
		if pages, _ = strconv.Atoi(m[1]); began == 0 {
			began = pages
		}
	}
	if err := os.WriteFile(next, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.press("p")
	x.shows("paused")
	x.press("q")
	x.shows("over")
	if err := x.cmd.Wait(); err != nil {
		t.Error(err)
	}
	x.restored()
}
