// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/bench/hostile"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// hostileScale shortens the servers' waits, as the deadlines of limitsOf are short.
const hostileScale = 0.5

// patientLimits are deadlines that nothing reaches, on a busy machine either.
var patientLimits = hostile.Limits{
	Total: time.Minute, Head: time.Minute, Dial: time.Minute, TLS: time.Minute, DNS: time.Minute,
	Slack: 3 * time.Second,
}

// limitsOf are the deadlines for a case. Those that end it are short.
func limitsOf(c *hostile.Case) hostile.Limits {
	l := patientLimits
	if slices.Contains(c.Want.Results, "timeout_head") {
		l.Head = 800 * time.Millisecond
	}
	switch c.Want.Within {
	case "total":
		l.Total = 2 * time.Second
	case "dial":
		l.Dial = 800 * time.Millisecond
	case "tls":
		l.TLS = time.Second
	case "dns":
		l.DNS = 500 * time.Millisecond
	}
	return l
}

// hostileClient returns a client for the cases; with policy it refuses private addresses. Its minimum rate holds after
// the grace.
func hostileClient(t *testing.T, s *hostile.Server, policy bool, l hostile.Limits, grace time.Duration) *fetch.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.CA())
	c, err := fetch.NewClient(fetch.Options{
		UserAgent:    "seine-test",
		AllowPrivate: !policy,
		HeadTimeout:  l.Head,
		TotalTimeout: l.Total,
		DialTimeout:  l.Dial,
		TLSTimeout:   l.TLS,
		Grace:        grace,
		TLSConfig:    &tls.Config{RootCAs: pool},
		Resolver:     fetch.NewResolver(fetch.ResolverOptions{LookUp: s.LookUp, Timeout: l.DNS}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// try makes one exchange and returns its outcome.
func try(c *fetch.Client, raw string) (o hostile.Outcome) {
	u, err := urlkey.Parse(raw)
	if err != nil {
		return hostile.Outcome{Result: "bad_url"}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	r := c.Fetch(context.Background(), &fetch.Request{URL: u})
	defer r.Release()
	o.Received = r.Received
	if o.Result = string(r.Failure); r.Failure == "" {
		o.Result = fmt.Sprint(r.Status)
		body, cut, err := r.Content()
		o.Body = append([]byte(nil), body...)
		switch {
		case r.Truncated != "":
			o.Result += " " + r.Truncated
		case errors.Is(err, fetch.ErrEncoding) || err != nil && len(body) == 0:
			o.Result += " decode"
		case cut || err != nil:
			o.Result += " cut"
		}
	}
	o.Wall = time.Since(start)
	runtime.ReadMemStats(&after)
	o.Alloc = int64(after.TotalAlloc-before.TotalAlloc) - int64(len(o.Body))
	return o
}

// meet plays a case against a new client. It returns the outcome and the verdict on it.
func meet(t *testing.T, s *hostile.Server, c *hostile.Case) (hostile.Outcome, error) {
	limits, grace := limitsOf(c), time.Minute
	if slices.Contains(c.Want.Results, "too_slow") {
		grace = 200 * time.Millisecond
	}
	client := hostileClient(t, s, c.Policy, limits, grace)
	defer client.Close()
	before := s.Log().Tally(c.Name)
	o := try(client, s.URL(c))
	seen := s.Log().Tally(c.Name)
	o.Requests = seen.Requests - before.Requests
	o.Sent = strings.Join(seen.Heads[min(before.Requests, len(seen.Heads)):], "")
	if c.Want.Closed && !strings.HasPrefix(o.Result, "bad") {
		again := client.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, s.URL(c))})
		o.Reused = again.Reused && again.Failure != fetch.FailStale
		again.Release()
	}
	if c.Want.Again != "" {
		for s.Log().Tally(c.Name).InFlight > 0 {
			time.Sleep(time.Millisecond)
		}
		for range 2 {
			again := client.Fetch(context.Background(), &fetch.Request{URL: mustParse(t, s.URL(c))})
			body, _, _ := again.Content()
			o.Again = append([]byte(nil), body...)
			stale := again.Failure == fetch.FailStale
			again.Release()
			if !stale {
				break
			}
		}
	}
	if o.Alloc > 4<<20 {
		// Alloc counts the whole process, so it includes cases that are still ending. What another try allocates
		// too is this case's.
		again := hostileClient(t, s, c.Policy, limits, grace)
		defer again.Close()
		for range 2 {
			o.Alloc = min(o.Alloc, try(again, s.URL(c)).Alloc)
		}
	}
	return o, hostile.Judge(c, o, limits)
}

func mustParse(t *testing.T, raw string) urlkey.URL {
	t.Helper()
	u, err := urlkey.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestHostileCases: every case of the hostile web has its expected outcome.
func TestHostileCases(t *testing.T) {
	s, err := hostile.Start(hostile.Options{Scale: hostileScale})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var results []hostile.Result
	for _, c := range hostile.Cases() {
		o, err := meet(t, s, &c)
		results = append(results, hostile.Result{Case: c, Err: err, Note: o.String() + ": " + c.Does})
		if err != nil {
			t.Error(err)
		}
	}
	t.Logf("outcome, bytes and time of each case:\n%s", hostile.Table(results))
	if file := os.Getenv("SEINE_HOSTILE_TABLE"); file != "" {
		if err := os.WriteFile(file, []byte(hostile.Table(results)), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// TestHostileReplay: recorded responses of real and of broken servers.
func TestHostileReplay(t *testing.T) {
	data := os.Getenv("SEINE_CONFORMANCE_DATA")
	if data == "" {
		t.Skip("SEINE_CONFORMANCE_DATA is not set: no recorded responses")
	}
	cases, err := hostile.Replay(filepath.Join(data, "http"))
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 400 {
		t.Errorf("%d recorded responses, want over 400", len(cases))
	}
	s, err := hostile.Start(hostile.Options{Cases: cases})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range cases {
		if _, err := meet(t, s, &c); err != nil {
			t.Errorf("%v (%s)", err, c.Does)
		}
	}
}

// TestHostileAtOnce: all cases at the same time, several times over, do not affect honest hosts.
func TestHostileAtOnce(t *testing.T) {
	s, err := hostile.Start(hostile.Options{Scale: hostileScale})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	honest := serve(t, said("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
	// On a busy machine seven hundred concurrent fetches take long, honest ones too.
	const wait = 10 * time.Second
	client := hostileClient(t, s, false,
		hostile.Limits{Total: wait, Head: wait, Dial: wait, TLS: wait, DNS: wait}, 200*time.Millisecond)
	defer client.Close()
	var wg sync.WaitGroup
	for range 3 {
		for _, u := range s.Seeds() {
			if parsed, err := urlkey.Parse(u); err == nil {
				wg.Go(func() { client.Fetch(context.Background(), &fetch.Request{URL: parsed}).Release() })
			}
		}
	}
	for range 200 {
		req := &fetch.Request{URL: honest.url("/"), Addr: netip.MustParseAddr("127.0.0.1")}
		r := client.Fetch(context.Background(), req)
		if r.Failure == fetch.FailStale { // the server closed a kept connection; the caller sends the request again
			r.Release()
			r = client.Fetch(context.Background(), req)
		}
		if r.Failure != "" || r.Status != 200 || string(r.Body) != "hi" {
			t.Errorf("an honest host: %s %v", r.Failure, r.Err)
		}
		r.Release()
	}
	wg.Wait()
}
