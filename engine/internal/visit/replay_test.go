// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
)

// after answers with each of some answers in turn, and with the last from then on.
func after(answers ...answer) answer {
	var mu sync.Mutex
	return func(ctx context.Context, r *fetch.Request) *fetch.Response {
		mu.Lock()
		next := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		mu.Unlock()
		return next(ctx, r)
	}
}

// TestReplay: a request whose kept connection was closed is made again, once, whatever it was for. That is no failure
// of the host, and it is counted.
func TestReplay(t *testing.T) {
	stale := broken(fetch.FailStale)
	const page, robots = "http://h0.example/1", "http://h0.example/robots.txt"
	for _, v := range []struct {
		name     string
		url      string
		answers  []answer
		requests int // for url
		replayed uint64
		fetched  uint64 // of five pages
		failed   string
	}{
		{"page", page, []answer{stale, html("x")}, 2, 1, 5, ""},
		{"page, always", page, []answer{stale}, 2, 1, 4, "stale_conn"},
		{"robots.txt", robots, []answer{stale, robotsTxt("")}, 2, 1, 5, ""},
		{"robots.txt, always", robots, []answer{stale}, 2, 1, 0, ""},
		{"redirected robots.txt", "http://other.example/r", []answer{stale, robotsTxt("")}, 2, 1, 5, ""},
		{"redirected robots.txt, always", "http://other.example/r", []answer{stale}, 2, 1, 0, ""},
	} {
		w := newWorld(t, admission.Options{})
		urls := w.site(1, 5)
		if strings.HasPrefix(v.name, "redirected") {
			w.web.set(robots, moved(v.url))
		}
		w.web.set(v.url, after(v.answers...))
		h := NewHosts(w.env)
		r := w.start(h, newList(w, urls...), 2, Limits{})
		c := r.finished()
		if n := w.web.count(v.url); n != v.requests || c.Replayed != v.replayed || c.Fetched != v.fetched {
			t.Errorf("%s: %d requests, %+v", v.name, n, c)
		}
		if v.failed != "" && c.Failures[v.failed] != 1 || v.failed == "" && c.Failed > 0 {
			t.Errorf("%s: %+v", v.name, c)
		}
		if f := w.recalled(h, w.host("h0.example")).Failures; v.failed == "" && v.fetched == 5 && f > 0 {
			t.Errorf("%s: the host has %d failures", v.name, f)
		}
	}
}

// TestNoFiles: while no more files can be opened, nothing is a failure of a host, and robots.txt is not unreachable.
func TestNoFiles(t *testing.T) {
	full := func(context.Context, *fetch.Request) *fetch.Response {
		return &fetch.Response{Failure: fetch.FailFiles, Err: errors.New("too many open files: ulimit -n")}
	}
	for _, url := range []string{"http://h0.example/1", "http://h0.example/robots.txt", "http://other.example/r"} {
		w := newWorld(t, admission.Options{})
		urls := w.site(1, 5)
		then := html("x")
		if !strings.HasSuffix(url, "/1") {
			then = robotsTxt("")
		}
		if strings.Contains(url, "other") {
			w.web.set("http://h0.example/robots.txt", moved(url))
		}
		w.web.set(url, after(full, full, then))
		h := NewHosts(w.env)
		r := w.start(h, newList(w, urls...), 2, Limits{})
		w.until("the pages", func() bool { return r.Counts().Fetched == 5 })
		c := r.finished()
		failures := w.recalled(h, w.host("h0.example")).Failures
		if c.Fetched != 5 || c.Failed != 0 || w.web.count(url) != 3 || failures > 0 {
			t.Errorf("%s: %d requests, %+v", url, w.web.count(url), c)
		}
		if warned := w.warnings(); len(warned) != 1 || !strings.Contains(warned[0], "ulimit -n") {
			t.Errorf("%s: %q", url, warned)
		}
	}
}

// TestReplayWaits: a real server that closes its kept connections as the next request comes never sees two requests
// closer together than the delay.
func TestReplayWaits(t *testing.T) {
	const delay = 60 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var starts []time.Time
	var wg sync.WaitGroup
	head := func(r *bufio.Reader) bool {
		for first := true; ; first = false {
			line, err := r.ReadString('\n')
			if err != nil {
				return false
			}
			if first {
				mu.Lock()
				starts = append(starts, time.Now())
				mu.Unlock()
			}
			if line == "\r\n" {
				return true
			}
		}
	}
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				if head(r) {
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")
					head(r) // read and not answered
				}
			})
		}
	})
	client, err := fetch.NewClient(fetch.Options{UserAgent: "seine-test", AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, admission.Options{})
	w.env.Client = client
	w.delay.Store(int64(delay))
	var urls []string
	for i := range 4 {
		urls = append(urls, fmt.Sprintf("http://%s/%d", l.Addr(), i))
	}
	r := w.start(NewHosts(w.env), newList(w, urls...), 4, Limits{})
	c := r.finished()
	client.Close()
	l.Close()
	wg.Wait()
	// robots.txt and four pages, of which the first met the end of the kept connection.
	if c.Fetched != 4 || c.Failed != 0 || c.Replayed != 1 || len(starts) != 6 {
		t.Errorf("%d requests, %+v", len(starts), c)
	}
	slices.SortFunc(starts, time.Time.Compare)
	for i := 1; i < len(starts); i++ {
		if gap := starts[i].Sub(starts[i-1]); gap < delay {
			t.Errorf("request %d came %s after the one before it, want %s", i, gap, delay)
		}
	}
}
