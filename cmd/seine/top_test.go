// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// TestTopSeesTheEnd: when a crawl ends, top says so, and that is no failure: most crawls end with their process.
func TestTopSeesTheEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	crawl := onTerminal(t, "crawl", "--dir", dir, "--allow-private", "--delay", "100ms", endlessSite(t))
	crawl.shows("keys     p pause")
	crawl.shows("crawling")
	top := onTerminal(t, "top", "--dir", dir)
	top.shows("doing    ")
	crawl.press("q")
	crawl.shows("ended: ")
	top.shows(fmt.Sprintf("seine: the crawl of process %d has ended", crawl.cmd.Process.Pid))
	for _, x := range []*terminal{crawl, top} {
		if err := x.cmd.Wait(); err != nil {
			t.Errorf("%s: %v", x.cmd.Args[1], err)
		}
		x.restored()
	}
}

// TestTopSeesKill: of a crawl that was killed, top does not say that it has ended, but what goes on with it.
func TestTopSeesKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	crawl := onTerminal(t, "crawl", "--dir", dir, "--allow-private", "--delay", "100ms", endlessSite(t))
	crawl.shows("crawling")
	top := onTerminal(t, "top", "--dir", dir)
	top.shows("doing    ")
	if err := crawl.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = crawl.cmd.Wait() // it was killed
	top.shows(fmt.Sprintf("seine: process %d was killed or crashed: \"seine crawl --dir ", crawl.cmd.Process.Pid))
	if err := top.cmd.Wait(); err != nil {
		t.Error(err)
	}
	top.restored()
}

// TestTopPiped: where stdout is no terminal, top prints the crawl once and there, also if stderr is one.
func TestTopPiped(t *testing.T) {
	_, dir := crawledSite(t)
	defer pausedCrawl(t, dir)()
	file := filepath.Join(t.TempDir(), "top")
	x := terminalOf(t, func(seine string) []string {
		return []string{"sh", "-c", `"$0" top --dir "$1" >"$2"`, seine, dir, file}
	})
	var text []byte
	for deadline := time.Now().Add(20 * time.Second); len(text) == 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		text, _ = os.ReadFile(file) // it may not be there yet
	}
	if !strings.HasPrefix(string(text), "paused ") {
		x.press("\x03") // it draws
		t.Errorf("the file has %q", text)
	}
	if err := x.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestTopUncut: only a terminal cuts what top says of a crawl.
func TestTopUncut(t *testing.T) {
	s := engine.Status{Progress: &engine.Progress{Gone: 12, Failures: map[string]uint64{"http_404": 7, "http_410": 5}}}
	const last = "12 gone (404 7   410 5)"
	for width, whole := range map[int]bool{topUncut: true, 160: true, 60: false} {
		text := strings.Join(topLines(&s, nil, width, 0), "\n")
		if strings.Contains(text, last) != whole {
			t.Errorf("in %d columns:\n%s", width, text)
		}
	}
}
