// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestRequestSettings: a request has the settings of its URL: those of the prefix, then of the host. robots.txt is read
// for the host's user agent, and its request has a bound of its own.
func TestRequestSettings(t *testing.T) {
	table, err := policy.NewHostTable(map[string]policy.HostSettings{
		"*.example":                {UserAgent: "own/1", Timeout: time.Second, MaxBody: 10},
		"http://a.example/deeper/": {Timeout: 2 * time.Second, Header: []policy.HeaderField{{Name: "X", Value: "y"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, admission.Options{Hosts: table})
	w.env.AgentOf = func(h urlkey.HostKey) string { return string(h) }
	h := NewHosts(w.env)
	for url, want := range map[string]time.Duration{
		"http://a.example/": time.Second, "http://a.example/deeper/x": 2 * time.Second, "http://b.test/": 0,
	} {
		req := h.Request(w.url(url))
		if req.Timeout != want || (req.UserAgent == "own/1") != (want > 0) || (req.MaxBody == 10) != (want > 0) ||
			(len(req.Header) == 1) != (want == 2*time.Second) {
			t.Errorf("%s: %+v", url, req)
		}
	}
	if req := h.robotsRequest(w.url("http://a.example/robots.txt")); req.MaxBody != robotsBodyMax || !req.AnyType {
		t.Errorf("robots.txt: %+v", req)
	}
	if got := h.agentOf(authorityKey(w.url("http://a.example/"))); got != string(w.host("a.example")) {
		t.Errorf("agent of %q", got)
	}
}

// TestPerHost: a host has as many requests at once as its settings allow, and others have one.
func TestPerHost(t *testing.T) {
	table, err := policy.NewHostTable(map[string]policy.HostSettings{"own.example": {PerHost: 3}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, admission.Options{Hosts: table})
	l := newList(w)
	let := make(chan struct{})
	for _, host := range []string{"own", "other"} {
		for i := range 100 { // more than the URLs of three visits without a delay
			u := fmt.Sprintf("http://%s.example/%d", host, i)
			w.web.set(u, stuck(let, html("page")))
			l.add(Choice{Key: w.url(u).Key(), Score: 1})
		}
	}
	r := w.start(NewHosts(w.env), l, 8, Limits{})
	w.until("four requests at once", func() bool { return w.web.inFlight() == 4 })
	close(let)
	if c := r.finished(); c.Fetched != 200 || w.web.most != 4 {
		t.Errorf("%d requests at once, %+v", w.web.most, c)
	}
	for _, u := range w.web.rude {
		if !strings.HasPrefix(u, "http://own.example/") {
			t.Errorf("%s is requested beside another URL of its host", u)
		}
	}
}
