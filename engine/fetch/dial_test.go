// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestSilentAddress: an address that does not answer leaves time for the next one of its host.
func TestSilentAddress(t *testing.T) {
	s := serve(t, said("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
	silent := netip.MustParseAddr("127.0.0.2")
	alive := netip.MustParseAddr("127.0.0.3")
	c := client(t, func(o *fetch.Options) {
		o.DialTimeout = 2 * time.Second
		o.Resolver = fetch.NewResolver(fetch.ResolverOptions{Hosts: fetch.Hosts{"two.example": {silent, alive}}})
		o.Dialer = func(ctx context.Context, ap netip.AddrPort) (net.Conn, error) {
			if ap.Addr() == silent {
				<-ctx.Done()
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return net.Dial("tcp", s.l.Addr().String())
		}
	})
	u, err := urlkey.Parse("http://two.example/")
	if err != nil {
		t.Fatal(err)
	}
	r := c.Fetch(context.Background(), &fetch.Request{URL: u})
	defer r.Release()
	if r.Failure != "" || r.Addr != alive || string(r.Body) != "hi" {
		t.Errorf("failure %q (%v) from %s, body %q", r.Failure, r.Err, r.Addr, r.Body)
	}
}

// TestNoConnection: a dialer that returns nothing fails the fetch, not the process.
func TestNoConnection(t *testing.T) {
	c := client(t, func(o *fetch.Options) {
		o.Dialer = func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, nil }
	})
	for _, text := range []string{"http://127.0.0.1/", "https://127.0.0.1/"} {
		r := c.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, text)})
		if r.Failure == "" || r.Err == nil || !strings.Contains(r.Err.Error(), "Dialer") {
			t.Errorf("%s: failure %q (%v)", text, r.Failure, r.Err)
		}
		r.Release()
	}
}
