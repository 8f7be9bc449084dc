// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// fullStatus has something of everything that metrics are made of.
var fullStatus = engine.Status{
	Running: true,
	Progress: &engine.Progress{
		Failures: map[string]uint64{"http_404": 1}, Stages: engine.StageCPU{{Stage: "fetch", Seconds: 1}},
		Cause: engine.Cause{Kind: engine.CauseNone},
	},
	Fetchers: []engine.FetcherCount{{Doing: engine.DoingIdle, Count: 1}},
	Alerts: []engine.Alert{
		{Kind: engine.AlertWriter, Level: engine.AlertLook, Text: "a"}, // of two index writers
		{Kind: engine.AlertWriter, Level: engine.AlertLook, Text: "b"},
		{Kind: engine.AlertDiskSilent, Level: engine.AlertBroken},
		{Kind: engine.AlertDiskSilent, Level: engine.AlertLook},
	},
	Memory: engine.MemoryStatus{Shares: []engine.MemoryShare{{Name: "cache"}}},
	Store: engine.StoreStatus{
		AsOf: time.Unix(1, 0), URLs: map[storage.Status]uint64{storage.StatusFetched: 1},
		Segments: map[storage.SegmentState]int{storage.SegmentOpen: 1}, Ranges: []engine.RangeBytes{{Name: "crawldb"}},
	},
}

// fullRegistry has all metrics that /metrics can have.
func fullRegistry() *prometheus.Registry {
	m := newMetrics(func() (engine.Status, error) { return fullStatus, nil })
	m.observe("search", 200, time.Now())
	m.kept.WithLabelValues("kept")
	return m.registry
}

// TestMetricNames: testdata/metrics.txt lists the metrics with their types and labels. Dashboards and alert rules use
// them, so a line may be added there, and none changed.
func TestMetricNames(t *testing.T) {
	families, err := fullRegistry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "seine_") {
			continue // those of Go and of the process are not ours
		}
		labels := map[string]bool{}
		for _, l := range f.Metric[0].Label {
			labels[l.GetName()] = true
		}
		fmt.Fprintf(&text, "%s %s {%s} %s\n", f.GetName(), strings.ToLower(f.GetType().String()),
			strings.Join(slices.Sorted(maps.Keys(labels)), ","), f.GetHelp())
	}
	name := filepath.Join("testdata", "metrics.txt")
	if *rewrite {
		must(t, os.WriteFile(name, []byte(text.String()), 0o644))
	}
	if want, err := os.ReadFile(name); err != nil || string(want) != text.String() {
		t.Errorf("metrics have changed (%v):\n%s", err, text.String())
	}
}

// TestMetrics: /metrics has the engine, requests, Go's runtime and the process.
func TestMetrics(t *testing.T) {
	s := newSite(t)
	s.ask("GET", "/search?q=mesh", "")
	s.ask("GET", "/search", "")
	s.api = strings.TrimSuffix(s.api, apiPath)
	for path, want := range map[string]int{"/?q=mesh": 200, "/": 200, "/atom.xml?q=net": 200, "/atom.xml?q=": 400} {
		if status, _, _ := s.ask("GET", path, ""); status != want {
			t.Errorf("GET %s: %d", path, status)
		}
	}
	status, _, text := s.ask("GET", "/metrics", "")
	for _, want := range []string{
		"\nseine_crawl_running 0\n", "\nseine_index_documents 2\n", `seine_crawl_fetches_total{outcome="fetched"} 3`,
		`seine_http_request_duration_seconds_count{operation="search",status="200"} 1`,
		`seine_http_request_duration_seconds_count{operation="search",status="400"} 1`,
		`seine_http_request_duration_seconds_count{operation="search_page",status="200"} 1`,
		`seine_http_request_duration_seconds_count{operation="feed",status="400"} 1`,
		`seine_http_request_duration_seconds_count{operation="feed",status="200"} 1`,
		"\ngo_goroutines ", "\nprocess_open_fds ",
	} {
		if status != 200 || !strings.Contains(text, want) {
			t.Errorf("status %d, /metrics lacks %s", status, want)
		}
	}
}

// TestProfiles: profiles need the token. With debug=2 the stacks of all goroutines are text.
func TestProfiles(t *testing.T) {
	s := newSite(t)
	s.api = strings.TrimSuffix(s.api, apiPath)
	for path, want := range map[string]int{
		"heap": 200, "goroutine": 200, "profile?seconds=1": 200, "profile?seconds=0": 400, "nothing": 404,
		"goroutine?debug=0": 200, "goroutine?debug=1": 200, "goroutine?debug=3": 400,
	} {
		if status, _, text := s.ask("GET", "/debug/pprof/"+path, ""); status != want || text == "" {
			t.Errorf("%s: status %d, not %d", path, status, want)
		}
		if status, _, _ := s.ask("GET", "/debug/pprof/"+path, "", "Authorization", "Bearer x"); status != 401 {
			t.Errorf("%s without the token: status %d", path, status)
		}
	}
	_, kind, text := s.ask("GET", "/debug/pprof/goroutine?debug=2", "")
	if !strings.HasPrefix(kind, "text/plain") || !strings.Contains(text, "goroutine 1 [") ||
		!strings.Contains(text, "metrics_test.go") && !strings.Contains(text, "api_test.go") {
		t.Errorf("%s: %.200s", kind, text)
	}
}
