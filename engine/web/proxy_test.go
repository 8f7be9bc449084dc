// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestProxy: a proxy serves what another process has open, under the same guard as that process would.
func TestProxy(t *testing.T) {
	dir := t.TempDir()
	e := opened(t, dir)
	socket, err := ServeSocket(e, dir)
	if err != nil {
		t.Fatal(err)
	}
	c := dialed(t, dir)
	server := httptest.NewServer(NewProxy(c, Options{Token: testToken}))
	defer server.Close()
	s := &site{t: t, e: e, api: server.URL}
	reader := []string{"Authorization", "none"}
	for _, r := range []struct {
		method, path string
		status       int
		head         []string
	}{
		{"GET", apiPath + "/index", 200, reader}, {"GET", apiPath + "/record?url=a.example", 404, reader},
		{"GET", apiPath + "/events", 200, reader}, {"GET", apiPath + "/index", 421, []string{"Host", "evil.example"}},
		{"POST", apiPath + "/crawl/pause", 401, reader}, {"POST", apiPath + "/crawl/pause", 200, nil},
		{"POST", apiPath + "/crawl/resume", 403, []string{"Origin", "http://evil.example"}},
		{"GET", "/debug/pprof/heap", 401, reader}, {"GET", "/debug/pprof/heap", 200, nil},
		{"GET", "/debug/pprof/heap", 401, append([]string{readerHeader, ""}, reader...)},
	} {
		if status, _, text := s.ask(r.method, r.path, "", r.head...); status != r.status {
			t.Errorf("%s %s: status %d, not %d: %s", r.method, r.path, status, r.status, text)
		}
	}
	answer, err := http.DefaultClient.Get(server.URL + apiPath + "/index")
	if err != nil || len(answer.Header.Values("Content-Security-Policy")) != 1 {
		t.Error(answer, err)
	}
	must(t, answer.Body.Close())
	must(t, socket.Close())
	if status, _, text := s.ask("GET", apiPath+"/index", ""); status != 503 || !strings.Contains(text, "ended") {
		t.Errorf("after the end: status %d: %s", status, text)
	}
	if _, err := Dial(context.Background(), dir); err == nil {
		t.Error("the socket is still served")
	}
}
