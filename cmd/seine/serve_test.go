// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/web"
)

// web.Start has what "seine serve" listens with read the words that visitors will need.
var _ interface{ Warm(ctx context.Context) } = (*front)(nil)

// TestServeMerges: "seine serve" merges what several crawls left of the index, and finds in it what was there.
func TestServeMerges(t *testing.T) {
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "<title>net</title><p>A net of page%s.", strings.TrimPrefix(r.URL.Path, "/"))
	}))
	t.Cleanup(pages.Close)
	dir := t.TempDir()
	const crawls = 4
	for i := range crawls {
		var out bytes.Buffer
		page := fmt.Sprint(pages.URL, "/", i)
		args := []string{"crawl", "--dir", dir, "--allow-private", "--delay", "0s", "--quiet", page}
		if status := run(args, nil, &out, &out); status != 0 {
			t.Fatal(out.String())
		}
	}
	if n := indexSegments(t, dir); n != crawls {
		t.Fatalf("%d crawls left %d index segments", crawls, n)
	}
	address, end := serves(t, dir)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if n := getText(t, address+"/api/v1/index"); strings.Contains(n, `"segments":2,`) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the index is not merged")
		}
	}
	if text := getText(t, address+"/api/v1/search?q=net"); !strings.Contains(text, `"total":4,`) {
		t.Errorf("the merged index finds %s", text)
	}
	end()
	if n := indexSegments(t, dir); n != 2 {
		t.Errorf("%d index segments are left", n)
	}
}

// serves runs "seine serve" on a data directory until end is called, and returns the address that it prints.
func serves(t *testing.T, dir string) (address string, end func()) {
	t.Helper()
	said, says := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run([]string{"serve", "--dir", dir, "--addr", "127.0.0.1:0"}, nil, io.Discard, says)
		says.Close()
	}()
	for lines := bufio.NewScanner(said); address == ""; {
		if !lines.Scan() {
			t.Fatal("the server says no address")
		}
		address = regexp.MustCompile(`http://[^/]+`).FindString(lines.Text())
	}
	go io.Copy(io.Discard, said)
	return address, func() {
		t.Helper()
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if status := <-ended; status != 0 {
			t.Errorf("the server ended with status %d", status)
		}
	}
}

// TestServeTurns: "seine serve" serves what another process has open, opens the directory itself when that has ended,
// and listens at one address all the time. It says that it is alive whoever has the directory.
func TestServeTurns(t *testing.T) {
	_, dir := crawledSite(t)
	e, err := engine.Open(engine.Options{Dir: dir, AllowPrivate: true, Scope: policy.ScopeHost, MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	beginTurn := func() (endTurn func() error) {
		s, err := web.ServeSocket(e, dir, web.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s.Close
	}
	endTurn := beginTurn()
	address, end := serves(t, dir)
	until := func(what string, is func() bool) {
		t.Helper()
		for late := time.Now().Add(2 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
			getText(t, address+"/healthz")
			if time.Now().After(late) {
				t.Fatal("not yet: " + what)
			}
		}
	}
	answers := func(status int, says string) func() bool {
		return func() bool {
			r, err := http.Get(address + "/api/v1/index")
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			text, err := io.ReadAll(r.Body)
			return err == nil && r.StatusCode == status && strings.Contains(string(text), says)
		}
	}
	getText(t, address+"/api/v1/index") // at once
	for range 2 {                       // it is locked all the time: first nobody serves it, then somebody does
		err := endTurn()
		until("nobody is asked", answers(503, "cannot open it yet"))
		endTurn = beginTurn()
		until("the other one is asked again", answers(200, ""))
		if err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(endTurn(), e.Close()); err != nil {
		t.Error(err)
	}
	until("it has the directory", answers(200, ""))
	if _, err := engine.Open(engine.Options{Dir: dir, MustExist: true}); !errors.Is(err, engine.ErrLocked) {
		t.Errorf("it answers without the directory: %v", err)
	}
	end()
}

func indexSegments(t *testing.T, dir string) int {
	t.Helper()
	e, err := engine.Open(engine.Options{Dir: dir, MustExist: true, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	stats, err := e.Inspect().IndexStats()
	if err != nil {
		t.Fatal(err)
	}
	return stats.Segments
}

func getText(t *testing.T, address string) string {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", address, text, err)
	}
	return string(text)
}

// TestServeToken: the address that a server prints opens a session, whatever the token is that its owner has written.
func TestServeToken(t *testing.T) {
	dir := t.TempDir()
	e, err := engine.Open(engine.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("a+b/c= &d#e%f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var says bytes.Buffer
	c := &console{err: newScreen(&says)}
	end, err := c.serve(e, dir, "127.0.0.1:0", web.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(strings.TrimSpace(says.String()), "open ")
	stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if r, err := stay.Get(address); err != nil {
		t.Error(err)
	} else if r.Body.Close(); r.StatusCode != http.StatusSeeOther || len(r.Cookies()) != 1 {
		t.Errorf("%s: %s, %v", address, r.Status, r.Cookies())
	}
	stay.CloseIdleConnections()
	if err := end(); err != nil {
		t.Error(err)
	}
}

// TestServeTaken: where nobody can listen, the error says what to do.
func TestServeTaken(t *testing.T) {
	taken := httptest.NewServer(nil)
	defer taken.Close()
	at := taken.Listener.Addr().String()
	_, err := (&console{}).serve(nil, t.TempDir(), at, web.Options{})
	says := fmt.Sprint(err)
	if !strings.Contains(says, at) || !strings.Contains(says, "with port 0 it is any free one") {
		t.Error(says)
	}
}
