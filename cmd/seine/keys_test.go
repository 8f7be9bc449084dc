// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// terminal is a command on a terminal of its own.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File // the other end
	tty  *os.File
	was  *term.State
	mu   sync.Mutex
	text strings.Builder
}

// onTerminal starts this program on a terminal.
func onTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	return terminalOf(t, func(seine string) []string { return append([]string{seine}, args...) })
}

// programNamed is this program by the name by which TestMain knows that it is the command.
func programNamed(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "seine")
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	return name
}

// terminalOf starts a command, which may run this program, on a terminal.
func terminalOf(t *testing.T, command func(seine string) []string) *terminal {
	t.Helper()
	args := command(programNamed(t))
	x, err := &terminal{t: t, cmd: exec.Command(args[0], args[1:]...)}, error(nil)
	if x.keys, x.tty, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		x.keys.Close()
		x.tty.Close()
	})
	if err := pty.Setsize(x.keys, &pty.Winsize{Rows: 40, Cols: 160}); err != nil {
		t.Fatal(err)
	}
	if x.was, err = term.GetState(int(x.tty.Fd())); err != nil {
		t.Fatal(err)
	}
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = x.tty, x.tty, x.tty
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	// A signal that this process handles has its usual effect in those that it starts, also if these tests run under
	// nohup.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	err = x.cmd.Start()
	signal.Stop(hangups)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := x.keys.Read(buf)
			x.mu.Lock()
			x.text.Write(buf[:n])
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return x
}

// shows waits for a text that is written after the last one that was waited for, and returns what is before it.
func (x *terminal) shows(text string) (before string) {
	x.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		x.mu.Lock()
		before, rest, found := strings.Cut(x.text.String(), text)
		if found {
			x.text.Reset()
			x.text.WriteString(rest)
		}
		x.mu.Unlock()
		if found {
			return before
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.t.Fatalf("the terminal does not show %q but\n%s", text, x.text.String())
	return ""
}

func (x *terminal) press(key string) {
	x.t.Helper()
	if _, err := x.keys.WriteString(key); err != nil {
		x.t.Fatal(err)
	}
}

// restored checks that the terminal is as it was before the command.
func (x *terminal) restored() {
	x.t.Helper()
	now, err := term.GetState(int(x.tty.Fd()))
	if err != nil || !reflect.DeepEqual(now, x.was) {
		x.t.Errorf("the terminal is %+v, it was %+v, %v", now, x.was, err)
	}
}

// endlessSite serves a chain of pages.
func endlessSite(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, `<title>Page</title><p><a href="%sx">next</a> <a href="/missing">missing</a>`, r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// TestKeys: p pauses and goes on, + and - change the number of fetchers, q stops cleanly, and the terminal is given
// back.
func TestKeys(t *testing.T) {
	x := onTerminal(t, "crawl", "--dir", filepath.Join(t.TempDir(), "d"), "--allow-private", "--delay", "100ms",
		"--set", "concurrency=8", endlessSite(t))
	x.shows("keys     p pause")
	x.shows("of 8 busy")
	x.press("p")
	x.shows("paused")
	x.shows("held up  by it is paused")
	x.press("p")
	x.shows("crawling")
	x.press("+")
	x.shows("of 12 busy")
	x.press("x") // says nothing
	x.press("-")
	x.shows("of 8 busy")
	x.press("q")
	x.shows("stopping cleanly")
	x.shows("crawl: ")
	x.shows("ended: it was interrupted: run it again to continue")
	if err := x.cmd.Wait(); err != nil {
		t.Error(err)
	}
	x.restored()
}

// TestQuitTwice: q stops cleanly as often as it is pressed, and Ctrl-C after it counts.
func TestQuitTwice(t *testing.T) {
	signals := 0
	k := &controls{stop: func() { signals++ }}
	for keys, want := range map[string]int{"q": 1, "qQq": 1, "q\x03": 2, "\x03q": 1, "\x03\x03": 2} {
		signals, k.stopping = 0, false
		for _, key := range []byte(keys) {
			k.press(key)
		}
		if signals != want {
			t.Errorf("%q: %d signals, want %d", keys, signals, want)
		}
	}
}

// TestKeysBesideOthers: where another process has paused the crawl, p goes on with it, and + adds to the fetchers that
// somebody has set by the API.
func TestKeysBesideOthers(t *testing.T) {
	dir, at := filepath.Join(t.TempDir(), "d"), httptest.NewUnstartedServer(nil)
	address := at.Listener.Addr().String()
	at.Close()
	x := onTerminal(t, "crawl", "--dir", dir, "--allow-private", "--delay", "100ms", "--set", "concurrency=8",
		"--serve", address, endlessSite(t))
	x.shows("of 8 busy")
	result(t, dir, "", "crawl", "--pause")
	x.shows("held up  by it is paused")
	x.press("p")
	x.shows("crawling")
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	change, err := http.NewRequest("POST", "http://"+address+"/api/v1/crawl/rate", strings.NewReader(`{"fetchers":4}`))
	if err != nil {
		t.Fatal(err)
	}
	change.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	change.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(change)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	answer.Body.Close()
	x.shows("of 4 busy")
	x.press("+")
	x.shows("of 6 busy")
	x.press("q")
	if err := x.cmd.Wait(); err != nil {
		t.Error(err)
	}
	x.restored()
}

// TestTopEnds: Ctrl-C ends what top shows, and neither ends the crawl nor says that it stops.
func TestTopEnds(t *testing.T) {
	_, dir := crawledSite(t)
	e, end := beginPausedCrawl(t, dir)
	defer end()
	x := onTerminal(t, "top", "--dir", dir)
	x.shows("paused ")
	x.press("\x03")
	if err := x.cmd.Wait(); err != nil {
		t.Error(err)
	}
	x.press("the end\n") // the terminal echoes it behind all that top wrote
	if text := x.shows("the end"); strings.Contains(text, "stopping") {
		t.Errorf("top says that something stops: %q", text)
	}
	x.restored()
	if now, err := e.Inspect().Status(); err != nil || !now.Running || now.Stopping {
		t.Errorf("the crawl: %+v, %v", now, err)
	}
}

// TestKeysSignals: a second Ctrl-C and SIGQUIT end the process at once, and give the terminal back.
func TestKeysSignals(t *testing.T) {
	site := endlessSite(t)
	for _, c := range []struct {
		name string
		end  func(x *terminal)
		want func(s syscall.WaitStatus) bool
	}{
		{"Ctrl-C twice", func(x *terminal) {
			x.press("\x03")
			x.shows("press Ctrl-C again")
			x.press("\x03\x03")
		}, func(s syscall.WaitStatus) bool { return s.Exited() && (s.ExitStatus() == 130 || s.ExitStatus() == 0) }},
		{"SIGQUIT", func(x *terminal) {
			if err := x.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
				t.Error(err)
			}
		}, func(s syscall.WaitStatus) bool {
			return s.Exited() && s.ExitStatus() == 2 || s.Signal() == syscall.SIGQUIT
		}},
		{"SIGTERM", func(x *terminal) {
			if err := x.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}, func(s syscall.WaitStatus) bool { return s.Exited() && s.ExitStatus() == 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			x := onTerminal(t, "crawl", "--dir", dir, "--allow-private", "--delay", "100ms", site)
			x.t = t
			x.shows("keys     p pause")
			c.end(x)
			_ = x.cmd.Wait() // the status says more
			if s := x.cmd.ProcessState.Sys().(syscall.WaitStatus); !c.want(s) {
				t.Errorf("wait status %x", s)
			}
			x.restored()
		})
	}
}

// TestNoKeys: a crawl whose stdin is no terminal leaves the terminal alone.
func TestNoKeys(t *testing.T) {
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	defer tty.Close()
	was, _ := term.GetState(int(tty.Fd()))
	if _, ok := newScreen(tty).readKeys(strings.NewReader("q"), &controls{}); ok {
		t.Error("keys are read from a reader")
	}
	if _, ok := newScreen(&strings.Builder{}).readKeys(tty, &controls{}); ok {
		t.Error("keys are read without a terminal to show anything on")
	}
	if _, ok := newScreen(tty).readKeys(tty, &controls{}); ok {
		t.Error("keys are read from a terminal that is not this process's")
	}
	if now, _ := term.GetState(int(tty.Fd())); !reflect.DeepEqual(now, was) {
		t.Error("the terminal was changed")
	}
}

// TestPanicLeaves: a panic that ends the program gives the terminal back on its way.
func TestPanicLeaves(t *testing.T) {
	left := false
	defer func() {
		if recover() != "a bug" || !left {
			t.Error("the terminal was not given back")
		}
	}()
	onScreen(&strings.Builder{}, func(s *screen) int {
		undo := func() { left = true }
		s.undo.Store(&undo)
		panic("a bug")
	})
}

// TestSearchOnTerminal: on a terminal hits have colours, a breadcrumb, and the command of the next page, which works.
// NO_COLOR takes away the colours; what is no terminal gets neither.
func TestSearchOnTerminal(t *testing.T) {
	site, dir := crawledSite(t)
	host := strings.TrimPrefix(site, "http://")
	x := onTerminal(t, "search", "--dir", dir, "--limit", "1", "--", "mesh", "net's", "-nothing")
	_ = x.cmd.Wait() // what it shows says how it went
	x.shows("1. \x1b[1;34m")
	x.shows("\x1b[32m" + host + " › ")
	x.shows("\x1b[1m")
	x.shows("next page: seine search --dir=" + dir + " --limit=1 --offset=1 -- mesh 'net'\\''s' -nothing")
	t.Setenv("NO_COLOR", "1")
	x = onTerminal(t, "search", "--dir", dir, "--limit", "1", "--offset", "1", "mesh", "net's")
	_ = x.cmd.Wait()
	x.shows("2. ")
	x.shows(host)
	x.shows("found in")
	if text := x.text.String(); strings.Contains(text, "\x1b[") {
		t.Errorf("colours in spite of NO_COLOR: %q", text)
	}
	if got := result(t, dir, "", "search", "--limit", "1", "mesh"); strings.ContainsAny(got, "\x1b›") ||
		strings.Contains(got, "next page") {
		t.Errorf("not on a terminal: %q", got)
	}
}
