// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// tlsWeb serves a small web in which about half of the hosts are https, and returns one host of each
// kind.
func tlsWeb(t *testing.T) (s *Server, plain, secure int) {
	t.Helper()
	p := Small()
	p.HTTPS, p.NoRobots, p.RobotsErrors = 0.5, 0, 0
	s, err := Serve(context.Background(), newWeb(t, p), ServerOptions{TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	plain, secure = -1, -1
	for h := range s.Web.Hosts() {
		switch isTLS := strings.HasPrefix(s.Web.Root(h), "https://"); {
		case isTLS && secure < 0:
			secure = h
		case !isTLS && plain < 0:
			plain = h
		}
	}
	if plain < 0 || secure < 0 {
		t.Fatal("all hosts are of one kind")
	}
	return s, plain, secure
}

// httpClient trusts the server's authority, and connects to the hosts' addresses or to a proxy.
func httpClient(t *testing.T, s *Server, proxy bool) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(s.CA()) {
		t.Fatalf("CA is %q", s.CA())
	}
	tr := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: pool, ClientSessionCache: tls.NewLRUClientSessionCache(8),
	}}
	if proxy {
		tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: s.Front()})
	} else {
		tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			name, port, _ := net.SplitHostPort(addr)
			var d net.Dialer
			return d.DialContext(ctx, network, net.JoinHostPort(s.Web.Address(s.Web.find([]byte(name))), port))
		}
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{
		Transport:     tr,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// TestTLS: both kinds of host, reached at their addresses and through the proxy, give the same bytes; a plain request
// to an https host is redirected; sessions are resumed; an unknown name gets no certificate.
func TestTLS(t *testing.T) {
	s, plain, secure := tlsWeb(t)
	for _, proxy := range []bool{false, true} {
		c := httpClient(t, s, proxy)
		for _, host := range []int{plain, secure} {
			resp, err := c.Get(s.Web.Root(host))
			if err != nil {
				t.Fatalf("proxy %v: %v", proxy, err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if want := s.Web.AppendHTML(nil, host, 0, someDay); err != nil || resp.StatusCode != 200 ||
				string(body) != string(want) {
				t.Errorf(
					"proxy %v: %s: %d, %d bytes, want %d, %v", proxy, s.Web.Root(host), resp.StatusCode,
					len(body), len(want), err,
				)
			}
		}
		resp, err := c.Get(strings.Replace(s.Web.Root(secure), "https:", "http:", 1))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 301 || resp.Header.Get("Location") != s.Web.Root(secure) {
			t.Errorf(
				"proxy %v: a plain request to an https host: %d %s", proxy, resp.StatusCode,
				resp.Header.Get("Location"),
			)
		}
		c.CloseIdleConnections()
		resp, err = c.Get(s.Web.Root(secure))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if !resp.TLS.DidResume {
			t.Errorf("proxy %v: the session was not resumed", proxy)
		}
	}
	conn, err := tls.Dial("tcp", s.Front(), &tls.Config{ServerName: "stranger.example", InsecureSkipVerify: true})
	if err == nil {
		conn.Close()
		t.Error("a stranger's name got a certificate")
	}
	r := s.Report()
	for n := 0; r.Malformed == 0 && n < 500; n++ { // the server may notice later than the client
		time.Sleep(10 * time.Millisecond)
		r = s.Report()
	}
	if r.Proxied < 4 || r.TLS < 3 || r.Malformed != 1 || r.Requests < 6 {
		t.Errorf("%s", r)
	}
	if n := s.Requests()[s.Web.Root(secure)]; n != 4 {
		t.Errorf("%s was requested %d times, want 4", s.Web.Root(secure), n)
	}
}

// TestLeft: a client that has had enough of a slow host leaves, and may begin another request: the first is over, over
// TLS too, where the client says that it leaves before it does.
func TestLeft(t *testing.T) {
	p := Small()
	p.HTTPS, p.NoRobots, p.RobotsErrors, p.SlowHosts, p.SlowLatency = 0.5, 0, 0, 1, time.Hour
	s, err := Serve(context.Background(), newWeb(t, p), ServerOptions{TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	until := func(done func() bool) {
		t.Helper()
		for n := 0; !done(); n++ {
			if n == 5000 {
				t.Fatal(s.Report())
			}
			time.Sleep(time.Millisecond)
		}
	}
	for host := range s.Web.Hosts() {
		name, root := s.Web.Host(host), s.Web.Root(host)
		before := s.Report()
		var c net.Conn
		if strings.HasPrefix(root, "https:") {
			c, err = tls.Dial("tcp", s.Front(), &tls.Config{ServerName: name, InsecureSkipVerify: true})
		} else {
			c, err = net.Dial("tcp", s.Front())
		}
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+name+"\r\n\r\n")
		until(func() bool { return s.Report().Requests > before.Requests })
		c.Close() // another request may begin now
		until(func() bool { return s.Report().Status[2] > before.Status[2] })
	}
	if r := s.Report(); r.Peak != 1 || r.Requests != s.Web.Hosts() {
		t.Error(r)
	}
}
