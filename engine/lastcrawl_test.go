// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// TestLastCrawl: a process that opens a directory tells how the last crawl of an earlier one ended: as it should, with
// an error, or not at all, because its process was killed.
func TestLastCrawl(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	hold, arrived := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			close(arrived)
			<-hold
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<p>net")
	}))
	defer s.Close()
	fs := storage.NewCrashableFS()
	open := func(o engine.Options) *engine.Engine {
		t.Helper()
		o.Dir, o.Delay = "/crawl", -1
		e, err := engine.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() }) // at the latest
		return e
	}
	private := engine.Options{FS: fs, AllowPrivate: true}
	check := func(e *engine.Engine, want engine.StopReason, message, alert string, progress bool) {
		t.Helper()
		st, err := e.Inspect().Status()
		if err != nil {
			t.Fatal(err)
		}
		if st.Running || st.Stopped != want ||
			!strings.Contains(st.Error, message) || (message == "") != (st.Error == "") {
			t.Errorf("running %v, stopped %q with %q; want %q with %q",
				st.Running, st.Stopped, st.Error, want, message)
		}
		known := want != "" && want != engine.StopKilled
		if st.Started.IsZero() != (want == "") || st.Ended.IsZero() == known || (st.Progress != nil) != progress {
			t.Errorf("%s: from %v to %v, progress %v", want, st.Started, st.Ended, st.Progress)
		}
		said := ""
		for _, a := range st.Alerts {
			if a.Kind == engine.AlertCrawl {
				said += a.Text
			}
		}
		if (alert == "") != (said == "") || !strings.Contains(said, alert) {
			t.Errorf("%s: the alert %q, want %q", want, said, alert)
		}
	}
	crawl := func(e *engine.Engine, url string) error {
		_, err := e.Crawl(ctx, engine.CrawlOptions{Inject: engine.InjectOptions{URLs: []string{url}}})
		return err
	}

	e := open(private)
	check(e, "", "", "", false)
	if err := crawl(e, s.URL); err != nil {
		t.Fatal(err)
	}
	check(e, engine.StopDone, "", "", true)
	running := make(chan error, 1)
	go func() { running <- crawl(e, s.URL+"/held") }()
	<-arrived
	killed := fs.Crash(0, 1)
	close(hold)
	if err := <-running; err != nil {
		t.Fatal(err)
	}
	check(open(engine.Options{FS: killed, AllowPrivate: true}), engine.StopKilled, "", "was killed", false)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}

	e = open(private)
	check(e, engine.StopDone, "", "", false)
	o := engine.CrawlOptions{Inject: engine.InjectOptions{Files: []string{"/no/such/seeds"}}}
	if _, err := e.Crawl(ctx, o); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the crawl ended with %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	check(open(private), engine.StopFailed, "/no/such/seeds", "the last crawl failed", false)
}
