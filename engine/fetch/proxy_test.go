// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seine-crawler/seine/engine/fetch"
)

// pump copies between two connections until both are closed.
func pump(a, b net.Conn) {
	var wg sync.WaitGroup
	for _, p := range [][2]net.Conn{{a, b}, {b, a}} {
		wg.Go(func() { io.Copy(p[0], p[1]); p[0].Close(); p[1].Close() })
	}
	wg.Wait()
}

// httpProxy starts an HTTP proxy, made of net/http, that requires a password. It returns the proxy's URL.
func httpProxy(t *testing.T, seen *sync.Map) string {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:secret"))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Method+" "+r.RequestURI, true)
		if r.Header.Get("Proxy-Authorization") != want {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		if r.Method != http.MethodConnect {
			forward := httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
				p.Out.Header.Del("Proxy-Authorization")
			}}
			forward.ServeHTTP(w, r)
			return
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n")
		pump(from, to)
	}))
	t.Cleanup(s.Close)
	return "http://me:secret@" + strings.TrimPrefix(s.URL, "http://")
}

// socksProxy starts a SOCKS5 proxy, with or without a password, that resolves every name to 127.0.0.1.
func socksProxy(t *testing.T, login bool) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { defer c.Close(); socksServe(c, login) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	if login {
		return "socks5://me:secret@" + l.Addr().String()
	}
	return "socks5://" + l.Addr().String()
}

func socksServe(c net.Conn, login bool) {
	read := func(n int) []byte {
		b := make([]byte, n)
		io.ReadFull(c, b)
		return b
	}
	read(int(read(2)[1]))
	if !login {
		c.Write([]byte{5, 0})
	} else {
		c.Write([]byte{5, 2})
		user := string(read(int(read(2)[1])))
		pass := string(read(int(read(1)[0])))
		if user != "me" || pass != "secret" {
			c.Write([]byte{1, 1})
			return
		}
		c.Write([]byte{1, 0})
	}
	host := "127.0.0.1"
	switch read(4)[3] {
	case 1:
		host = net.IP(read(4)).String()
	case 3:
		read(int(read(1)[0]))
	case 4:
		host = net.IP(read(16)).String()
	}
	port := read(2)
	to, err := net.Dial("tcp", net.JoinHostPort(host, fmt.Sprint(int(port[0])<<8|int(port[1]))))
	if err != nil {
		c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	c.Write([]byte{5, 0, 0, 3, 3, 'a', 'b', 'c', 0, 80})
	pump(c, to)
}

// TestProxies: HTTP and SOCKS5 proxies carry http and https. The password is sent and not recorded. Private
// addresses stay refused.
func TestProxies(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s", r.Host, r.URL, r.Header.Get("Proxy-Authorization"))
	})
	plain, secure := httptest.NewServer(page), httptest.NewTLSServer(page)
	defer plain.Close()
	defer secure.Close()
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	var seen sync.Map
	for _, proxy := range []string{httpProxy(t, &seen), socksProxy(t, false), socksProxy(t, true)} {
		c, err := fetch.NewClient(fetch.Options{
			UserAgent:    "test",
			Proxy:        proxy,
			AllowPrivate: true,
			TLSConfig:    &tls.Config{RootCAs: pool},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, base := range []string{plain.URL, secure.URL} {
			at, err := url.Parse(base)
			if err != nil {
				t.Fatal(err)
			}
			want := at.Host + " /a?b "
			for range 2 {
				r := c.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, base+"/a?b")})
				if string(r.Body) != want || r.Failure != "" {
					t.Errorf("%s by %s: %q, %s %v", base, proxy, r.Body, r.Failure, r.Err)
				}
				head := string(r.RequestHead)
				absolute := strings.HasPrefix(head, "GET http://")
				removed := strings.HasSuffix(head, "\r\nProxy-Authorization: [removed]\r\n\r\n")
				if absolute != removed || strings.Contains(head, "Basic") {
					t.Errorf("the record holds the password or lacks its field: %q", head)
				}
				r.Release()
			}
		}
	}
	if _, ok := seen.Load("GET " + plain.URL + "/a?b"); !ok {
		t.Error("the request to the HTTP proxy was not in absolute form")
	}
	c, err := fetch.NewClient(fetch.Options{UserAgent: "test", Proxy: socksProxy(t, false)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := c.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, "http://169.254.169.254/")})
	if r.Failure != fetch.FailAddress {
		t.Errorf("a private address by a proxy: %q, want %s", r.Failure, fetch.FailAddress)
	}
	r.Release()
	for _, bad := range []string{"ftp://h:1", "http://", "socks5://h:0", "://", "http://h:99999"} {
		_, err := fetch.NewClient(fetch.Options{UserAgent: "test", Proxy: bad})
		if err == nil || !strings.Contains(err.Error(), "proxy") {
			t.Errorf("proxy %q: %v", bad, err)
		}
	}
}

// TestProxyTrouble: a proxy that cannot be reached, or refuses, causes FailProxy.
func TestProxyTrouble(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	var seen sync.Map
	for _, proxy := range []string{
		"http://" + gone.Addr().String(),
		"socks5://" + gone.Addr().String(),
		strings.Replace(socksProxy(t, true), "secret", "wrong", 1),
		strings.Replace(httpProxy(t, &seen), "secret", "wrong", 1),
	} {
		c, err := fetch.NewClient(fetch.Options{UserAgent: "test", Proxy: proxy})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range []string{"https://www.example.org/", "http://www.example.org/robots.txt"} {
			r := c.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, u)})
			if r.Failure != fetch.FailProxy {
				t.Errorf("%s by %s: status %d, %q %v, want %s", u, proxy, r.Status, r.Failure, r.Err, fetch.FailProxy)
			}
			r.Release()
		}
		c.Close()
	}
}

// TestAccept: a body of a type that Accept refuses is not read, unless the request takes any.
func TestAccept(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", strings.TrimPrefix(r.URL.Path, "/")+"; x=y")
		if r.URL.Path == "/video/mp4" {
			w.Header().Set("Content-Length", "1000000000")
			w.Write(make([]byte, 1000))
			return
		}
		io.WriteString(w, "text")
	}))
	defer s.Close()
	c, err := fetch.NewClient(fetch.Options{
		UserAgent:    "test",
		AllowPrivate: true,
		Accept:       func(mediaType string) bool { return strings.HasPrefix(mediaType, "text/") },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	paths := map[string]fetch.Failure{"/text/html": "", "/video/mp4": fetch.FailType, "/Text/Plain": ""}
	for path, want := range paths {
		r := c.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, s.URL+path)})
		if r.Failure != want || want != "" && len(r.Body) > 0 {
			t.Errorf("%s: %q with %d bytes, want %q", path, r.Failure, len(r.Body), want)
		}
		r.Release()
	}
	r := c.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, s.URL+"/x/y"), AnyType: true})
	if r.Failure != "" || string(r.Body) != "text" {
		t.Errorf("any type: %q with body %q", r.Failure, r.Body)
	}
	r.Release()
}

// counted is a connection that counts as open until it is closed.
type counted struct {
	net.Conn
	open *atomic.Int32
}

func (c counted) Close() error {
	c.open.Add(-1)
	return c.Conn.Close()
}

// TestMaxConns: there are never more than MaxConns connections, and idle ones make room for others.
func TestMaxConns(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hi") }))
	defer s.Close()
	var open, most atomic.Int32
	dial := func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", addr.String())
		if err != nil {
			return nil, err
		}
		n := open.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		return counted{c, &open}, nil
	}
	c, err := fetch.NewClient(fetch.Options{
		UserAgent:    "test",
		AllowPrivate: true,
		MaxConns:     4,
		Resolver:     loopback{},
		Dialer:       dial,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fetchAll(t, c, s.URL, 64, 1)
	if n := most.Load(); n > 4 || n == 0 {
		t.Errorf("%d connections at once, the cap is 4", n)
	}
}

// TestRoomForWaiting: with one connection and many hosts, no fetch waits for an idle connection.
func TestRoomForWaiting(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hi") }))
	defer s.Close()
	c, err := fetch.NewClient(fetch.Options{UserAgent: "test", AllowPrivate: true, MaxConns: 1, Resolver: loopback{}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fetchAll(t, c, s.URL, 8, 20)
}

// TestWaitsForConnection: a fetch that waits for a connection of its client says so, since the server is not at fault.
func TestWaitsForConnection(t *testing.T) {
	arrived, let := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			close(arrived)
			<-let
		}
	}))
	defer s.Close()
	c, err := fetch.NewClient(fetch.Options{UserAgent: "test", AllowPrivate: true, MaxConns: 1, Resolver: loopback{}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var wg sync.WaitGroup
	wg.Go(func() { c.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, s.URL+"/first")}).Release() })
	<-arrived
	waits := make(chan bool, 2)
	var stage fetch.Stage
	wg.Go(func() {
		c.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, s.URL+"/second"),
			Waits: func(waiting bool) { waits <- waiting }, Stage: &stage}).Release()
	})
	if !<-waits {
		t.Error("the wait ends before it began")
	}
	if stage.Step() != fetch.StepRoom {
		t.Errorf("the step is %d, want that of waiting for room", stage.Step())
	}
	close(let)
	if <-waits {
		t.Error("the wait does not end")
	}
	wg.Wait()
}

// fetchAll fetches from sixteen hosts of a server, with several goroutines and some pages by each.
func fetchAll(t *testing.T, c *fetch.Client, base string, goroutines, pages int) {
	t.Helper()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(base, "http://"))
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for range pages {
				u := mustParse(t, fmt.Sprintf("http://h%d.example:%s/", i%16, port))
				r := c.Fetch(context.Background(), &fetch.Request{URL: u})
				if r.Failure != "" {
					t.Errorf("%s %v", r.Failure, r.Err)
				}
				r.Release()
			}
		})
	}
	wg.Wait()
}

// loopback resolves every name to 127.0.0.1.
type loopback struct{}

func (loopback) Lookup(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// TestSOCKSLongName: a name that is too long for DNS, and for SOCKS, which has one byte for its length, is not looked
// up by the proxy either: cut to its beginning it would be another name, and its end what is sent to that.
func TestSOCKSLongName(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	names := make(chan string, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(names)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		head := make([]byte, 5)
		io.ReadFull(c, head[:3])
		c.Write([]byte{5, 0})
		io.ReadFull(c, head)
		name := make([]byte, head[4])
		io.ReadFull(c, name)
		names <- string(name)
	})
	c, err := fetch.NewClient(fetch.Options{UserAgent: "test", Proxy: "socks5://" + l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	host := "localhost" + strings.Repeat(".a", 126) + ".org" // 256 bytes more than localhost
	r := c.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, "http://"+host+"/")})
	if r.Failure != fetch.FailDNSNotFound {
		t.Errorf("%q, %v; want %q", r.Failure, r.Err, fetch.FailDNSNotFound)
	}
	r.Release()
	l.Close()
	wg.Wait()
	if name, ok := <-names; ok {
		t.Errorf("the proxy was told to connect to %q", name)
	}
}
