// SPDX-License-Identifier: Apache-2.0

package simweb_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/bench/simweb"
)

// clock is a clock that stands until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
}

func serve(t *testing.T, p simweb.Params, o simweb.ServerOptions) *simweb.Server {
	t.Helper()
	w, err := simweb.New(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := simweb.Serve(context.Background(), w, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// allRestricted is a small web whose every host forbids /private/ and asks for a delay of 10 s.
func allRestricted() simweb.Params {
	p := simweb.Small()
	p.NoRobots, p.Restricted, p.Delayed, p.CrawlDelay, p.PerAddress, p.OwnAddress = 0, 1, 1, 10*time.Second, 3, 0
	return p
}

// TestReport: each way to be rude is reported as such, and a client that only just keeps the rules is not accused. Time
// stands still unless the test moves it, so all numbers are exact.
func TestReport(t *testing.T) {
	day := &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	start := func(t *testing.T) (*simweb.Server, *http.Client) {
		s := serve(t, allRestricted(), simweb.ServerOptions{Now: day.Now, Delay: time.Second, Slack: time.Millisecond})
		return s, client(t, s)
	}
	t.Run("polite", func(t *testing.T) {
		s, c := start(t)
		for _, host := range []int{0, 3} {
			get(t, c, s.URL(host, "/robots.txt"))
			for range 3 {
				get(t, c, s.Web.Root(host))
				day.move(10 * time.Second)
			}
		}
		r := s.Report()
		if !r.Polite() || r.SmallGap != 10*time.Second || r.Interval != 10*time.Second || len(r.Rude) > 0 ||
			r.Peak != 1 {
			t.Errorf("%s", r)
		}
		if r.Requests != 8 || r.Robots != 2 || r.URLs != 2 || r.Twice != 2 || r.Hosts != 2 || r.Addresses != 2 {
			t.Errorf("%s", r)
		}
	})
	t.Run("too soon", func(t *testing.T) {
		s, c := start(t)
		for range 3 {
			get(t, c, s.Web.Root(1))
			day.move(9 * time.Second)
		}
		if r := s.Report(); r.Polite() || r.TooSoon != 2 || r.SmallGap != 9*time.Second || r.Peak != 1 ||
			r.Violations != 0 || r.Rude[0].Host != s.Web.Host(1) {
			t.Errorf("%s", r)
		}
	})
	t.Run("one address", func(t *testing.T) { // hosts 0 to 2 share one
		s, c := start(t)
		for h := range 3 {
			get(t, c, s.Web.Root(h))
			day.move(2 * time.Second)
		}
		if r := s.Report(); !r.Polite() || r.Addresses != 1 || r.Hosts != 3 || r.AddressGap != 2*time.Second ||
			r.AddressInterval != 2*time.Second || r.SmallGap != 0 {
			t.Errorf("%s", r)
		}
	})
	t.Run("forbidden", func(t *testing.T) {
		s, c := start(t)
		forbidden := ""
		for n := 0; forbidden == ""; n++ {
			if p := s.Web.Page(10, n); p.Denied {
				forbidden = p.URL
			}
		}
		get(t, c, forbidden)
		if r := s.Report(); r.Polite() || r.Violations != 1 || r.TooSoon != 0 || r.Peak != 1 {
			t.Errorf("%s", r)
		}
		if got := s.Requests()[forbidden]; got != 1 {
			t.Errorf("%s was requested %d times, want 1", forbidden, got)
		}
	})
	t.Run("elsewhere", func(t *testing.T) {
		s, c := start(t)
		request(t, s.Web.Address(4), s, "GET / HTTP/1.1\r\nHost: "+s.Web.Host(0)+"\r\nConnection: close\r\n\r\n")
		request(t, s.Web.Address(0), s, "GET / HTTP/1.1\r\nHost: www.nobody.example\r\nConnection: close\r\n\r\n")
		request(t, s.Web.Address(0), s, "BREW / HTTP/1.1\r\nHost: "+s.Web.Host(0)+"\r\n\r\n")
		get(t, c, s.Web.Root(0))
		if r := s.Report(); r.WrongAddress != 1 || r.UnknownHost != 1 || r.Malformed != 1 || r.Requests != 2 ||
			r.TooSoon != 1 {
			t.Errorf("%s", r)
		}
	})
}

// TestTwoAtOnce: requests that overlap are seen, on the host and on the address that two hosts share.
func TestTwoAtOnce(t *testing.T) {
	p := allRestricted()
	p.SlowHosts, p.SlowLatency = 1, time.Hour // ended by Close
	s := serve(t, p, simweb.ServerOptions{})
	for _, host := range []int{0, 0, 1} {
		c, err := net.Dial("tcp", net.JoinHostPort(s.Web.Address(host), strconv.Itoa(s.Port())))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", s.Web.Host(host))
	}
	deadline := time.Now().Add(20 * time.Second)
	for s.Report().Requests < 3 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond) // until the server has read them: there is nothing to wait on
	}
	r := s.Report()
	if r.Peak != 2 || r.AddressPeak != 3 || r.Polite() || len(r.Rude) != 1 || r.Rude[0].Peak != 2 ||
		r.SmallGap > time.Nanosecond {
		t.Errorf("%s", r)
	}
	if !strings.Contains(r.String(), s.Web.Host(0)+" ") {
		t.Errorf("the rude host is not named:\n%s", r)
	}
	var back simweb.Report
	if b, err := json.Marshal(r); err != nil || json.Unmarshal(b, &back) != nil || back.Peak != 2 {
		t.Errorf("as JSON: %s, %v", b, err)
	}
}

// TestPipelined: a client that sends a request to a host before it has the answer to another has two at once there. One
// that sends them to two hosts, as through a proxy, has not.
func TestPipelined(t *testing.T) {
	for _, at := range []int{0, 1} {
		s := serve(t, simweb.Small(), simweb.ServerOptions{})
		request(t, "127.0.0.1", s, "GET / HTTP/1.1\r\nHost: "+s.Web.Host(0)+"\r\n\r\n"+
			"GET / HTTP/1.0\r\nHost: "+s.Web.Host(at)+"\r\n\r\n")
		if r := s.Report(); r.Requests != 2 || r.Peak != 2-at || r.Polite() != (at == 1) {
			t.Errorf("hosts 0 and %d: %s", at, r)
		}
	}
}

// request sends raw bytes to an address and returns everything that comes back.
func request(t *testing.T, address string, s *simweb.Server, raw string) string {
	t.Helper()
	c, err := net.Dial("tcp", net.JoinHostPort(address, strconv.Itoa(s.Port())))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestHTTP: the server's HTTP, byte by byte.
func TestHTTP(t *testing.T) {
	s := serve(t, simweb.Small(), simweb.ServerOptions{})
	host := s.Web.Host(0)
	size := len(s.Web.AppendHTML(nil, 0, 0, time.Now()))
	const end = "Connection: close\r\n\r\n"
	for _, c := range []struct {
		name, raw string
		want      string // the status lines, in order
		body      int    // bytes after the last head; -1: any
	}{
		{"plain", "GET / HTTP/1.1\r\nHost: " + host + "\r\n" + end, "200", size},
		{"with port and capitals", "GET / HTTP/1.1\r\nhOST: " + strings.ToUpper(host) + ":99\r\n" + end, "200", size},
		{"HEAD", "HEAD / HTTP/1.1\r\nHost: " + host + "\r\n" + end, "200", 0},
		{"proxy", "GET http://" + host + "/ HTTP/1.1\r\nHost: other\r\n" + end, "200", size},
		{"HTTP/1.0", "GET / HTTP/1.0\r\nHost: " + host + "\r\n\r\n", "200", size},
		{
			"pipelined",
			"GET /nowhere HTTP/1.1\r\nHost: " + host + "\r\n\r\nGET / HTTP/1.0\r\nHost: " + host + "\r\n\r\n",
			"404 200", size,
		},
		{"bad path", "GET /a/%zz HTTP/1.1\r\nHost: " + host + "\r\n" + end, "404", -1},
		{"no host", "GET / HTTP/1.1\r\n\r\n", "400", 0},
		{"unknown host", "GET / HTTP/1.1\r\nHost: x\r\n" + end, "421", -1},
		{"method", "POST / HTTP/1.1\r\nHost: " + host + "\r\n\r\n", "405", 0},
		{"version", "GET / HTTP/2.0\r\nHost: " + host + "\r\n\r\n", "505", 0},
		{"body", "GET / HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 1\r\n\r\n", "413", 0},
		{"field", "GET / HTTP/1.1\r\nHost " + host + "\r\n\r\n", "400", 0},
		{"not HTTP", "\x16\x03\x01\r\n\r\n", "400", 0},
		{"long", "GET / HTTP/1.1\r\nHost: " + host + "\r\nX: " + strings.Repeat("x", 16<<10), "431", 0},
	} {
		got := request(t, s.Web.Address(0), s, c.raw)
		var status []string
		for _, part := range strings.Split(got, "HTTP/1.1 ")[1:] {
			status = append(status, part[:3])
		}
		_, body, _ := strings.Cut(got[strings.LastIndex(got, "HTTP/1.1 "):], "\r\n\r\n")
		if strings.Join(status, " ") != c.want || c.body >= 0 && len(body) != c.body {
			t.Errorf("%s: status %s and %d bytes, want %s and %d", c.name, status, len(body), c.want, c.body)
		}
	}
}

// TestConditional: a page that the client has is not sent again until it changes.
func TestConditional(t *testing.T) {
	day := &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	p := simweb.Small()
	p.ChangeEvery = time.Hour
	s := serve(t, p, simweb.ServerOptions{Now: day.Now})
	c := client(t, s)
	first, body := get(t, c, s.Web.Root(0))
	ask := func(name, value string) int {
		req, _ := http.NewRequest("GET", s.Web.Root(0), nil)
		req.Header.Set(name, value)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode == 304 && len(got) > 0 {
			t.Fatalf("%s: %d bytes, %v", resp.Status, len(got), err)
		}
		if resp.StatusCode == 200 && day.now.Hour() > 0 && bytes.Equal(got, body) {
			t.Error("the page has not changed")
		}
		return resp.StatusCode
	}
	for _, c := range []struct{ name, value string }{
		{"If-None-Match", first.Header.Get("ETag")},
		{"If-Modified-Since", first.Header.Get("Last-Modified")},
		{"If-None-Match", `"x", ` + first.Header.Get("ETag")},
	} {
		if got := ask(c.name, c.value); got != 304 {
			t.Errorf("%s %s: %d, want 304", c.name, c.value, got)
		}
	}
	if got := ask("If-None-Match", `"x"`); got != 200 {
		t.Errorf("another ETag: %d, want 200", got)
	}
	day.move(20 * time.Hour)
	if a, b := ask("If-None-Match", first.Header.Get("ETag")), ask(
		"If-Modified-Since", first.Header.Get("Last-Modified"),
	); a != 200 || b != 200 {
		t.Errorf("after a change: %d and %d, want 200", a, b)
	}
}

// TestReach: the other two ways to reach a web: by Host header on one address, and through a proxy.
func TestReach(t *testing.T) {
	for _, o := range []simweb.ServerOptions{{FrontOnly: true}, {AllInterfaces: true}} {
		s := serve(t, simweb.Small(), o)
		proxy := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: s.Front()})}
		for _, c := range []*http.Client{client(t, s), {Transport: proxy}} {
			for h := range 3 {
				if resp, body := get(t, c, s.Web.Root(h)); resp.StatusCode != 200 ||
					!bytes.Equal(body, s.Web.AppendHTML(nil, h, 0, time.Now())) {
					t.Errorf("%s: %s, %d bytes", s.Web.Root(h), resp.Status, len(body))
				}
			}
		}
		proxy.CloseIdleConnections()
		if r := s.Report(); r.WrongAddress > 0 || r.Hosts != 3 {
			t.Errorf("%s", r)
		}
	}
	if _, err := simweb.Serve(
		context.Background(), nil, simweb.ServerOptions{FrontOnly: true, AllInterfaces: true},
	); err == nil {
		t.Error("two ways at once were taken")
	}
	big, err := simweb.New(simweb.Bench(5000, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := simweb.Serve(context.Background(), big, simweb.ServerOptions{}); err == nil ||
		!strings.Contains(err.Error(), "AllInterfaces") {
		t.Errorf("too many addresses: %v", err)
	}
}

// TestClose: the end of the context ends the server, idle connections and slow pages included; a port that is taken is
// an error.
func TestClose(t *testing.T) {
	p := simweb.Small()
	p.SlowHosts, p.SlowLatency = 1, time.Hour
	w, err := simweb.New(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s, err := simweb.Serve(ctx, w, simweb.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := simweb.Serve(ctx, w, simweb.ServerOptions{Port: s.Port()}); err == nil {
		t.Error("two servers on one port")
	}
	idle, err := net.Dial("tcp", s.Front())
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	slow, err := net.Dial("tcp", s.Front())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprintf(
		slow,
		"GET /robots.txt HTTP/1.1\r\nHost: %[1]s\r\n\r\nGET / HTTP/1.1\r\nHost: %[1]s\r\n\r\n",
		s.Web.Host(0),
	)
	r := bufio.NewReader(slow)
	if resp, err := http.ReadResponse(r, nil); err != nil {
		t.Fatal(err)
	} else if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	cancel()
	s.Close()
	s.Close()
	if _, err := idle.Read(make([]byte, 1)); err == nil {
		t.Error("an idle connection is still open")
	}
	if c, err := net.Dial("tcp", s.Front()); err == nil {
		c.Close()
		t.Error("the server still listens")
	}
}
