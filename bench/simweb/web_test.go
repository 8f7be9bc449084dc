// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files")

func newWeb(t testing.TB, p Params) *Web {
	t.Helper()
	w, err := New(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var someDay = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestGolden: the bytes of webs are the same as when the file was written, on every machine. To change them on purpose,
// run it with -rewrite and say so in the commit.
func TestGolden(t *testing.T) {
	var b bytes.Buffer
	for _, c := range []struct {
		name string
		p    Params
	}{{"default", Default()}, {"small", Small()}, {"lively", Lively()}, {"heavy", Heavy()}, {"bench", Bench(10, 100)}} {
		w := newWeb(t, c.p)
		for h := range 10 {
			tag, charset := w.Language(h)
			all := xxh3.New()
			for n := range min(w.Pages(h), 40) {
				p := w.Page(h, n)
				fmt.Fprintf(all, "%s %s %d\n", w.URL(h, n), p.Location, p.Status)
				if p.Status == 200 {
					all.Write(w.AppendHTML(nil, h, n, someDay))
				}
			}
			all.Write(w.appendRobots(nil, h))
			fmt.Fprintf(
				&b, "%s %s %s %d %s %s %016x\n", c.name, w.Host(h), w.Address(h), w.Pages(h), tag, charset,
				all.Sum64(),
			)
		}
	}
	file := filepath.Join("testdata", "golden.txt")
	if *rewrite {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the synthetic web has changed (-want +got):\n%s", diff)
	}
}

// TestPaths: every page is found again by its path, and by no other spelling of it.
func TestPaths(t *testing.T) {
	w := newWeb(t, Lively())
	seen := map[string]bool{}
	for i := range w.Hosts() {
		h := w.host(i)
		for n := range h.pages {
			d := w.draw(&h, n)
			path := string(w.appendPath(nil, &h, n, &d, false))
			if u := w.URL(i, n); seen[u] {
				t.Errorf("two pages have the URL %s", u)
			} else {
				seen[u] = true
			}
			if got, _, ok := w.number(&h, []byte(path)); !ok || got != n {
				t.Errorf("%s: found %d %v, want %d", path, got, ok, n)
			}
			if got, _, ok := w.number(&h, []byte(path+"x")); ok {
				t.Errorf("%sx: found %d", path, got)
			}
		}
	}
	h := w.host(0)
	for _, path := range []string{
		"", "/x", "/.html", "/weather/a-b-01.html", "/weather?id=", "/weather?id=99999999999&sort=date",
		"/fishing/x-1.html",
	} {
		if n, _, ok := w.number(&h, []byte(path)); ok {
			t.Errorf("%q: found %d", path, n)
		}
	}
}

func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.IntRange(1, maxHosts).Draw(t, "hosts")
		names := newHostNames(hosts, rapid.Float64Range(1, 20).Draw(t, "per domain"))
		host := rapid.IntRange(0, hosts-1).Draw(t, "host")
		name := names.append(nil, host)
		if got := names.find(name); got != host {
			t.Fatalf("%s: found host %d, want %d", name, got, host)
		}
		if got := names.find(bytes.ToUpper(name)); got != host {
			t.Fatalf("%s in capitals: found host %d, want %d", name, got, host)
		}
		if n := addressNumber(address(host)); n != host {
			t.Fatalf("address %s: number %d, want %d", address(host), n, host)
		}
	})
	names := newHostNames(10, 1)
	for _, name := range []string{
		"", "example", "www.kestrel-10.example", "www.petrel-0.example", "blog.kestrel-0.example",
		"www.kestrel-00.example", "www.kestrel-0.example.com", "h0.kestrel-0.example", "www.kestrel--1.example",
	} {
		if h := names.find([]byte(name)); h >= 0 {
			t.Errorf("%q: found host %d", name, h)
		}
	}
}

// TestDuplicates: exact duplicates have equal bytes; near-duplicates share their paragraphs but not their links.
func TestDuplicates(t *testing.T) {
	w := newWeb(t, Small())
	exact, nearly := 0, 0
	for h := range w.Hosts() {
		for n := range w.Pages(h) {
			p := w.Page(h, n)
			if p.Original == n || p.Status != 200 {
				continue
			}
			a, b := string(w.AppendHTML(nil, h, n, someDay)), string(w.AppendHTML(nil, h, p.Original, someDay))
			switch p.Kind {
			case KindDuplicate:
				exact++
				if a != b {
					t.Fatalf("%s is no duplicate of page %d", p.URL, p.Original)
				}
			case KindNearDuplicate:
				nearly++
				if x, y := paragraphs(a), paragraphs(b); a == b || !alike(x, y) {
					t.Fatalf("%s is no near-duplicate of page %d:\n%q\n%q", p.URL, p.Original, x, y)
				}
			}
		}
	}
	if exact < 20 || nearly < 100 {
		t.Errorf("only %d duplicates and %d near-duplicates", exact, nearly)
	}
}

// alike: the heads of two pages differ in length by a robots tag at most, so one may have room for a
// paragraph more.
func alike(a, b []string) bool {
	n := min(len(a), len(b))
	return n > 0 && len(a)-n <= 1 && len(b)-n <= 1 && slices.Equal(a[:n], b[:n])
}

func paragraphs(page string) (out []string) {
	for _, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "<p>") {
			out = append(out, line)
		}
	}
	return out
}

// TestChange: changes come at the rate of the parameters, a page does not change between two of them, and its links
// never change.
func TestChange(t *testing.T) {
	p := Small()
	p.ChangeEvery = 24 * time.Hour
	w := newWeb(t, p)
	h := w.host(0)
	changes, hours := 0, 0
	for n := range 20 {
		before := w.lastChange(&h, n, someDay)
		for hour := 1; hour < 2400; hour++ {
			now := someDay.Add(time.Duration(hour) * time.Hour)
			c := w.lastChange(&h, n, now)
			if c.at.After(now) || c.at.Before(before.at) {
				t.Fatalf("page %d at %s: changed %s, before that %s", n, now, c.at, before.at)
			}
			if (c.number != before.number) == c.at.Equal(before.at) {
				t.Fatalf("page %d at %s: %v after %v", n, now, c, before)
			}
			changes += int(one(c.number != before.number))
			before = c
			hours++
		}
	}
	// Of the changes within one hour only the last is seen.
	near(t, "changes an hour", float64(changes)/float64(hours), 1-math.Exp(-1.0/24), 0.002)

	later := someDay.Add(1000 * time.Hour)
	a, b := w.AppendHTML(nil, 0, 1, someDay), w.AppendHTML(nil, 0, 1, later)
	if bytes.Equal(a, b) {
		t.Error("page 1 has not changed in 1000 hours")
	}
	if got, want := bytes.Count(a, []byte("<a ")), bytes.Count(b, []byte("<a ")); got != want {
		t.Errorf("%d links became %d", got, want)
	}
}

// TestHuge: a web of a billion pages on ten million hosts takes little memory.
func TestHuge(t *testing.T) {
	p := Default()
	p.Hosts, p.MeanPages = 10_000_000, 100
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := newWeb(t, p)
	ledger := newLedger(w, someDay)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if mb := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20; mb > 100 {
		t.Errorf("it takes %d MB", mb)
	}
	last := p.Hosts - 1
	if got := w.find([]byte(w.Host(last))); got != last {
		t.Errorf("%s: found host %d, want %d", w.Host(last), got, last)
	}
	if len(w.AppendHTML(nil, last, 0, someDay)) == 0 {
		t.Error("its last host's first page is empty")
	}
	runtime.KeepAlive(ledger)
}

func TestValidate(t *testing.T) {
	for _, p := range []Params{Default(), Small(), Lively(), Heavy(), Bench(3, 5)} {
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	}
	p := Default()
	p.Hosts, p.External, p.PageSigma, p.Latency, p.MaxPages = 0, 1.5, math.NaN(), -1, 10
	p.Duplicate, p.Missing, p.Languages = 0.9, 0.9, Mix{{"xx", 1}}
	err := p.Validate()
	if err == nil {
		t.Fatal("nothing was found wrong")
	}
	for _, name := range []string{
		"web-hosts", "external", "page-sigma", "latency", "max-pages", "add up", `language "xx"`,
	} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not speak of %s: %v", name, err)
		}
	}
	if _, err := New(Params{}, 0); err == nil {
		t.Error("a web without hosts was made")
	}
}

// TestFields: every parameter can be read and written as text, and names are used once.
func TestFields(t *testing.T) {
	from, to := Lively(), Params{}
	from.Seed = math.MaxUint64
	names := map[string]bool{}
	out := to.Fields()
	for i, f := range from.Fields() {
		if names[f.Name] || f.Usage == "" || f.Value.Type() == "" {
			t.Errorf("field %s: twice, or without usage or type", f.Name)
		}
		names[f.Name] = true
		if err := out[i].Value.Set("not a value"); err == nil {
			t.Errorf("%s: nonsense was taken", f.Name)
		}
		if err := out[i].Value.Set(f.Value.String()); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
	if diff := cmp.Diff(from, to); diff != "" {
		t.Errorf("a parameter is not among the fields (-want +got):\n%s", diff)
	}
}

func FuzzNumber(f *testing.F) {
	p := Small()
	p.OldCharsets = 0
	w := newWeb(f, p)
	h := w.host(0)
	for n := range 40 {
		d := w.draw(&h, n)
		f.Add(w.appendPath(nil, &h, n, &d, false))
	}
	f.Add([]byte("/weather?id=18446744073709551617&sort=date"))
	f.Fuzz(func(t *testing.T, target []byte) {
		n, d, ok := w.number(&h, target)
		if ok && !bytes.Equal(w.appendPath(nil, &h, n, &d, false), target) {
			t.Errorf("%q: found page %d, which has another path", target, n)
		}
	})
}
