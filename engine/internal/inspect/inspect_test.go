// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

func TestRecords(t *testing.T) {
	w := newWorld(t, anywhere())
	meta := []storage.Field{{Name: "k", Value: "v"}}
	w.record("http://b.example/x", storage.Record{Status: storage.StatusGone, Meta: meta})
	w.record("http://a.example/", storage.Record{})
	w.record("http://b.example/", storage.Record{})
	w.record("http://b.example:8080/", storage.Record{})
	for _, c := range []struct {
		f    Filter
		want string
	}{
		{Filter{}, "http://a.example/ http://b.example/ http://b.example/x http://b.example:8080/"},
		{Filter{Prefix: "b.example"}, "http://b.example/ http://b.example/x"},
		{Filter{Prefix: "b.example:8080"}, "http://b.example:8080/"},
		{Filter{Prefix: "example,b"}, "http://b.example/ http://b.example/x http://b.example:8080/"},
		{Filter{Prefix: "example,\xff"}, ""},
		{Filter{Prefix: "http://b.example"}, "http://b.example/ http://b.example/x"},
		{Filter{Prefix: "http://B.example:80/x*"}, "http://b.example/x"},
		{Filter{Prefix: "http://b.example:8080/", Sample: 9}, "http://b.example:8080/"},
		{Filter{Prefix: "https://b.example/", Sample: 9}, ""},
		{Filter{Prefix: "https://b.example/"}, ""},
		{Filter{Statuses: []storage.Status{storage.StatusGone, storage.StatusOrphan}}, "http://b.example/x"},
	} {
		var got []string
		for r, err := range w.Records(ctx, c.f) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, spell(t, r.Key))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v, want %s", c.f, got, c.want)
		}
	}
	for _, wrong := range []string{"no host", "b.example/x", "ftp://b.example/"} {
		if _, err := collect(w.Records(ctx, Filter{Prefix: wrong})); err == nil {
			t.Errorf("a prefix such as %q has no error", wrong)
		}
	}
	r, err := w.Record(parsed(t, "http://b.example/x"))
	if err != nil || r.Status != storage.StatusGone || len(r.Meta) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRecordNotFound: the error names the command that says why a URL is not known, and guesses nothing.
func TestRecordNotFound(t *testing.T) {
	for _, o := range []admission.Options{{}, anywhere()} {
		_, err := newWorld(t, o).Record(parsed(t, "http://a.example/"))
		if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), `"seine check url --dir DIR URL" says why`) ||
			strings.Contains(err.Error(), "refused") {
			t.Error(err)
		}
	}
}

func TestTop(t *testing.T) {
	w := newWorld(t, anywhere())
	records := []storage.Record{
		{Score: 1}, {Score: 3, Depth: 2}, {Score: 3, Depth: 1}, {Score: 2}, {Score: 3, Depth: 1},
	}
	for i, r := range records {
		w.record(fmt.Sprintf("http://a.example/%d", i), r)
	}
	for n, want := range map[int]string{-1: "", 0: "", 1: "/2", 4: "/2 /4 /1 /3", 9: "/2 /4 /1 /3 /0"} {
		list, err := w.TopRecords(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range list {
			got = append(got, strings.TrimPrefix(spell(t, r.Key), "http://a.example"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("top %d: %v, want %s", n, got, want)
		}
	}
}

// TestBest: the best of random keys are those of a sort, whatever the order of the offers.
func TestBest(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var all []ranked
		b := best{limit: rnd.IntN(12)}
		for i := range rnd.IntN(40) {
			x := ranked{fmt.Sprintf("%02d", (i*7)%41), float64(rnd.IntN(3)), uint16(rnd.IntN(3))}
			all = append(all, x)
			b.offer([]byte(x.key), x.score, x.depth)
		}
		slices.SortFunc(all, func(x, y ranked) int {
			if y.worse([]byte(x.key), x.score, x.depth) {
				return -1
			}
			return 1
		})
		if got, want := b.sorted(), all[:min(b.limit, len(all))]; !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

func TestStats(t *testing.T) {
	w := newWorld(t, anywhere())
	if s, err := w.Stats(ctx, true); err != nil || s.URLs != 0 || s.Quantile(.5) != 0 {
		t.Errorf("empty: %+v, %v", s, err)
	}
	w.record("http://a.example/", storage.Record{Interval: 100, FetchTime: 3000, Score: 1})
	w.record("http://a.example/x", storage.Record{Interval: 300, FetchTime: 1000, Score: 4, Retries: 2})
	w.record("http://b.example/", storage.Record{Interval: 200, FetchTime: 2000, Score: 1, Status: storage.StatusGone})
	s, err := w.Stats(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(s.URLs, s.ShortestInterval, s.AvgInterval, s.LongestInterval,
		s.EarliestFetch, s.AvgFetch, s.LatestFetch, s.Retries[0], s.Retries[2],
		s.MinScore, s.AvgScore, s.MaxScore, s.Scores, s.Quantile(0), s.Quantile(1))
	if want := "3 100 200 300 1000 2000 3000 2 1 1 2 4 [1 1 4] 1 4"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if h := s.Hosts; len(h) != 2 || h[0].Status[storage.StatusUnfetched] != 2 || h[1].Status[storage.StatusGone] != 1 {
		t.Errorf("hosts: %+v", s.Hosts)
	}
	if s, _ := w.Stats(ctx, false); s.Hosts != nil {
		t.Error("hosts that nobody requested")
	}
}

// TestSampler: however many numbers there are, an even sample of at least half the limit is kept.
func TestSampler(t *testing.T) {
	for n := 1; n < 1000; n++ {
		s := sampler{limit: 16, every: 1}
		for i := range n {
			s.add(float64(i + 1))
		}
		if len(s.kept) > 16 || len(s.kept) < min(n, 8) {
			t.Fatalf("%d of %d numbers are kept", len(s.kept), n)
		}
		for i, v := range s.kept {
			if int(v) != (i+1)*s.every {
				t.Fatalf("of %d numbers: %v", n, s.kept)
			}
		}
	}
}

func TestHosts(t *testing.T) {
	w := newWorld(t, anywhere())
	for i, name := range []string{"a.example", "b.example", "c.example"} {
		c := storage.HostCounts{Bytes: uint64(i)}
		c.ByStatus[storage.StatusFetched], c.ByStatus[storage.StatusGone] = uint32(i%2), 2
		w.counts(name, c)
	}
	w.facts(storage.AuthorityKey(w.host("b.example"), "https"), storage.HostFacts{RobotsStatus: 200, RobotsFetched: 7})
	w.facts(storage.HostStateKey(w.host("b.example")), storage.HostFacts{Failures: 3})
	names := func(list []Host, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		var s []string
		for _, h := range list {
			s = append(s, fmt.Sprint(h.Key, h.URLs()))
		}
		return strings.Join(s, " ")
	}
	if got := names(collect(w.Hosts(ctx, ""))); got != "a.example2 b.example3 c.example2" {
		t.Error(got)
	}
	if got := names(w.TopHosts(ctx, 2, nil)); got != "b.example3 a.example2" {
		t.Error(got)
	}
	bytes := func(c *storage.HostCounts) uint64 { return c.Bytes }
	if got := names(w.TopHosts(ctx, 2, bytes)); got != "c.example2 b.example3" {
		t.Error(got)
	}
	h, err := w.Host(w.host("b.example"))
	a := h.Authorities
	if err != nil || len(a) != 1 || a[0].Scheme != "https" || a[0].Facts.RobotsFetched != 7 {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := w.Host(w.host("nobody.example")); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// TestDomains: a domain around a public suffix is one, also where it is not among the largest so far.
func TestDomains(t *testing.T) {
	w := newWorld(t, anywhere())
	for name, fetched := range map[string]uint32{
		"aws.amazonaws.com": 1, "a.s3.amazonaws.com": 3, "b.s3.amazonaws.com": 4, "c.s3.amazonaws.com": 2,
		"d.s3.amazonaws.com": 2, "www.amazonaws.com": 9, "b.example": 5,
	} {
		var c storage.HostCounts
		c.ByStatus[storage.StatusFetched] = fetched
		w.counts(name, c)
	}
	for limit, want := range []string{
		"amazonaws.com 2 10 a.s3.amazonaws.com 1 3 b.s3.amazonaws.com 1 4 c.s3.amazonaws.com 1 2 " +
			"d.s3.amazonaws.com 1 2 b.example 1 5",
		"amazonaws.com 2 10",
		"amazonaws.com 2 10 b.example 1 5",
		"amazonaws.com 2 10 b.example 1 5 b.s3.amazonaws.com 1 4",
	} {
		list, err := w.Domains(ctx, limit)
		var got []string
		for _, d := range list {
			got = append(got, fmt.Sprint(d.Name, " ", d.Hosts, " ", d.URLs))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("the %d largest: %q, %v, want %q", limit, got, err, want)
		}
	}
}

// TestInlinks: only the newest version of a linking page counts, and a truncated one does not replace a complete one,
// nor does a redirect or that the page is gone.
func TestInlinks(t *testing.T) {
	w := newWorld(t, anywhere())
	const target = "http://t.example/"
	link := func(from, anchor string) storage.Inlink {
		return storage.Inlink{From: parsed(t, from).Key(), Anchor: anchor}
	}
	old, fresh, cut := "http://a.example/", "http://b.example/", "http://c.example/"
	w.inlinks(target, 1, link(old, "old"), link(fresh, "was"), link(cut, "whole"))
	w.inlinks(target, 2, link(fresh, "is"))
	w.inlinks(target, 3, link(cut, "whole"))
	w.inlinks("http://t.example/x", 1, link(old, "another target"))
	w.record(old, storage.Record{Segment: 1, Status: storage.StatusUnfetched})
	w.record(fresh, storage.Record{Segment: 2})
	w.record(cut, storage.Record{Segment: 1}) // segment 3 has a truncated version
	moved, gone := "http://d.example/", "http://e.example/"
	w.inlinks(target, 4, link(moved, "before"), link(gone, "it was gone"))
	w.record(moved, storage.Record{Segment: 4, Status: storage.StatusRedirPerm})
	w.record(gone, storage.Record{Segment: 4, Status: storage.StatusGone})
	all := "old whole is before it was gone"
	for limit, want := range map[int]string{0: all, 1: "old", 3: "old whole is", 9: all} {
		var got []string
		for l, err := range w.Inlinks(ctx, parsed(t, target), limit) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, l.Anchor)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("limit %d: %v, want %s", limit, got, want)
		}
	}
}

func TestSegments(t *testing.T) {
	w := newWorld(t, anywhere())
	if _, err := collect(w.ParseRecords(ctx, 0, urlkey.URL{})); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	w.segment(1, storage.SegmentIndexed)
	w.segment(2, storage.SegmentSealed)
	w.segment(3, storage.SegmentOpen)
	if _, err := collect(w.ParseRecords(ctx, 0, urlkey.URL{})); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	list, err := collect(w.Segments(ctx))
	if err != nil || len(list) != 3 || list[1].State != storage.SegmentSealed {
		t.Errorf("%+v, %v", list, err)
	}
	if s, err := w.Segment(2); err != nil || s.Number != 2 || !s.Created.Equal(w.now) {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := w.Segment(4); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	w.outcome(1, "http://a.example/", storage.FetchOutcome{Status: storage.FetchSuccess}, "first")
	w.outcome(2, "http://a.example/", storage.FetchOutcome{Status: storage.FetchSuccess}, "second")
	w.outcome(2, "http://a.example/b", storage.FetchOutcome{Status: storage.FetchGone}, "")
	w.outcome(2, "http://a.example/c", storage.FetchOutcome{Status: storage.FetchSuccess}, "third")
	w.segment(5, storage.SegmentSealed) // with nothing in it
	w.record("http://a.example/", storage.Record{Segment: 1})
	w.record("http://a.example/unfetched", storage.Record{})
	w.record("http://a.example/b", storage.Record{Status: storage.StatusGone, LastFetch: 1})
	for _, c := range []struct {
		segment uint32
		url     string
		want    string // titles, "-" for none; an error otherwise
	}{
		{0, "", "2 second, 2 -, 2 third"}, {1, "", "1 first"}, {2, "http://a.example/", "2 second"},
		{0, "http://a.example/", "2 second"}, {3, "", "it is open"}, {4, "", "segment 4: not found"},
		{1, "http://a.example/b", "it was not fetched there"}, {0, "http://a.example/unfetched", "it was not fetched"},
		{0, "http://a.example/unknown", "it was not fetched"}, {0, "http://a.example/b", "2 -"},
	} {
		var u urlkey.URL
		if c.url != "" {
			u = parsed(t, c.url)
		}
		var got []string
		for p, err := range w.ParseRecords(ctx, c.segment, u) {
			title := "-"
			switch {
			case err != nil && !errors.Is(err, ErrNotFound):
				t.Fatal(err)
			case err != nil:
				got = append(got, err.Error())
				continue
			case p.Text != nil:
				title = p.Text.Title
			}
			got = append(got, fmt.Sprint(p.Segment, " ", title))
		}
		if s := strings.Join(got, ", "); s != c.want && (len(got) != 1 || !strings.Contains(s, c.want)) {
			t.Errorf("segment %d, %s: %s, want %s", c.segment, c.url, s, c.want)
		}
	}
}

func TestCapturesAndVerify(t *testing.T) {
	w := newWorld(t, anywhere())
	w.segment(1, storage.SegmentOpen)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	w.capture("http://b.example/", "later", at)
	w.capture("http://a.example/?q=1", "first", at)
	w.capture("https://www.a.example/?q=1", "second", at.Add(time.Minute))
	w.capture("http://a.example/?q=1", "third", at.Add(time.Hour))
	var b bytes.Buffer
	if err := w.ExportCDXJ(ctx, &b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	first := `example,a)/?q=1 20260102030405 {"url": "http://a.example/?q=1", "mime": "text/plain"`
	second := `example,a)/?q=1 20260102030505 {"url": "https://www.a.example/?q=1"`
	if len(lines) != 5 || !strings.HasPrefix(lines[0], first) || !strings.HasPrefix(lines[1], second) ||
		!slices.IsSorted(lines[:4]) {
		t.Errorf("%s", b.String())
	}
}

// TestVerifyFiles: what is wrong with WARC files, and what they and the store say of one another, is found; each
// problem once.
func TestVerifyFiles(t *testing.T) {
	const file = "warc/seine-first-00000.warc.gz"
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	for name, c := range map[string]struct {
		spoil func(w *world, c storage.CDX)
		want  []string // problems, in order
	}{
		"sound": {func(*world, storage.CDX) {}, nil},
		"digest": {func(w *world, c storage.CDX) {
			c.Digest[0]++
			w.cdx("http://a.example/?q=1", at, c)
		}, []string{"capture: http://a.example/?q=1 at " + file + ", offset 324: the store has digest"}},
		"another page's": {func(w *world, c storage.CDX) { w.cdx("http://c.example/", at, c) },
			[]string{"capture: http://c.example/ at " + file}},
		"missing": {func(w *world, c storage.CDX) { w.must(w.env.FS.Remove(w.path(c))) }, []string{
			"WARC file: " + file + " of segment 1 is missing",
			"capture: http://a.example/?q=1: its record at"}},
		"cut": {func(w *world, c storage.CDX) { w.must(w.env.FS.Truncate(w.path(c), c.Location.Offset+3)) }, []string{
			"WARC file: " + file + " has", "WARC record: " + file,
			"capture: http://a.example/?q=1: its record at"}},
		"appended": {func(w *world, c storage.CDX) { w.change(c, func(b []byte) []byte { return append(b, b...) }) },
			[]string{"WARC file: " + file + " has"}},
		"flipped": {func(w *world, c storage.CDX) {
			w.change(c, func(b []byte) []byte { b[40] ^= 4; return b })
		}, []string{"WARC record: " + file}},
		"stray": {func(w *world, c storage.CDX) { w.exchange("http://d.example/", "stranger", at) }, nil},
		"forgotten": {func(w *world, c storage.CDX) {
			w.must(w.store.Apply(func(b *storage.Batch) error {
				key := storage.AppendCDXKey(nil, w.key("http://a.example/?q=1"), at.UnixMilli())
				return b.Delete(storage.CDXRange(), key)
			}))
		}, []string{"capture: http://a.example/?q=1 at " + file + ", offset 324: the store does not know"}},
		"outcome": {func(w *world, c storage.CDX) {
			gone := warc.Location{File: c.Location.File, Offset: 7}
			w.outcome(1, "http://e.example/", storage.FetchOutcome{Status: storage.FetchGone, Location: gone}, "")
		}, []string{"capture: the outcome of example,e,)/ http: its record at"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, anywhere())
			w.capture("http://b.example/", "later", at)
			first := w.capture("http://a.example/?q=1", "first", at)
			w.sealed(1)
			c.spoil(w, first)
			v, err := w.Verify(ctx, nil)
			w.must(err)
			var got []string
			for _, k := range v.Kinds {
				for _, f := range k.Found {
					got = append(got, k.Kind+": "+f)
				}
			}
			if (name == "stray") != (v.Strays == 1) {
				t.Errorf("%d strays", v.Strays)
			}
			same := len(got) == len(c.want) && v.Problems == uint64(len(got))
			for i := range c.want {
				same = same && strings.HasPrefix(got[i], c.want[i])
			}
			if !same {
				t.Errorf("%d problems: %q, want %q", v.Problems, got, c.want)
			}
		})
	}
}

// TestVerifyFault: an error of the machine ends Verify, and no problem is made of it.
func TestVerifyFault(t *testing.T) {
	w := newWorld(t, anywhere())
	w.capture("http://a.example/", "first", time.UnixMilli(1))
	w.sealed(1)
	w.env.FS = brokenFS{w.env.FS}
	if v, err := w.Verify(ctx, nil); !errors.Is(err, syscall.EMFILE) || v.Problems != 0 {
		t.Errorf("%v, %d problems", err, v.Problems)
	}
}

// brokenFS opens no file.
type brokenFS struct{ warc.FS }

func (brokenFS) Open(name string) (warc.File, error) {
	return nil, &os.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
}

func TestExplain(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny, MaxDepth: 3, Host: admission.Cost{URLs: 5}})
	u := parsed(t, "https://a.example/private")
	host := u.HostKey()
	x, err := w.Explain(u)
	if err != nil || !x.Verdict.OK() || x.Known || x.Robots != admission.RobotsUnknown || x.Unreachable ||
		x.PausedUntil != 0 {
		t.Errorf("unknown: %+v, %v", x, err)
	}
	w.facts(storage.AuthorityKey(host, "http"), storage.HostFacts{RobotsFetched: 1, RobotsStatus: 599})
	denies := storage.HostFacts{RobotsFetched: 1, RobotsStatus: 200, Robots: []byte("/private")}
	w.facts(storage.AuthorityKey(host, "https"), denies)
	w.now = w.now.Add(time.Hour) // the domain's budget is remembered for a while
	w.facts(storage.HostStateKey(host), storage.HostFacts{NextFetch: w.now.UnixMilli() + 1, Failures: 2})
	var c storage.HostCounts
	c.ByStatus[storage.StatusFetched] = 7
	w.counts("a.example", c)
	x, err = w.Explain(u)
	if err != nil || x.Verdict.Reason != admission.ReasonRobots || x.Robots != admission.RobotsDenied ||
		x.PausedUntil != w.now.UnixMilli()+1 || x.Failures != 2 || x.Host.Used.URLs != 7 || x.Host.Limit.URLs != 5 ||
		x.Domain.Used.URLs != 7 {
		t.Errorf("denied: %+v, %v", x, err)
	}
	w.now = w.now.Add(time.Hour)
	w.record("http://a.example/", storage.Record{Depth: 4, FetchTime: 77})
	x, err = w.Explain(parsed(t, "http://a.example/"))
	if err != nil || x.Verdict.Reason != admission.ReasonDepth || !x.Known || x.Record.FetchTime != 77 ||
		!x.Unreachable || x.PausedUntil != 0 {
		t.Errorf("deep: %+v, %v", x, err)
	}
}

// TestStreams: each stream ends with the context's error, and with a break.
func TestStreams(t *testing.T) {
	w := newWorld(t, anywhere())
	w.record("http://a.example/", storage.Record{})
	w.counts("a.example", storage.HostCounts{})
	w.inlinks("http://a.example/", 1, storage.Inlink{From: "example,b,)/ http"})
	w.segment(1, storage.SegmentSealed)
	w.outcome(1, "http://a.example/", storage.FetchOutcome{Status: storage.FetchSuccess}, "")
	w.capture("http://a.example/", "body", w.now)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	check := func(name string, run func(ctx context.Context) (int, error)) {
		if n, err := run(ctx); n != 1 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		if n, err := run(canceled); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("%s, canceled: %d, %v", name, n, err)
		}
	}
	check("records", func(ctx context.Context) (int, error) {
		list, err := collect(w.Records(ctx, Filter{}))
		return len(list), err
	})
	check("hosts", func(ctx context.Context) (int, error) {
		list, err := collect(w.Hosts(ctx, ""))
		return len(list), err
	})
	check("inlinks", func(ctx context.Context) (int, error) {
		list, err := collect(w.Inlinks(ctx, parsed(t, "http://a.example/"), 0))
		return len(list), err
	})
	check("segments", func(ctx context.Context) (int, error) {
		list, err := collect(w.Segments(ctx))
		return len(list), err
	})
	check("parse records", func(ctx context.Context) (int, error) {
		list, err := collect(w.ParseRecords(ctx, 0, urlkey.URL{}))
		return len(list), err
	})
	check("captures", func(ctx context.Context) (int, error) {
		list, err := collect(w.Captures(ctx))
		return len(list), err
	})
	for range w.Records(ctx, Filter{}) {
		break // the store's Close fails when a scanner is still open
	}
	for range w.ParseRecords(ctx, 0, urlkey.URL{}) {
		break
	}
	if _, err := w.Verify(canceled, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestPartsHaveNoContent: a part that nobody requested (206) is neither the stored copy of a URL nor counted as
// content; of several Content-Type fields, that one says the charset of a copy which counts for the parser, too.
func TestPartsHaveNoContent(t *testing.T) {
	const url = "http://a.example/"
	w := newWorld(t, anywhere())
	at := time.UnixMilli(1_000_000)
	w.capture(url, "all", at, "Content-Type: text/plain; charset=GBK")
	part := w.capture(url, "some", at.Add(time.Minute))
	part.HTTPStatus, part.MediaType = 206, ""
	w.cdx(url, at.Add(time.Minute), part)
	c, err := w.StoredCopy(ctx, parsed(t, url), time.Time{})
	if err != nil || string(c.Body) != "all" || c.Charset != "gbk" {
		t.Errorf("%q in %q, %v", c.Body, c.Charset, err)
	}
	types, err := w.MediaTypes(ctx)
	if err != nil || len(types) != 1 || types[0].Captures != 1 {
		t.Errorf("%+v, %v", types, err)
	}
}
