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

// TestRefusedIsRemembered: a port that refused a connection is not dialled again for some seconds, whichever host
// a URL names. Other ports are, and so is the same port later.
func TestRefusedIsRemembered(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	dialled := map[uint16]int{}
	c, err := fetch.NewClient(fetch.Options{
		UserAgent:    "x",
		AllowPrivate: true,
		Resolver:     loopback{},
		Now:          func() time.Time { return now },
		Dialer: func(_ context.Context, ap netip.AddrPort) (net.Conn, error) {
			dialled[ap.Port()]++
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	try := func(host string, port int) {
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
		try(fmt.Sprintf("h%d.example", i), 8001)
	}
	try("a.example", 8002)
	if dialled[8001] != 1 || dialled[8002] != 1 {
		t.Errorf("dialled %v", dialled)
	}
	now = now.Add(time.Minute)
	try("a.example", 8001)
	if dialled[8001] != 2 {
		t.Errorf("a minute later: dialled %v", dialled)
	}
	for port := 10_000; port < 20_000; port++ { // more than are remembered
		try("a.example", port)
	}
	if len(dialled) != 10_002 {
		t.Errorf("%d ports dialled", len(dialled))
	}
}
