// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestRequestsOwn: a request's own user agent and time replace those of the client.
func TestRequestsOwn(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/never" {
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, r.UserAgent())
	}))
	defer s.Close()
	cl := client(t, func(o *fetch.Options) {
		o.UserAgent, o.HeadTimeout, o.TotalTimeout = "the crawl's", time.Minute, time.Minute
	})
	get := func(path, agent string, own time.Duration) *fetch.Response {
		u, err := urlkey.Parse(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		return cl.Fetch(context.Background(), &fetch.Request{URL: u, UserAgent: agent, Timeout: own})
	}
	for own, want := range map[string]string{"": "the crawl's", "own/1": "own/1"} {
		r := get("/", own, 0)
		if string(r.Body) != want {
			t.Errorf("user agent %q, want %q (%v)", r.Body, want, r.Err)
		}
		r.Release()
	}
	r := get("/never", "", 20*time.Millisecond)
	if r.Failure == "" || r.Failure == fetch.FailCanceled {
		t.Errorf("%q (%v), want a failure of the host", r.Failure, r.Err)
	}
	r.Release()
}
