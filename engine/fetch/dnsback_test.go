// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// TestNewNameServers: the name servers that the system gets while a crawl runs are asked soon, and so are its first
// ones if it had none. A file that is away for a while changes nothing.
func TestNewNameServers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	synctest.Test(t, func(t *testing.T) {
		servers := fetch.SystemServers(path)
		for _, step := range []struct {
			file string // "": there is none
			wait time.Duration
			want string
		}{
			{"", 0, "[]"},
			{"nameserver 192.0.2.1\n", time.Second, "[]"},
			{"nameserver 192.0.2.1\n", 9 * time.Second, "[192.0.2.1:53]"},
			{"nameserver 192.0.2.2\n", 9 * time.Second, "[192.0.2.1:53]"},
			{"nameserver 192.0.2.2\n", time.Second, "[192.0.2.2:53]"},
			{"# none\n", time.Minute, "[192.0.2.2:53]"},
			{"", time.Minute, "[192.0.2.2:53]"},
			{"nameserver 2001:db8::1\nnameserver 192.0.2.3\n", time.Minute, "[[2001:db8::1]:53 192.0.2.3:53]"},
		} {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if step.file != "" {
				if err := os.WriteFile(path, []byte(step.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(step.wait)
			list, err := servers()
			if got := fmt.Sprint(list); got != step.want || (err != nil) != (step.want == "[]") {
				t.Errorf("%+v: the name servers are %s, %v", step, got, err)
			}
		}
	})
}
