// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
)

// reportOf is a report as text, without times.
func reportOf(t *testing.T, e *engine.Engine, kind engine.ReportKind, limit int) (lines []string) {
	t.Helper()
	columns := engine.ReportColumns(kind)
	for row, err := range e.Inspect().Report(ctx, kind, limit) {
		if err != nil {
			t.Fatal(err)
		}
		cells := row.Cells()
		if len(cells) != len(columns) || len(strings.Split(row.String(), "\t")) != len(columns) {
			t.Fatalf("%d cells, want %v", len(cells), columns)
		}
		text, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(row))
		err = json.Unmarshal(text, back.Interface())
		if err != nil || !reflect.DeepEqual(back.Elem().Interface(), row) {
			t.Errorf("JSON makes %v of %v: %v", back.Elem(), row, err)
		}
		for i, name := range columns {
			if slices.Contains([]string{"last_fetch", "next_due", "newest", "took_ms", "bytes", "warc_bytes", "score",
				"p50_ms", "p90_ms", "p99_ms"}, name) {
				if cells[i] == "" {
					t.Errorf("%s has no %s", row, name)
				}
				cells[i] = ""
			}
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	return lines
}

// TestReports: the reports say what a crawl of a site with every kind of outcome found.
func TestReports(t *testing.T) {
	t.Parallel()
	s := newStorySite(t)
	e := s.crawlTwice(t)
	a, b := "a.test:"+s.port, "b.test:"+s.port
	for kind, want := range map[engine.ReportKind][]string{
		engine.ReportSeeds:     {s.url("a.test/") + " db_notmodified 200    10 7"},
		engine.ReportHosts:     {a + " 10 7 0 1 2 1    3    ", b + " 1 1 0 0 0 0    0    "},
		engine.ReportDomains:   {"a.test 1 10 7 10 0 3  ", "b.test 1 1 1 1 0 0  "},
		engine.ReportSuffixes:  {"test 2 11 8 11 0 3  "},
		engine.ReportTLDs:      {"test 2 11 8 11 0 3  "},
		engine.ReportProtocols: {"http 1.1 2 20"},
		engine.ReportComplete:  {a + " 10 10 0 100.0", b + " 1 1 0 100.0"},
		engine.ReportTypes:     {"text/html 9 16 "},
		engine.ReportStatuses: {"http_200 OK 7", "http_302 Found 1", "http_304 Not Modified 1", "http_404 Not Found 1",
			"robots_denied  1"},
		engine.ReportFailures: {"http_404 1 1 0 1  " + s.url("a.test/leaves"),
			"robots_denied 1 1 0 1  " + s.url("a.test/denied")},
		engine.ReportTraps: nil,
	} {
		if got := reportOf(t, e, kind, 0); !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", kind, got, want)
		}
		first := want[:min(len(want), 1)]
		if got := reportOf(t, e, kind, 1); !slices.Equal(got, first) {
			t.Errorf("%s, one row\n got %q\nwant %q", kind, got, first)
		}
	}
	for _, err := range e.Inspect().Report(ctx, "gauges", 0) {
		if err == nil || !strings.Contains(err.Error(), "seeds") {
			t.Errorf("an unknown report: %v", err)
		}
	}
}

// TestHostOrders: hosts come in every order that HostOrders names, and in no other: the error names that one and those.
func TestHostOrders(t *testing.T) {
	t.Parallel()
	e := open(t, engine.Options{Dir: dataDir(t)})
	defer mustClose(t, e)
	for _, by := range append(engine.HostOrders(), "") {
		for _, err := range e.Inspect().Hosts(ctx, engine.HostFilter{Top: 1, By: by}) {
			t.Errorf("%q: %v", by, err)
		}
	}
	for _, f := range []engine.HostFilter{{Top: 1, By: "size"}, {By: "size"}, {Host: "a.test", By: "size"}} {
		var got error
		for _, err := range e.Inspect().Hosts(ctx, f) {
			got = err
		}
		if want := `"size": want one of [urls fetched`; got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("%+v: %v, want %s", f, got, want)
		}
	}
}

// TestHostLearned: hostdb has what fetches learned of a host over two crawls: how long answers took, errors by kind,
// protocols, addresses and the sum of its scores. Deleted records leave the sum.
func TestHostLearned(t *testing.T) {
	t.Parallel()
	s := newStorySite(t)
	e := s.crawlTwice(t)
	host := "a.test:" + s.port
	view := func() (v engine.HostView) {
		for h, err := range e.Inspect().Hosts(ctx, engine.HostFilter{Host: host}) {
			if err != nil {
				t.Fatal(err)
			}
			v = h
		}
		score := 0.0
		for r, err := range e.Inspect().Records(ctx, engine.RecordFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(r.URL, s.url("a.test/")) {
				score += r.Score
			}
		}
		if v.Score != score || score == 0 {
			t.Errorf("score %v, want %v", v.Score, score)
		}
		return v
	}
	v := view()
	if v.Latency.Answers != uint64(v.Protocols["http_1_1"]) || v.Latency.P50 < 1 || v.Latency.P99 < v.Latency.P50 {
		t.Errorf("%+v of %v", v.Latency, v.Protocols)
	}
	if want := map[string]uint32{"http_4xx": 1, "robots": 2}; !maps.Equal(v.Errors, want) {
		t.Errorf("errors %v, want %v", v.Errors, want)
	}
	if len(v.Addresses) != 1 || !strings.HasPrefix(v.Addresses[0], "127.0.0.") {
		t.Errorf("addresses %v", v.Addresses)
	}
	if _, err := e.Delete(ctx, s.url("a.test/leaves")); err != nil {
		t.Fatal(err)
	}
	view()
}

// TestReportTraps: a page with parameters that a crawl closed is reported with its counts, and a host of copies as one
// to look at.
func TestReportTraps(t *testing.T) {
	t.Parallel()
	n := &names{hosts: fetch.Hosts{"a.test": nil, "b.test": nil}, asked: map[string]int{}}
	n.serveBy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.Host, "a.test"):
			trapSite(w, r)
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			for i := range 250 {
				fmt.Fprintf(w, `<a href="/f%d/g%d/p">p</a> `, i%5, i)
			}
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>same</title><p>the same everywhere on this host")
		}
	}))
	e := open(t, n.options(dataDir(t)))
	defer mustClose(t, e)
	c := engine.CrawlOptions{Inject: n.seeds("a.test/", "b.test/"), Limits: engine.Limits{MaxPages: 20_000}}
	if _, err := e.Crawl(ctx, c); err != nil {
		t.Fatal(err)
	}
	var rows []engine.TrapRow
	for row, err := range e.Inspect().Report(ctx, engine.ReportTraps, 0) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row.(engine.TrapRow))
	}
	if len(rows) != 2 || !rows[0].Closed || rows[0].Prefix != "a.test:"+n.port+"/tools/calendar?" ||
		rows[0].Pages < 200 || rows[0].URLs < rows[0].Pages || rows[0].Duplicates < rows[0].Pages/2 ||
		rows[1].Closed || rows[1].Prefix != "b.test:"+n.port+"/" || rows[1].Pages != 251 || rows[1].Duplicates != 249 {
		t.Errorf("%+v", rows)
	}
	v, err := e.Inspect().HostStory(ctx, "a.test:"+n.port)
	if err != nil || !slices.Equal(v.Closed, []string{rows[0].Prefix}) {
		t.Errorf("%v, %v", v.Closed, err)
	}
}
