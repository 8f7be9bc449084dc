// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestRefusedIsRemembered: a port that refused is not knocked at again for seconds, whichever host is asked
// for; other ports and later times are.
func TestRefusedIsRemembered(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	dialled := map[uint16]int{}
	c, err := fetch.NewClient(fetch.Options{UserAgent: "x", AllowPrivate: true, Resolver: loopback{}, Now: func() time.Time { return now },
		Dialer: func(_ context.Context, ap netip.AddrPort) (net.Conn, error) {
			dialled[ap.Port()]++
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ask := func(host string, port int) {
		t.Helper()
		u, err := urlkey.Parse(fmt.Sprintf("http://%s:%d/", host, port))
		if err != nil {
			t.Fatal(err)
		}
		r := c.Fetch(context.Background(), &fetch.Request{URL: u})
		defer r.Release()
		if r.Failure != fetch.FailRefused {
			t.Errorf("%s: %s", u, r.Failure)
		}
	}
	for i := range 20 {
		ask(fmt.Sprintf("h%d.example", i), 8001)
	}
	ask("a.example", 8002)
	if dialled[8001] != 1 || dialled[8002] != 1 {
		t.Errorf("dialled %v", dialled)
	}
	now = now.Add(time.Minute)
	ask("a.example", 8001)
	if dialled[8001] != 2 {
		t.Errorf("a minute later: dialled %v", dialled)
	}
	for port := 10_000; port < 20_000; port++ { // more than are remembered
		ask("a.example", port)
	}
	if len(dialled) != 10_002 {
		t.Errorf("%d ports dialled", len(dialled))
	}
}
