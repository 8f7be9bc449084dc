// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seine-crawler/seine/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// opened opens an engine on a new data directory, and closes it at the end of the test.
func opened(t *testing.T, dir string) *engine.Engine {
	t.Helper()
	e, err := engine.Open(engine.Options{Dir: dir, Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, e.Close()) })
	return e
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// started serves an engine on the socket until the end of the test.
func started(t *testing.T, e *engine.Engine, dir string) {
	t.Helper()
	s, err := ServeSocket(e, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, s.Close()) })
}

func dialed(t *testing.T, dir string) *Client {
	t.Helper()
	c, err := Dial(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// TestSocket: the socket has mode 0600 under any umask, is served, replaces one that a killed process left, and is gone
// after Close. The path of the directory may be longer than a socket's.
func TestSocket(t *testing.T) {
	for _, name := range []string{"d", strings.Repeat("long", 30)} {
		dir := filepath.Join(t.TempDir(), name)
		e := opened(t, dir)
		socket := filepath.Join(dir, socketFile)
		stale, err := ListenSocket(dir)
		if err != nil {
			t.Fatal(err)
		}
		must(t, stale.(*socketListener).UnixListener.Close()) // and leaves the file, as kill -9 does
		if _, err := Dial(context.Background(), dir); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dialing a stale socket: %v", err)
		}
		old := syscall.Umask(0)
		s, err := ServeSocket(e, dir, Options{})
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(socket)
		if err != nil || info.Mode() != fs.ModeSocket|0o600 {
			t.Errorf("%v, %v", info, err)
		}
		if left, err := filepath.Glob(socket + "-*"); len(left) > 0 || err != nil {
			t.Error("left:", left, err)
		}
		c := dialed(t, dir)
		if v, err := c.Stats(context.Background(), false); v.URLs != 0 || err != nil {
			t.Error(v, err)
		}
		if _, err := c.Resume(); err != nil { // without a token
			t.Error(err)
		}
		must(t, s.Close())
		if _, err := os.Stat(socket); !errors.Is(err, fs.ErrNotExist) {
			t.Error("the socket is still there")
		}
		if _, err := c.Record("http://a.example/"); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, ErrGone) {
			t.Errorf("asking after the end: %v", err)
		}
	}
}

// TestSocketAtOnce: the socket is gone after a Close that comes before anything was served.
func TestSocketAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	e := opened(t, dir)
	for range 500 {
		s, err := ServeSocket(e, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		must(t, s.Close())
		if _, err := os.Stat(filepath.Join(dir, socketFile)); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal("the socket is still there")
		}
	}
}

// TestSocketOfOthers: another user cannot connect. Only root can try; others see at least that the mode forbids it.
func TestSocketOfOthers(t *testing.T) {
	dir := t.TempDir()
	started(t, opened(t, dir), dir)
	if info, err := os.Stat(filepath.Join(dir, socketFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	if os.Getuid() != 0 {
		return
	}
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	cmd := exec.Command("sh", "-c", `test -w "$0"`, filepath.Join(dir, socketFile))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := cmd.Run(); err == nil {
		t.Error("another user may write to the socket")
	}
}

// counter is a list without an end that counts what is read of it, and notes when reading ends.
type counter struct {
	read atomic.Int64
	done chan struct{}
}

func (n *counter) entries(string) iter.Seq2[engine.InlinkView, error] {
	return func(yield func(engine.InlinkView, error) bool) {
		defer close(n.done)
		link := engine.InlinkView{Anchor: strings.Repeat("a", 1_000)}
		for yield(link, nil) {
			n.read.Add(1)
		}
	}
}

// endless serves a list without an end in place of the links.
func endless(t *testing.T, dir string) *counter {
	t.Helper()
	n := &counter{done: make(chan struct{})}
	l, err := ListenSocket(dir)
	if err != nil {
		t.Fatal(err)
	}
	h := New(opened(t, filepath.Join(dir, "engine")), Options{Local: true})
	links := list[engine.InlinkView]{from: n.entries}
	s := Start(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/links") {
			h.ServeHTTP(w, r)
			return
		}
		links.answer(h, &call{ctx: r.Context(), w: w, r: r})
	}))
	t.Cleanup(func() { must(t, s.Close()) })
	return n
}

// TestServerEnded: Close says why a server ended by itself.
func TestServerEnded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := Start(l, http.NotFoundHandler())
	must(t, l.Close()) // behind the server's back
	s.inside.Wait()
	if err := s.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closing: %v", err)
	}
}

// TestStreamWaits: a stream is read as fast as the client takes it, and ends when the client does.
func TestStreamWaits(t *testing.T) {
	dir := t.TempDir()
	n := endless(t, dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	taken := 0
	for _, err := range dialed(t, dir).Links(ctx) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			break
		}
		if taken++; taken != 10 {
			continue
		}
		last := int64(-1) // nothing is read ahead once the buffers are full
		for n.read.Load() != last {
			last = n.read.Load()
			time.Sleep(200 * time.Millisecond)
		}
		if last > 4_000 {
			t.Errorf("%d entries were read ahead", last)
		}
		cancel()
	}
	<-n.done
	if taken < 10 {
		t.Errorf("%d entries", taken)
	}
}

// TestServerGone: a client learns that the process ended before it had answered.
func TestServerGone(t *testing.T) {
	dir := t.TempDir()
	e := opened(t, dir)
	l, err := ListenSocket(dir)
	if err != nil {
		t.Fatal(err)
	}
	h := New(e, Options{Local: true})
	s := Start(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/links"):
			w.Header().Set("Content-Type", ndjson)
			_, _ = w.Write([]byte(`{"to":"a","from":"b","anchor":""}` + "\n"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		case strings.HasSuffix(r.URL.Path, "/stats"), strings.HasSuffix(r.URL.Path, "/pause"):
			panic(http.ErrAbortHandler)
		}
		h.ServeHTTP(w, r)
	}))
	defer func() { must(t, s.Close()) }()
	c := dialed(t, dir)
	if _, err := c.Stats(context.Background(), false); !errors.Is(err, ErrNotAsked) { // nothing was changed
		t.Errorf("stats: %v", err)
	}
	if _, err := c.Pause(); !errors.Is(err, ErrGone) { // perhaps it paused
		t.Errorf("pause: %v", err)
	}
	if _, err := c.Record("a.example"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("record: %v", err)
	}
	if _, err := c.Stats(context.Background(), false); !errors.Is(err, ErrGone) {
		t.Errorf("stats: %v", err)
	}
	n := 0
	var last error
	for _, err := range c.Links(context.Background()) {
		n++
		last = err
	}
	if n != 2 || !errors.Is(last, ErrGone) || !strings.Contains(last.Error(), "run the command again") {
		t.Errorf("%d entries, %v", n, last)
	}
}

// TestStreamFails: an error in the middle of a stream is its last line, and the client's error is the engine's.
func TestStreamFails(t *testing.T) {
	dir := t.TempDir()
	h := New(opened(t, filepath.Join(dir, "engine")), Options{Local: true})
	l, err := ListenSocket(dir)
	if err != nil {
		t.Fatal(err)
	}
	links := list[engine.InlinkView]{from: func(string) iter.Seq2[engine.InlinkView, error] {
		return func(yield func(engine.InlinkView, error) bool) {
			if yield(engine.InlinkView{To: "a"}, nil) {
				yield(engine.InlinkView{}, engine.ErrDamaged)
			}
		}
	}}
	s := Start(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/links") {
			h.ServeHTTP(w, r)
			return
		}
		links.answer(h, &call{ctx: r.Context(), w: w, r: r})
	}))
	defer func() { must(t, s.Close()) }()
	var errs []error
	for _, err := range dialed(t, dir).Links(context.Background()) {
		errs = append(errs, err)
	}
	if len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], engine.ErrDamaged) ||
		errs[1].Error() != engine.ErrDamaged.Error() {
		t.Error(errs)
	}
}

// TestSocketRace: of two processes that open one data directory, the second finds the socket of the first.
func TestSocketRace(t *testing.T) {
	dir := t.TempDir()
	e := opened(t, dir)
	if _, err := engine.Open(engine.Options{Dir: dir, Memory: 64 << 20}); !errors.Is(err, engine.ErrLocked) {
		t.Fatal(err)
	}
	var op *net.OpError
	if _, err := Dial(context.Background(), dir); !errors.As(err, &op) { // not served yet
		t.Error(err)
	}
	started(t, e, dir)
	if _, err := dialed(t, dir).Stats(context.Background(), true); err != nil {
		t.Error(err)
	}
}
