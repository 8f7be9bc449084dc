// SPDX-License-Identifier: Apache-2.0

package hostile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/seine-crawler/seine/bench/hostile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCases: names are host labels and differ, every row of the list has a case, and every case says what is required.
func TestCases(t *testing.T) {
	rows := []int{
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 16, 17, 18, 19, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
		34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 58, 59, 60, 61, 62,
		63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 84, 85, 86, 87, 88, 89, 90, 91,
		92, 94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 108, 109, 110, 111, 112,
	}
	seen := map[string]bool{}
	numbers := map[int]bool{}
	for _, c := range hostile.Cases() {
		if seen[c.Name] || c.Name == "" || len(c.Name) > 63 || strings.HasSuffix(c.Name, "-") ||
			strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("case %q", c.Name)
		}
		seen[c.Name], numbers[c.Number] = true, true
		if c.Does == "" || c.Group == "" || c.Want.Results == nil {
			t.Errorf("%s does not say what it does or what is required", c.Name)
		}
		if again, ok := hostile.Find(c.Name); !ok || again.Number != c.Number {
			t.Errorf("%s is not found", c.Name)
		}
	}
	for _, n := range rows {
		if !numbers[n] {
			t.Errorf("row %d has no case", n)
		}
	}
}

// ask requests a path from a case's host, and nothing more, and returns everything that comes until the server ends the
// connection.
func ask(t *testing.T, s *hostile.Server, name, path string) string {
	t.Helper()
	addrs, err := s.LookUp(context.Background(), name+".hostile.test")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", net.JoinHostPort(addrs[0].String(), fmt.Sprint(s.Port())))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(
		conn, "GET %s HTTP/1.1\r\nHost: %s.hostile.test:%d\r\n\r\n", path, name, s.Port(),
	); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Log(err) // it may have reset the connection
	}
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Logf("%s%s: %v", name, path, err)
	}
	return string(b)
}

// TestServer: cases send what they should; robots.txt does not get in their way; everything is logged and counted;
// names resolve as badly as they must.
func TestServer(t *testing.T) {
	s, err := hostile.Start(hostile.Options{Scale: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct{ name, path, want string }{
		{
			"cl-dup-diff", "/",
			"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\nContent-Length: 2\r\n\r\nhi",
		},
		{"cl-dup-diff", "/robots.txt", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"},
		{"ssh-banner", "/", "SSH-2.0-OpenSSH_9.2p1\r\n"},
		{"fin-after-request", "/", ""},
		{"rst-mid-head", "/", ""}, // a reset drops what was sent before it, as on the web
	} {
		if got := ask(t, s, c.name, c.path); got != c.want &&
			(c.name != "rst-mid-head" || !strings.HasPrefix("HTTP/1.1 200 OK\r\nX-Ha", got)) {
			t.Errorf("%s%s says %q, want %q", c.name, c.path, got, c.want)
		}
	}
	if got := ask(t, s, "robots-bom", "/robots.txt"); !strings.HasSuffix(
		got, "\xef\xbb\xbfUser-agent: *\nDisallow: /page\n",
	) {
		t.Errorf("robots-bom says %q", got)
	}
	if got := ask(t, s, "chain-1000", "/41"); !strings.Contains(got, "Location: /42\r\n") {
		t.Errorf("chain-1000 says %q", got)
	}
	tally := s.Log().Tally("cl-dup-diff")
	if tally.Requests != 2 || tally.Robots != 1 || tally.Conns != 2 || tally.MaxInFlight != 1 ||
		tally.SmallestGap <= 0 || len(tally.Heads) != 2 {
		t.Errorf("%+v", tally)
	}
	var in, out bytes.Buffer
	opened, last := 0, time.Duration(0)
	for _, e := range s.Log().Events() {
		if e.At < last {
			t.Error("events go back in time")
		}
		last = e.At
		if e.Case != "cl-dup-diff" {
			continue
		}
		switch e.Dir {
		case hostile.Open:
			opened++
		case hostile.In:
			in.Write(e.Bytes)
		case hostile.Out:
			out.Write(e.Bytes)
		}
	}
	if opened != 2 || int64(in.Len()) != tally.BytesIn || int64(out.Len()) != tally.BytesOut ||
		!strings.HasPrefix(in.String(), "GET / HTTP/1.1\r\n") {
		t.Errorf("%d connections, in %q, out %q; %+v", opened, &in, &out, tally)
	}
	var hosts bytes.Buffer
	if err := s.HostsFile(&hosts); err != nil || !strings.Contains(hosts.String(), " ssh-banner.hostile.test\n") ||
		strings.Contains(hosts.String(), "dns-nx") {
		t.Errorf("hosts file: %v", err)
	}
	if a, err := s.LookUp(context.Background(), "dns-huge.hostile.test"); err != nil || len(a) != 4000 {
		t.Errorf("dns-huge has %d addresses, %v", len(a), err)
	}
	var dns *net.DNSError
	if _, err := s.LookUp(context.Background(), "nobody.test"); !errors.As(err, &dns) || !dns.IsNotFound {
		t.Errorf("a name that is no case's: %v", err)
	}
	if seeds := s.Seeds(); len(seeds) != len(hostile.Cases()) ||
		!slices.Contains(seeds, fmt.Sprintf("http://ssh-banner.hostile.test:%d/", s.Port())) {
		t.Errorf("%d seeds", len(seeds))
	}
}

// TestJudge: each way to fail a case is reported.
func TestJudge(t *testing.T) {
	c := hostile.Case{
		Name: "x",
		Want: hostile.Want{
			Results: []string{"200"}, Within: "head", Closed: true, Body: "hi", Absent: []string{"secret"},
			Bytes: 1000, Again: "hi",
		},
	}
	l := hostile.Limits{Total: time.Second, Head: 100 * time.Millisecond, Slack: 10 * time.Millisecond}
	good := hostile.Outcome{Result: "200", Requests: 1, Body: []byte("hi"), Again: []byte("hi")}
	if err := hostile.Judge(&c, good, l); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(o *hostile.Outcome){
		`result "reset"`:  func(o *hostile.Outcome) { o.Result = "reset" },
		"2 requests":      func(o *hostile.Outcome) { o.Requests = 2 },
		"took 200ms":      func(o *hostile.Outcome) { o.Wall = 200 * time.Millisecond },
		"allocated":       func(o *hostile.Outcome) { o.Alloc = 16 << 20 },
		"used again":      func(o *hostile.Outcome) { o.Reused = true },
		`body "ho"`:       func(o *hostile.Outcome) { o.Body = []byte("ho") },
		"1001 bytes rec":  func(o *hostile.Outcome) { o.Received = 1001 },
		"second fetch":    func(o *hostile.Outcome) { o.Again = []byte("SMUGGLED") },
		`"secret" was se`: func(o *hostile.Outcome) { o.Sent = "GET /?secret" },
	} {
		o := good
		change(&o)
		if err := hostile.Judge(&c, o, l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	table := hostile.Table([]hostile.Result{{Case: c, Note: "fine"}, {Case: c, Err: errors.New("bad")}})
	if !strings.Contains(table, "1 of 2 pass") || !strings.Contains(table, "FAIL bad") {
		t.Error(table)
	}
}
