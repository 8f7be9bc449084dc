// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
)

// TestProxyNames: names of hosts that are not public never reach a proxy, unless the operator permits them.
func TestProxyNames(t *testing.T) {
	refused := []string{
		"localhost", "localhost.", "LOCALHOST", "a.localhost", "router", "intranet", "printer.local", "printer.local.",
		"metadata.google.internal", "host.docker.internal", "nas.home.arpa", "1.0.168.192.in-addr.arpa", "nas.lan",
		"git.corp", "fritz.box.home", "x.test", "x.example", "x.invalid", "x.onion", "x.alt", "x.localdomain", "mail",
		"127.0.0.1", "127.1", "2130706433", "[::1]", "10.0.0.1", "169.254.169.254", "[64:ff9b::a9fe:a9fe]",
	}
	permitted := []string{
		"example.org", "www.example.com", "localhost.example.org", "local.com", "internal.net", "test.de", "a.b.c.info",
		"box.known", "mylan", // with a hosts file, see below
	}
	for _, scheme := range []string{"http", "https"} {
		var seen sync.Map
		proxy := httpProxy(t, &seen)
		for _, private := range []bool{false, true} {
			cl := client(t, func(o *fetch.Options) {
				o.Proxy = strings.Replace(proxy, "secret", "wrong", 1) // it refuses all that reach it
				o.AllowPrivate, o.HeadTimeout = private, 5*time.Second
				o.Hosts = fetch.Hosts{"mylan": {netip.MustParseAddr("127.0.0.1")}}
			})
			try := func(host string, want bool) {
				t.Helper()
				seen.Clear()
				r := cl.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, scheme+"://"+host+"/")})
				defer r.Release()
				reached := false
				seen.Range(func(any, any) bool { reached = true; return false })
				if reached != want || want == (r.Failure == fetch.FailAddress) {
					t.Errorf("%s://%s, private %t: %q (%v), reached %t",
						scheme, host, private, r.Failure, r.Err, reached)
				}
			}
			for _, host := range refused {
				a, err := netip.ParseAddr(strings.Trim(host, "[]"))
				never := err == nil && fetch.CheckAddr(a, true) != nil
				try(host, private && !never)
			}
			for _, host := range permitted {
				try(host, true)
			}
		}
	}
}

// TestOwnNetworks: the networks of the machine's interfaces are denied as private ones are, and followed.
func TestOwnNetworks(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	nets, failing := []netip.Prefix{
		netip.MustParsePrefix("5.6.7.8/24"), netip.MustParsePrefix("2a01:4f8:1:2::3/64"),
		netip.MustParsePrefix("8.8.8.8/0"), // a tunnel
	}, error(nil)
	options := fetch.Options{
		UserAgent: "x",
		Now:       func() time.Time { return now },
		Networks:  func() ([]netip.Prefix, error) { return nets, failing },
		Dialer: func(context.Context, netip.AddrPort) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNRESET}
		},
	}
	c, err := fetch.NewClient(options)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	try := func(c *fetch.Client, host string, denied bool) {
		t.Helper()
		r := c.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, "http://"+host+"/")})
		defer r.Release()
		if denied != (r.Failure == fetch.FailAddress) {
			t.Errorf("%s: %q %v", host, r.Failure, r.Err)
		}
	}
	for _, host := range []string{"5.6.7.8", "5.6.7.200", "[2a01:4f8:1:2:ffff::1]", "8.8.8.8", "[::ffff:5.6.7.9]"} {
		try(c, host, true)
	}
	for _, host := range []string{"5.6.8.1", "8.8.8.9", "[2a01:4f8:1:3::1]", "1.1.1.1"} {
		try(c, host, false)
	}
	nets = append(nets, netip.MustParsePrefix("9.9.9.9/30"))
	try(c, "9.9.9.10", false)
	now = now.Add(2 * time.Minute)
	try(c, "9.9.9.10", true)
	now, failing = now.Add(2*time.Minute), errors.New("no netlink")
	try(c, "9.9.9.10", true) // what was known stays
	if _, err := fetch.NewClient(options); err == nil || !strings.Contains(err.Error(), "--allow-private") {
		t.Errorf("networks that cannot be listed: %v", err)
	}
	options.AllowPrivate = true
	private, err := fetch.NewClient(options)
	if err != nil {
		t.Fatal(err)
	}
	defer private.Close()
	try(private, "5.6.7.8", false)
}

// TestOutOfFiles: a process without file descriptors is not the fault of a host: the failure is local and says what to
// do, names are looked up again at once, and idle connections give theirs back.
func TestOutOfFiles(t *testing.T) {
	full, lookups := fmt.Errorf("dialling: %w", &net.OpError{Op: "dial", Err: syscall.EMFILE}), 0
	empty := false
	idle := serve(t, silent("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
	c := client(t, func(o *fetch.Options) {
		o.Resolver = fetch.NewResolver(fetch.ResolverOptions{
			LookUp: func(_ context.Context, host string) ([]netip.Addr, error) {
				if lookups++; strings.HasPrefix(host, "dns") && lookups < 3 {
					return nil, full
				}
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			},
		})
		o.Dialer = func(ctx context.Context, ap netip.AddrPort) (net.Conn, error) {
			if empty {
				return nil, full
			}
			var d net.Dialer
			return d.DialContext(ctx, "tcp", ap.String())
		}
	})
	get := func(url string) *fetch.Response {
		return c.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, url)})
	}
	get(idle.url("/").String()).Release()
	empty = true
	for _, url := range []string{"http://dns.example/", "http://dns.example/", "http://b.example/"} {
		r := get(url)
		if r.Failure != fetch.FailFiles || !r.Failure.Local() || !strings.Contains(r.Err.Error(), "ulimit -n") {
			t.Errorf("%s: %q %v", url, r.Failure, r.Err)
		}
		r.Release()
	}
	if lookups < 3 {
		t.Errorf("%d lookups: a lookup without a socket was cached", lookups)
	}
	r := get(idle.url("/").String())
	defer r.Release()
	if r.Failure != fetch.FailFiles {
		t.Errorf("an idle connection was kept: %q", r.Failure)
	}
}

// TestNoRoom: a fetch that gets no connection because all are in use says nothing of its host.
func TestNoRoom(t *testing.T) {
	dialling, release := make(chan bool), make(chan bool)
	c := client(t, func(o *fetch.Options) {
		o.MaxConns, o.TotalTimeout = 1, 100*time.Millisecond
		o.Dialer = func(context.Context, netip.AddrPort) (net.Conn, error) {
			dialling <- true
			<-release
			return nil, syscall.ECONNRESET
		}
	})
	req := &fetch.Request{URL: mustParse(t, "http://127.0.0.1/")}
	var wg sync.WaitGroup
	wg.Go(func() { c.Fetch(context.Background(), req).Release() })
	<-dialling
	r := c.Fetch(context.Background(), req)
	defer r.Release()
	if r.Failure != fetch.FailFiles || !strings.Contains(r.Err.Error(), "ulimit -n") {
		t.Errorf("%q %v", r.Failure, r.Err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	canceled := c.Fetch(ctx, req)
	defer canceled.Release()
	if canceled.Failure != fetch.FailCanceled {
		t.Errorf("canceled: %q %v", canceled.Failure, canceled.Err)
	}
	close(release)
	wg.Wait()
}
