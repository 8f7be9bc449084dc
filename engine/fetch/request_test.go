// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/fetch"
)

// TestRequest: the client's own fields are sent and recorded, and no others.
func TestRequest(t *testing.T) {
	s := serve(t, said("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	const date = "Thu, 01 Jan 1970 00:00:00 GMT"
	r := client(t, nil).Fetch(context.Background(),
		&fetch.Request{URL: s.url("/a%20b?c=%22"), IfNoneMatch: `"x"`, IfModifiedSince: date})
	defer r.Release()
	got := s.sent()[0]
	if !strings.HasPrefix(got, "GET /a%20b?c=%22 HTTP/1.1\r\n") || string(r.RequestHead) != got {
		t.Errorf("request %q, recorded %q", got, r.RequestHead)
	}
	for _, want := range []string{
		"Host: " + s.l.Addr().String(), "User-Agent: seine-test", "Accept-Encoding: gzip, deflate, br, zstd",
		`If-None-Match: "x"`, "If-Modified-Since: " + date,
	} {
		if !strings.Contains(got, want+"\r\n") {
			t.Errorf("request lacks %q: %q", want, got)
		}
	}
	for _, absent := range []string{"Cookie", "Referer", "Authorization"} {
		if strings.Contains(got, absent) {
			t.Errorf("request has %s: %q", absent, got)
		}
	}
}

// keepAlive answers every request on a connection with 200.
func keepAlive(s *server, c net.Conn, r *bufio.Reader) {
	for ok := true; ok; ok = s.head(r) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
	}
}

// TestRequestHeader: further fields are sent unchanged and in order, recorded without credentials, and do not stay
// with the connection.
func TestRequestHeader(t *testing.T) {
	s := serve(t, keepAlive)
	cl := client(t, nil)
	r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/"), Header: []fetch.Header{
		{"X-Empty", ""},
		{"cookie", `a="1 2"; b=secret1;;c`},
		{"Accept-Language", "de, en;q=0.5"},
		{"Authorization", "Basic c2VjcmV0Mg=="},
		{"Accept", "text/html"},
		{"Cookie", "second=secret3"},
		{"X-Latin", "caf\xe9"},
	}})
	defer r.Release()
	if r.Failure != "" || string(r.Body) != "hi" {
		t.Fatalf("%q %v, body %q", r.Failure, r.Err, r.Body)
	}
	fields := func(secret1, secret2, secret3 string) string {
		return "X-Empty: \r\ncookie: " + secret1 + "\r\nAccept-Language: de, en;q=0.5\r\nAuthorization: " + secret2 +
			"\r\nAccept: text/html\r\nCookie: " + secret3 + "\r\nX-Latin: caf\xe9\r\n\r\n"
	}
	sent := fields(`a="1 2"; b=secret1;;c`, "Basic c2VjcmV0Mg==", "second=secret3")
	own, ok := strings.CutSuffix(s.sent()[0], sent)
	if !ok || strings.Contains(own, "Accept:") {
		t.Errorf("sent %q, want it to end in %q and to have one Accept field", s.sent()[0], sent)
	}
	if want := own + fields("[removed]", "[removed]", "[removed]"); string(r.RequestHead) != want {
		t.Errorf("recorded %q, want %q", r.RequestHead, want)
	}
	next := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
	defer next.Release()
	if !next.Reused || string(next.RequestHead) != s.sent()[1] || strings.Contains(s.sent()[1], "ookie") {
		t.Errorf("the next request on the connection (reused %t): %q, recorded %q",
			next.Reused, s.sent()[1], next.RequestHead)
	}
}

// TestRequestHeaderStays: the fields of a request go to its own host only, on each connection to it.
func TestRequestHeaderStays(t *testing.T) {
	other := serve(t, said("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	s := serve(t, func(s *server, c net.Conn, r *bufio.Reader) {
		location := "http://" + other.l.Addr().String() + "/"
		io.WriteString(c, "HTTP/1.1 302 Found\r\nLocation: "+location+"\r\nContent-Length: 0\r\n\r\n")
		s.head(r) // read and not answered: the client makes a new connection for the next
	})
	cl := client(t, nil)
	req := &fetch.Request{URL: s.url("/"), Header: []fetch.Header{{"Cookie", "a=1"}}}
	for i := range 3 {
		r := cl.Fetch(context.Background(), req)
		if stale := i == 1; stale != (r.Failure == fetch.FailStale) || !stale && r.Status != 302 {
			t.Errorf("fetch %d: %q %v, status %d", i, r.Failure, r.Err, r.Status)
		}
		r.Release()
	}
	if n := other.count(); n != 0 {
		t.Errorf("%d requests went to the target of the redirect", n)
	}
	if s.count() != 3 {
		t.Errorf("%d requests, want 3", s.count())
	}
	for _, head := range s.sent() {
		if strings.Count(head, "Cookie: a=1\r\n") != 1 {
			t.Errorf("a request lacks the field: %q", head)
		}
	}
}

// TestValidHeader: ValidHeader permits what Fetch sends. An error does not show the value, which may be secret.
func TestValidHeader(t *testing.T) {
	s := serve(t, keepAlive)
	cl := client(t, nil)
	f := func(name, value string, want bool) {
		t.Helper()
		err := fetch.ValidHeader(name, value)
		if (err == nil) != want {
			t.Errorf("%q: %q valid: %v, want %t", name, value, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows the value: %v", name, err)
		}
		before := s.count()
		r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/"), Header: []fetch.Header{{name, value}}})
		defer r.Release()
		if sent := s.count() > before; sent != want || (r.Failure == fetch.FailHeader) == want {
			t.Errorf("%q: %q: sent %t, failure %q", name, value, sent, r.Failure)
		}
	}
	f("Cookie", "a=secret", true)
	f("authorization", "Bearer x", true)
	f("X-!#$%&'*+-.^_`|~09azAZ", "", true)
	f("Accept", "*/*", true)
	f("Accept-Language", "日本", true)
	f("Proxying", "x", true)
	f("Host2", "x", true)
	for _, name := range []string{
		"Host", "Connection", "Content-Length", "Transfer-Encoding", "Accept-Encoding", "User-Agent",
		"If-None-Match", "If-Modified-Since", "Proxy-Authorization", "Proxy-Connection", "Proxy-",
	} {
		f(name, "secret", false)
		f(strings.ToLower(name), "secret", false)
		f(strings.ToUpper(name), "secret", false)
	}
	for _, name := range []string{
		"", "A B", "A:", " A", "A ", "A\r\nB", "A\x00", "A\x7f", "Ä", "A(", "[A]", "A@", "A/B",
	} {
		f(name, "x", false)
	}
	for _, value := range []string{"secret\r\nX: y", "secret\n", "secret\r", "a\x00secret", "\tsecret", "secret\x7f"} {
		f("X", value, false)
	}
}

// TestRequestHeadAllocations: Request.Header allocates nothing if it is empty or holds no credentials.
func TestRequestHeadAllocations(t *testing.T) {
	cl := client(t, nil)
	dst := make([]byte, 0, 4096)
	count := func(header ...fetch.Header) float64 {
		req := &fetch.Request{URL: mustParse(t, "http://www.example/a?b"), Header: header}
		return testing.AllocsPerRun(100, func() { cl.RequestHead(dst, req) })
	}
	none := count()
	if none > 12 { // those of fasthttp's writer
		t.Errorf("%v allocations without further fields, want 12", none)
	}
	if n := count(fetch.Header{"Accept-Language", "de"}); n > none {
		t.Errorf("%v allocations with one field, %v with none", n, none)
	}
}
