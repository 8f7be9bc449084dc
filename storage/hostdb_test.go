// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestCountsOf3: the due times of version 3 are skipped, and all else is read.
func TestCountsOf3(t *testing.T) {
	want := bareCounts
	want.New = 0
	var c HostCounts
	if err := DecodeHostCounts(countsOf3, &c); err != nil || c != want {
		t.Errorf("%+v %v", c, err)
	}
	for n := range countsOf3 {
		if DecodeHostCounts(countsOf3[:n], &c) == nil {
			t.Errorf("%d bytes were read", n)
		}
	}
}

// TestCountsOf4: what version 4 wrote is read without score and without what fetches found.
func TestCountsOf4(t *testing.T) {
	b := AppendHostCounts(nil, &bareCounts)
	var c HostCounts
	if err := DecodeHostCounts(older(b, 4, 1), &c); err != nil || c != bareCounts {
		t.Errorf("%+v %v", c, err)
	}
	if err := DecodeHostCounts(older(b, 4, 0), &c); err == nil {
		t.Error("version 4 with a part")
	}
}

// TestLatency: quantiles are those of the durations within the bound that Quantile names, and adding up two sketches is
// the same as one of both.
func TestLatency(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Uint64Range(2, 46_000), 1, 300).Draw(t, "ms")
		cut := rapid.IntRange(0, len(list)).Draw(t, "cut")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		var whole, left, right Latency
		for i, ms := range list {
			whole.Add(ms)
			if i < cut {
				left.Add(ms)
			} else {
				right.Add(ms)
			}
		}
		left.Merge(&right)
		if left != whole || whole.Count() != uint64(len(list)) {
			t.Fatalf("%v and %v", left, whole)
		}
		slices.Sort(list)
		exact := float64(list[max(int(math.Ceil(q*float64(len(list)))), 1)-1])
		got := float64(whole.Quantile(q))
		if bound := math.Sqrt(math.Sqrt2); got < exact/bound-.5 || got > exact*bound+.5 {
			t.Fatalf("quantile %g is %g ms, want %g", q, got, exact)
		}
	})
	var l Latency
	if l.Quantile(.5) != 0 {
		t.Error("a quantile of nothing")
	}
	for _, ms := range []uint64{0, 1, 46_341, 1 << 40, math.MaxUint64} {
		l.Add(ms)
	}
	if l[0] != 2 || l[latencyBuckets-1] != 3 {
		t.Errorf("%v", l)
	}
}

// TestCountsSize: what a host's counts take beyond those of format 12 after a life of 10,000 fetches of all kinds.
func TestCountsSize(t *testing.T) {
	var c HostCounts
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		o := FetchOutcome{Status: FetchSuccess, HTTPStatus: 200, TookMS: uint32(80 * math.Exp(random.NormFloat64()))}
		switch random.IntN(20) {
		case 0:
			o.HTTPStatus = 404
		case 1:
			o = FetchOutcome{Status: FetchRetry, Failure: "timeout_head", TookMS: 10_000}
		}
		c.Spent("https", &o)
		c.Rescore(0, 0.25)
	}
	bare := HostCounts{Bytes: c.Bytes, TookMS: c.TookMS}
	more := len(AppendHostCounts(nil, &c)) - len(AppendHostCounts(nil, &bare)) + 1
	if more > 60 {
		t.Errorf("%d bytes more", more)
	}
}

// TestHostError: each failure has its kind.
func TestHostError(t *testing.T) {
	for want, names := range map[HostError]string{
		ErrorDNS:      "dns_nx dns_fail",
		ErrorConnect:  "refused unreachable proxy",
		ErrorTLS:      "tls_verify tls_verify/expired tls_verify/name tls_verify/untrusted tls_error",
		ErrorTimeout:  "dns_timeout timeout_dial tls_timeout timeout_write timeout_head too_slow",
		ErrorBroken:   "reset closed_no_response stale_conn",
		ErrorProtocol: "head_too_large protocol_error/status_line protocol_error/te",
		ErrorRobots:   "robots_denied crawl_delay",
		ErrorOther:    "blocked_port content_type bad_location decode_error",
	} {
		for name := range strings.FieldsSeq(names) {
			if got, ok := ErrorOf(&FetchOutcome{Status: FetchRetry, Failure: name}); !ok || got != want {
				t.Errorf("%s is %s", name, got)
			}
		}
	}
	for _, c := range []struct {
		o    FetchOutcome
		want string
	}{
		{FetchOutcome{Status: FetchSuccess, HTTPStatus: 200}, ""},
		{FetchOutcome{Status: FetchNotModified, HTTPStatus: 304}, ""},
		{FetchOutcome{Status: FetchRedirPerm, HTTPStatus: 301}, ""},
		{FetchOutcome{Status: FetchGone, HTTPStatus: 410}, "http_4xx"},
		{FetchOutcome{Status: FetchRetry, HTTPStatus: 503}, "http_5xx"},
		{FetchOutcome{Status: FetchRetry, HTTPStatus: 101}, "other"},
	} {
		got, ok := ErrorOf(&c.o)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%+v: %s %v", c.o, got, ok)
		}
	}
}

// TestUsed: the newest addresses are kept, each once.
func TestUsed(t *testing.T) {
	addr := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}) }
	var f HostFacts
	if f.Used(netip.Addr{}) || len(f.Addrs()) != 0 {
		t.Error("no address is one")
	}
	for _, i := range []int{1, 2, 3, 2, 4, 5} {
		if !f.Used(addr(i)) || f.Used(addr(i)) {
			t.Errorf("address %d", i)
		}
	}
	if got, want := f.Addrs(), []netip.Addr{addr(5), addr(4), addr(2), addr(3)}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSumScores: the upgrade to format 13 makes hosts' scores the sums of those of their records.
func TestSumScores(t *testing.T) {
	s := openTest(t)
	in := s.NewIngestion()
	for h := range 3 {
		host := fmt.Sprintf("com,h%d,)", h)
		for i := range 2 + h {
			r := Record{Status: StatusUnfetched, Score: 1.5}
			key := fmt.Appendf(nil, "%s/%d http", host, i)
			if err := in.Table(Crawldb()).Set(key, AppendRecord(nil, &r)); err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Table(HostCountsRange()).Set([]byte(host), AppendHostCounts(nil, &bareCounts)); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a crash in the middle runs it again
		if err := s.buildDue(); err != nil {
			t.Fatal(err)
		}
	}
	want := bareCounts
	want.Score, want.New, want.NextDue = 6, 4, DueAt(0)
	var c HostCounts
	if _, err := s.HostCounts("com,h2,)", &c); err != nil || c != want {
		t.Errorf("%+v %v", c, err)
	}
}

// TestBuildDue: the upgrade to format 11 makes the due range and hosts' due times exact, whatever there was before.
func TestBuildDue(t *testing.T) {
	s := openTest(t)
	in := s.NewIngestion()
	const hosts = 500
	for h := range hosts {
		host := fmt.Sprintf("com,h%05d,)", h)
		c := HostCounts{NextDue: 1, Bytes: 7, New: 99}
		for i := range h % 12 {
			r := Record{Status: StatusUnfetched, FetchTime: int64(h%5*1000 + i*i%7 - 1), Score: float64(i), Depth: 300}
			if i%3 == 0 {
				r.LastFetch = 5
			}
			c.ByStatus[r.Status]++
			key := fmt.Appendf(nil, "%s/%02d http", host, i)
			if err := in.Table(Crawldb()).Set(key, AppendRecord(nil, &r)); err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Table(HostCountsRange()).Set([]byte(host), AppendHostCounts(nil, &c)); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Table(Due()).Set([]byte("com,h00011,)\x01\x01\x01/00 http"), nil); err != nil {
		t.Fatal(err)
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a crash in the middle runs it again
		if err := s.buildDue(); err != nil {
			t.Fatal(err)
		}
		if report, err := s.Verify(context.Background()); err != nil || !report.OK() {
			t.Fatalf("%v\n%s", err, report)
		}
	}
	var c HostCounts
	_, err := s.HostCounts("com,h00011,)", &c)
	if err != nil || c.NextDue != 999 || c.Bytes != 7 || c.New != 7 {
		t.Errorf("%+v %v", c, err)
	}
}
