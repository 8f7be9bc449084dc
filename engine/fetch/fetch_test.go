// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage/urlkey"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server plays a script on each connection and keeps the request heads.
type server struct {
	t        testing.TB
	l        net.Listener
	wg       sync.WaitGroup
	mu       sync.Mutex
	requests []string
	conns    []net.Conn
}

// serve starts a server, which calls script for each connection after it has read the first request head.
func serve(t testing.TB, script func(s *server, c net.Conn, r *bufio.Reader)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, l: l}
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			s.wg.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				if s.head(r) {
					script(s, c, r)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.wg.Wait()
	})
	return s
}

// head reads a request head.
func (s *server) head(r *bufio.Reader) bool {
	var head strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return false
		}
		head.WriteString(line)
		if line == "\r\n" {
			s.mu.Lock()
			s.requests = append(s.requests, head.String())
			s.mu.Unlock()
			return true
		}
	}
}

func (s *server) count() int { return len(s.sent()) }

// sent returns the request heads so far.
func (s *server) sent() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *server) url(path string) urlkey.URL {
	u, err := urlkey.Parse("http://" + s.l.Addr().String() + path)
	if err != nil {
		s.t.Fatal(err)
	}
	return u
}

// client returns a client whose times are long, so that no busy machine passes for a slow server.
func client(t testing.TB, change func(*fetch.Options)) *fetch.Client {
	t.Helper()
	o := fetch.Options{
		UserAgent:    "seine-test",
		AllowPrivate: true,
		HeadTimeout:  time.Minute,
		TotalTimeout: time.Minute,
		Grace:        time.Minute,
		MaxBody:      1 << 20,
		MaxDecoded:   1 << 20,
	}
	if change != nil {
		change(&o)
	}
	c, err := fetch.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// said returns a script that sends a text and closes the connection.
func said(text string) func(*server, net.Conn, *bufio.Reader) {
	return func(_ *server, c net.Conn, _ *bufio.Reader) { io.WriteString(c, text) }
}

// silent returns a script that sends a text and then nothing more, without closing.
func silent(text string) func(*server, net.Conn, *bufio.Reader) {
	return func(_ *server, c net.Conn, r *bufio.Reader) {
		io.WriteString(c, text)
		r.ReadByte() // until the client gives up
	}
}

// drip returns a script that sends a head and then one byte after another, endlessly.
func drip(head string) func(*server, net.Conn, *bufio.Reader) {
	return func(_ *server, c net.Conn, _ *bufio.Reader) {
		io.WriteString(c, head)
		for {
			if _, err := io.WriteString(c, "x"); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// TestHostile: responses of careless and hostile servers, and their outcomes. Each costs one request.
func TestHostile(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	const hi = "Content-Length: 2\r\n\r\nhi"
	const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
	cases := []struct {
		name      string
		script    func(*server, net.Conn, *bufio.Reader)
		failure   fetch.Failure
		status    int
		body      string
		truncated string
	}{
		{"plain", said(ok + hi), "", 200, "hi", ""},
		{"until close", said(ok + "\r\nhi"), "", 200, "hi", ""},
		{"chunked", said(chunked + "1\r\nh\r\n1;x=y\r\ni\r\n0\r\nT: 1\r\n\r\n"), "", 200, "hi", ""},
		{"chunks end in line feeds", said(chunked + "2\nhi\n0\n\n"), "", 200, "hi", ""},
		{"not modified", said("HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n"), "", 304, "", ""},
		{"line feeds only", said("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"), "", 200, "hi", ""},
		{"lower-case version", said("http/1.1 200 ok\r\n" + hi), "", 200, "hi", ""},
		{"folded field", said(ok + "X: a\r\n b\r\n" + hi), "", 200, "hi", ""},
		{"blank lines first", said("\r\n\r\n" + ok + hi), "", 200, "hi", ""},
		{"length twice", said(ok + "Content-Length: 2\r\n" + hi), "", 200, "hi", ""},
		{"length list", said(ok + "Content-Length: 2, 2\r\n\r\nhi"), "", 200, "hi", ""},
		{"empty length", said(ok + "Content-Length:\r\n\r\nhi"), "", 200, "hi", ""},
		{"identity", said(ok + "Transfer-Encoding: identity\r\n\r\nhi"), "", 200, "hi", ""},
		{"no transfer coding", said(ok + "Transfer-Encoding: \r\nContent-Length: 2\r\n\r\nhi"), "", 200, "hi", ""},
		{"early hints", said("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + ok + hi), "", 200, "hi", ""},
		{"HTTP/1.0 chunked", said("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi"),
			"", 200, "2\r\nhi", ""},
		{"field of 5000 bytes", said(ok + "X: " + strings.Repeat("a", 5000) + "\r\n" + hi), "", 200, "hi", ""},
		{"status 999", said("HTTP/1.1 999 Denied\r\nContent-Length: 0\r\n\r\n"), "", 999, "", ""},

		{"short body", said(ok + "Content-Length: 5\r\n\r\nhi"), "", 200, "hi", "disconnect"},
		{"no final chunk", said(chunked + "2\r\nhi\r\n"), "", 200, "hi", "disconnect"},
		{"cut chunk", said(chunked + "5\r\nhi"), "", 200, "hi", "disconnect"},
		{"a tebibyte announced", silent(ok + "Content-Length: 1099511627776\r\n\r\nhi"),
			fetch.FailTooSlow, 200, "", ""},
		{"dripping body", drip(ok + "Content-Length: 100000\r\n\r\n"), fetch.FailTooSlow, 200, "", ""},
		{"endless body", said(ok + "\r\n" + strings.Repeat("x", 2<<20)), "", 200, strings.Repeat("x", 1<<20), "length"},
		{"silent body", silent(ok + "Content-Length: 5\r\n\r\nhi"), fetch.FailTooSlow, 200, "", ""},

		{"nothing", said(""), fetch.FailClosed, 0, "", ""},
		{"silence", silent(""), fetch.FailHeadTimeout, 0, "", ""},
		{"half a head", said("HTTP/1.1 200 OK\r\nX:"), fetch.FailReset, 0, "", ""},
		{"dripping head", drip("HTTP/1.1 200 OK\r\nX: "), fetch.FailHeadTimeout, 0, "", ""},
		{"ssh", said("SSH-2.0-OpenSSH_9.2\r\n\r\n"), fetch.FailStatusLine, 0, "", ""},
		{"HTTP/0.9", said("<html>hi</html>\n"), fetch.FailStatusLine, 0, "", ""},
		{"garbage", said(strings.Repeat("\x00\xff", 40_000)), fetch.FailStatusLine, 0, "", ""},
		{"status 000", said("HTTP/1.1 000 No\r\n\r\n"), fetch.FailStatus, 0, "", ""},
		{"status 2000", said("HTTP/1.1 2000 No\r\n\r\n"), fetch.FailStatus, 0, "", ""},
		{"negative length", said(ok + "Content-Length: -1\r\n\r\n"), fetch.FailLength, 0, "", ""},
		{"length +2", said(ok + "Content-Length: +2\r\n\r\nhi"), fetch.FailLength, 0, "", ""},
		{"length overflows", said(ok + "Content-Length: 99999999999999999999\r\n\r\nhi"), fetch.FailLength, 0, "", ""},
		{"two lengths", said(ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi"), fetch.FailLength, 0, "", ""},
		{"gzip, chunked", said(ok + "Transfer-Encoding: gzip, chunked\r\n\r\n"), fetch.FailCoding, 0, "", ""},
		{"bad chunk size", said(chunked + "zz\r\n"), fetch.FailChunk, 0, "", ""},
		{"huge chunk size", said(chunked + "ffffffffffffffff\r\n"), fetch.FailChunk, 0, "", ""},
		{"chunk extension of 64 KiB", said(chunked + "1;" + strings.Repeat("x", 64<<10) + "\r\n"),
			fetch.FailChunk, 0, "", ""},
		{"endless trailer", said(chunked + "0\r\n" + strings.Repeat("T: 1\r\n", 1000)), fetch.FailTrailer, 0, "", ""},
		{"NUL in a field", said(ok + "X: \x00\r\n\r\n"), fetch.FailField, 0, "", ""},
		{"upgrade", said("HTTP/1.1 101 Switching\r\n\r\n"), fetch.FailInterim, 0, "", ""},
		{"endless hints", said(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 50)), fetch.FailInterim, 0, "", ""},
		{"head of 65 KiB", said(ok + strings.Repeat("X: "+strings.Repeat("a", 1000)+"\r\n", 70) + "\r\n"),
			fetch.FailHeadTooLarge, 0, "", ""},
		{"10000 fields", said(ok + strings.Repeat("X: 1\r\n", 10_000) + "\r\n"), fetch.FailHeadTooLarge, 0, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, c.script)
			cl := client(t, func(o *fetch.Options) {
				switch c.failure {
				case fetch.FailHeadTimeout:
					o.HeadTimeout = 100 * time.Millisecond
				case fetch.FailTooSlow:
					o.Grace = 100 * time.Millisecond
				}
			})
			r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/")})
			defer r.Release()
			if r.Failure != c.failure || r.Failure == "" && (r.Status != c.status || r.Truncated != c.truncated) {
				t.Errorf("failure %q (%v), status %d, truncated %q; want %q, %d, %q",
					r.Failure, r.Err, r.Status, r.Truncated, c.failure, c.status, c.truncated)
			}
			if c.failure == "" && string(r.Body) != c.body {
				t.Errorf("body %.60q (%d bytes), want %.60q", r.Body, len(r.Body), c.body)
			}
			if r.Err != nil && len(r.Err.Error()) > 512 {
				t.Errorf("the error has %d bytes", len(r.Err.Error()))
			}
			if n := s.count(); n != 1 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

// TestReuse: when a connection may serve another request, and when not.
func TestReuse(t *testing.T) {
	const page = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
	for _, c := range []struct {
		name, first string
		reused      bool
	}{
		{"keep-alive", page + "\r\nhi", true},
		{"Connection: Close", page + "Connection: Close\r\n\r\nhi", false},
		{"close, TE", page + "Connection: close, TE\r\n\r\nhi", false},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", false},
		{"HTTP/1.0 keep-alive", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi", true},
		{"a second response at once", page + "\r\nhi" + page + "\r\nno", false},
		{"bytes after the body", page + "\r\nhi!", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(s *server, conn net.Conn, r *bufio.Reader) {
				io.WriteString(conn, c.first)
				if s.head(r) {
					io.WriteString(conn, page+"\r\nok")
				}
			})
			cl := client(t, nil)
			first := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/1")})
			first.Release()
			second := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/2")})
			defer second.Release()
			if second.Failure != "" || second.Reused != c.reused || string(second.Body) == "no" {
				t.Errorf("%q %v reused %v body %q", second.Failure, second.Err, second.Reused, second.Body)
			}
		})
	}
}

// squeeze encodes b.
func squeeze(t testing.TB, coding string, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "br":
		w = brotli.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "zstd":
		z, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// stored returns a response with a body and the label of its content coding.
func stored(t *testing.T, label string, body []byte) *fetch.Response {
	t.Helper()
	r, err := fetch.StoredResponse([]byte("HTTP/1.1 200 OK\r\nContent-Encoding: "+label+"\r\n\r\n"), body, "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestContent: content codings, bombs, wrong labels and damage.
func TestContent(t *testing.T) {
	page := []byte(strings.Repeat("<p>A page about nets.</p>", 100))
	bomb := make([]byte, 32<<20)
	for _, coding := range []string{"gzip", "br", "deflate", "zstd"} {
		f := func(name, label string, body []byte, want []byte, truncated, fails bool) {
			t.Helper()
			r := stored(t, label, body)
			defer r.Release()
			got, cut, err := r.Content()
			if (err != nil) != fails || cut != truncated || !bytes.Equal(got, want) {
				t.Errorf("%s, %s: %d bytes, truncated %v, %v; want %d, %v",
					coding, name, len(got), cut, err, len(want), truncated)
			}
		}
		squeezed := squeeze(t, coding, page)
		f("whole", coding, squeezed, page, false, false)
		f("upper case", strings.ToUpper(coding), squeezed, page, false, false)
		f("with identity", coding+", identity", squeezed, page, false, false)
		f("plain under the label", coding, page, page, false, false)
		f("bomb", coding, squeeze(t, coding, bomb), bomb[:8<<20], true, false)
	}
	member := squeeze(t, "gzip", []byte("net "))
	for _, c := range []struct {
		name string
		body []byte
		want int
		ok   bool
	}{
		{"64 members", bytes.Repeat(member, 64), 64, true},
		{"65 members", bytes.Repeat(member, 65), 64, false},
		{"empty members", bytes.Repeat(squeeze(t, "gzip", nil), 100_000), 0, false},
		{"an empty member between", slices.Concat(member, squeeze(t, "gzip", nil), member), 2, true},
		{"garbage behind", slices.Concat(member, member, []byte("no gzip at all")), 2, true},
		{"a line end behind", slices.Concat(member, member, []byte("\r\n")), 2, true},
		{"the second cut in its head", slices.Concat(member, member[:9]), 1, false},
		{"the second cut", slices.Concat(member, member[:len(member)-1]), 2, false},
	} {
		r := stored(t, "gzip", c.body)
		got, cut, err := r.Content()
		if string(got) != strings.Repeat("net ", c.want) || cut == c.ok || (err == nil) != c.ok {
			t.Errorf("%s: %d bytes, truncated %v, %v", c.name, len(got), cut, err)
		}
		r.Release()
	}
	r := stored(t, "gzip", squeeze(t, "gzip", page)[:30])
	defer r.Release()
	if got, cut, _ := r.Content(); !cut || !bytes.HasPrefix(page, got) {
		t.Errorf("truncated gzip: %d bytes, truncated %v", len(got), cut)
	}
	window := stored(t, "zstd", []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x98, 0x01, 0x00, 0x00, 0x00})
	defer window.Release()
	if got, _, err := window.Content(); err == nil && len(got) > 64 {
		t.Errorf("a zstd window of 512 MiB gave %d bytes", len(got))
	}
	unknown := stored(t, "x-foo", []byte("x"))
	defer unknown.Release()
	if _, _, err := unknown.Content(); err == nil {
		t.Error("an unknown coding was decoded")
	}
}

// TestGuard: the borders of the table of addresses.
func TestGuard(t *testing.T) {
	public := []string{
		"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
		"128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0",
		"192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2606:4700::1", "2001:200::1", "2a00::1",
	}
	private := []string{
		"10.0.0.0", "10.255.255.255", "127.0.0.1", "127.255.255.255", "172.16.0.0", "172.31.255.255",
		"192.168.0.0", "192.168.255.255",
		"::1", "fc00::", "fdff::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
	}
	never := []string{
		"0.0.0.0", "0.1.2.3", "100.64.0.0", "100.100.100.200", "100.127.255.255", "169.254.169.254",
		"192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.0", "198.19.255.255", "198.51.100.1",
		"203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16",
		"::", "fe80::1", "ff02::1", "64:ff9b::a9fe:a9fe", "2002::1", "2001::1", "2001:db8::1", "3fff::1",
		"4000::1", "::127.0.0.1", "fec0::1", "100::1", "5f00::1", "::ffff:169.254.169.254", "fe80::1%eth0",
	}
	for _, c := range []struct {
		list           []string
		plain, private bool
	}{{public, true, true}, {private, false, true}, {never, false, false}} {
		for _, s := range c.list {
			a := netip.MustParseAddr(s)
			if got := fetch.CheckAddr(a, false) == nil; got != c.plain {
				t.Errorf("%s admitted: %v", s, got)
			}
			if got := fetch.CheckAddr(a, true) == nil; got != c.private {
				t.Errorf("%s admitted with private addresses: %v", s, got)
			}
		}
	}
}

// TestRefused: URLs that are never requested, and failures to connect.
func TestRefused(t *testing.T) {
	s := serve(t, said("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	f := func(raw string, want fetch.Failure, change func(*fetch.Options)) {
		t.Helper()
		u, err := urlkey.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		r := client(t, change).Fetch(context.Background(), &fetch.Request{URL: u})
		defer r.Release()
		if r.Failure != want {
			t.Errorf("%s: %q (%v), want %q", raw, r.Failure, r.Err, want)
		}
	}
	noPrivate := func(o *fetch.Options) { o.AllowPrivate = false }
	f("http://127.0.0.1/", fetch.FailAddress, noPrivate)
	f("http://[::ffff:127.0.0.1]/", fetch.FailAddress, noPrivate)
	f("http://169.254.169.254/latest/meta-data/", fetch.FailAddress, nil)
	f("http://10.1.2.3/", fetch.FailContact, func(o *fetch.Options) { o.LoopbackOnly = true })
	f("http://127.0.0.1:22/", fetch.FailPort, noPrivate)
	named := fetch.NewResolver(fetch.ResolverOptions{Hosts: fetch.Hosts{
		"rebound.example": {netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("127.0.0.1")},
	}})
	rebound := "http://rebound.example:" + strconv.Itoa(s.l.Addr().(*net.TCPAddr).Port) + "/"
	f(rebound, "", func(o *fetch.Options) { o.Resolver = named }) // only the permitted address is used
	missing := fetch.NewResolver(fetch.ResolverOptions{
		LookUp: func(context.Context, string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
		},
	})
	f("http://missing.example/", fetch.FailDNSNotFound, func(o *fetch.Options) { o.Resolver = missing })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	f("http://"+l.Addr().String()+"/", fetch.FailRefused, nil)
}

// TestCanceled: a canceled context ends a fetch.
func TestCanceled(t *testing.T) {
	reached := make(chan struct{})
	s := serve(t, func(_ *server, _ net.Conn, r *bufio.Reader) {
		close(reached)
		r.ReadByte()
	})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-reached
		cancel()
	}()
	cl := client(t, func(o *fetch.Options) { o.HeadTimeout, o.TotalTimeout = time.Minute, time.Minute })
	r := cl.Fetch(ctx, &fetch.Request{URL: s.url("/")})
	defer r.Release()
	if r.Failure != fetch.FailCanceled {
		t.Errorf("%q (%v)", r.Failure, r.Err)
	}
}

// TestCallersDeadline: the end of the caller's time is no failure of the host, however close the two deadlines are.
func TestCallersDeadline(t *testing.T) {
	s := serve(t, func(_ *server, _ net.Conn, r *bufio.Reader) { r.ReadByte() })
	cl := client(t, func(o *fetch.Options) { o.HeadTimeout, o.TotalTimeout = time.Minute, time.Minute })
	for range 20 {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		r := cl.Fetch(ctx, &fetch.Request{URL: s.url("/")})
		if r.Failure != fetch.FailCanceled || ctx.Err() == nil {
			t.Errorf("%q (%v), and the context's error is %v", r.Failure, r.Err, ctx.Err())
		}
		r.Release()
		cancel()
	}
}

// FuzzResponse: whatever a server sends, the result stays within the bounds and does not depend on the pieces in
// which it arrives.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		"HTTP/1.0 404 No\n\nx",
		"\r\nHTTP/1.1 103 a\r\n\r\nHTTP/1.1 200 b\r\n\r\n",
	} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, piece uint8) {
		outcome := func(size int) string {
			dial := func(context.Context, netip.AddrPort) (net.Conn, error) {
				a, b := net.Pipe()
				go func() {
					defer b.Close()
					// Read the whole request first, so that only the pieces of the response differ.
					for r := bufio.NewReader(b); ; {
						if line, err := r.ReadString('\n'); err != nil || line == "\r\n" {
							break
						}
					}
					for rest := data; len(rest) > 0; {
						n := min(size, len(rest))
						if _, err := b.Write(rest[:n]); err != nil {
							return
						}
						rest = rest[n:]
					}
				}()
				return a, nil
			}
			c, err := fetch.NewClient(fetch.Options{
				UserAgent:    "x",
				AllowPrivate: true,
				Dialer:       dial,
				MaxBody:      4096,
				MaxDecoded:   4096,
				HeadTimeout:  5 * time.Second,
				TotalTimeout: 5 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			u, _ := urlkey.Parse("http://127.0.0.1/")
			r := c.Fetch(context.Background(), &fetch.Request{URL: u})
			defer r.Release()
			if len(r.Body) > 4096 || len(r.Head) > 65<<10 {
				t.Fatalf("body %d, head %d bytes", len(r.Body), len(r.Head))
			}
			r.Content()
			return fmt.Sprintf("%s %d %q %q", r.Failure, r.Status, r.Body, r.Truncated)
		}
		if a, b := outcome(len(data)+1), outcome(int(piece)+1); a != b {
			t.Fatalf("in one piece %s, in pieces of %d %s", a, int(piece)+1, b)
		}
	})
}

func BenchmarkFetch(b *testing.B) {
	page := strings.Repeat("x", 12<<10)
	s := serve(b, func(s *server, c net.Conn, r *bufio.Reader) {
		for {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(page), page)
			if !s.head(r) {
				return
			}
		}
	})
	cl := client(b, nil)
	req := &fetch.Request{URL: s.url("/")}
	b.ReportAllocs()
	for b.Loop() {
		r := cl.Fetch(context.Background(), req)
		if r.Failure != "" {
			b.Fatal(r.Err)
		}
		r.Release()
	}
}
