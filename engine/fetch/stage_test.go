// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
)

// slowNames answers when its channel is closed.
type slowNames struct{ let chan struct{} }

func (s slowNames) Lookup(ctx context.Context, _ string) ([]netip.Addr, error) {
	select {
	case <-s.let:
	case <-ctx.Done():
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, ctx.Err()
}

// TestStage: a fetch that hangs says where.
func TestStage(t *testing.T) {
	let := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/head":
			<-let
		case "/body":
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("some of it"))
			w.(http.Flusher).Flush()
			<-let
		}
	}))
	defer s.Close()
	defer close(let)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	hang := func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for _, c := range []struct {
		name, url string
		o         fetch.Options
		want      fetch.Step
	}{
		{"dns", s.URL, fetch.Options{Resolver: slowNames{let}}, fetch.StepDNS},
		{"connect", s.URL, fetch.Options{Dialer: hang}, fetch.StepConnect},
		{"tls", "https://" + silent.Addr().String(), fetch.Options{}, fetch.StepTLS},
		{"head", s.URL + "/head", fetch.Options{}, fetch.StepHead},
		{"body", s.URL + "/body", fetch.Options{}, fetch.StepBody},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.UserAgent, c.o.AllowPrivate = "test", true
			if c.o.Resolver == nil {
				c.o.Resolver = loopback{}
			}
			client, err := fetch.NewClient(c.o)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			var stage fetch.Stage
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan *fetch.Response, 1)
			go func() {
				u := mustParse(t, strings.Replace(c.url, "127.0.0.1", "host.example", 1))
				done <- client.Fetch(ctx, &fetch.Request{URL: u, Stage: &stage})
			}()
			for range 10_000 {
				if stage.Step() == c.want {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			time.Sleep(20 * time.Millisecond) // it stays there
			if got := stage.Step(); got != c.want {
				t.Errorf("the step is %d, want %d", got, c.want)
			}
			cancel()
			r := <-done
			if used, limit := client.Bodies(); limit <= 0 || (used > 0) != (c.want == fetch.StepBody) {
				t.Errorf("bodies have %d of %d bytes", used, limit)
			}
			r.Release()
			if used, _ := client.Bodies(); used != 0 {
				t.Errorf("%d bytes are left", used)
			}
		})
	}
	var stage fetch.Stage
	client, err := fetch.NewClient(fetch.Options{UserAgent: "test", AllowPrivate: true, Resolver: loopback{}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	client.Fetch(t.Context(), &fetch.Request{URL: mustParse(t, s.URL), Stage: &stage}).Release()
	if stage.Step() == fetch.StepNone {
		t.Error("a fetch says nothing")
	}
	if stage.Reset(); stage.Step() != fetch.StepNone {
		t.Error("Reset does not forget")
	}
}
