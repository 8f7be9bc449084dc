// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
)

// TestNameServersBack: once a name server answers again, the names that failed meanwhile are looked up again at once; a
// name that fails alone is not.
func TestNameServersBack(t *testing.T) {
	var dead atomic.Bool
	var asked atomic.Int32
	r := fetch.NewResolver(fetch.ResolverOptions{
		LookUp: func(_ context.Context, host string) ([]netip.Addr, error) {
			asked.Add(1)
			if dead.Load() || host == "broken.example" {
				return nil, &net.DNSError{Err: "no answer", IsTimeout: true}
			}
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
		},
		Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
	})
	look := func(host string, asks int32, want string) {
		t.Helper()
		before := asked.Load()
		got := looked(r.Lookup(context.Background(), host))
		if n := asked.Load() - before; got != want || n != asks {
			t.Errorf("%s: %s after %d lookups, want %s after %d", host, got, n, want, asks)
		}
	}
	look("broken.example", 1, "dns_timeout")
	look("sound.example", 1, "192.0.2.1")
	look("broken.example", 0, "dns_timeout")
	dead.Store(true)
	for i := range 20 {
		look(fmt.Sprintf("%d.example", i), 1, "dns_timeout")
	}
	look("0.example", 0, "dns_timeout")
	dead.Store(false)
	look("0.example", 0, "dns_timeout") // nobody knows yet
	look("20.example", 1, "192.0.2.1")
	for i := range 20 {
		look(fmt.Sprintf("%d.example", i), 1, "192.0.2.1")
	}
	look("broken.example", 1, "dns_timeout")
	look("21.example", 1, "192.0.2.1")
	look("broken.example", 0, "dns_timeout")
}
