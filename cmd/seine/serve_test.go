// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

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
	said, says := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run([]string{"serve", "--dir", dir, "--addr", "127.0.0.1:0"}, nil, io.Discard, says)
		says.Close()
	}()
	lines := bufio.NewScanner(said)
	if !lines.Scan() {
		t.Fatal("the server says nothing")
	}
	address := regexp.MustCompile(`http://[^/]+`).FindString(lines.Text())
	go io.Copy(io.Discard, said)
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
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := <-ended; status != 0 {
		t.Errorf("the server ended with status %d", status)
	}
	if n := indexSegments(t, dir); n != 2 {
		t.Errorf("%d index segments are left", n)
	}
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
