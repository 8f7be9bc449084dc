// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// testPassages writes n documents of invented words.
func testPassages(t *testing.T, n int) *passageWeb {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%08d\t\t", i)
		for range 80 {
			word := ""
			for range 4 {
				word += string([]byte{"bdfgklmnprst"[rng.IntN(12)], "aeiou"[int(rng.ExpFloat64())%5]})
			}
			b.WriteString(word + " ")
		}
		b.WriteString("\n")
	}
	name := filepath.Join(t.TempDir(), "documents")
	if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := openPassages(name, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.file.Close() })
	return w
}

// TestLog: a log is the same on every run and has the skew that it claims.
func TestLog(t *testing.T) {
	w := testPassages(t, 2000)
	const n = 20_000
	log, err := drawLog(w, n)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := drawLog(w, n); err != nil || !reflect.DeepEqual(log, again) {
		t.Errorf("another run has another log (%v)", err)
	}
	asked, once, pages := map[string]int{}, 0, 0
	for i := range log {
		asked[log[i].text()]++
		pages += log[i].page - 1
	}
	for _, times := range asked {
		if times == 1 {
			once++
		}
	}
	// Some of the queries that may repeat come only once, some that do not have a second page.
	for _, c := range []struct {
		what        string
		share, want float64
	}{
		{"queries that are asked once", float64(once) / n, onceOfAll},
		{"of the distinct ones", float64(once) / float64(len(asked)), onceOfDistinct},
		{"queries that nobody asked before", float64(len(asked)) / n, .5},
		{"second pages", float64(pages) / n, secondPages},
	} {
		if c.share < c.want-.04 || c.share > c.want+.04 {
			t.Errorf("%s: %.3f, want %.2f", c.what, c.share, c.want)
		}
	}
}

// TestSendStalled: a server that stalls once makes all requests late that were due meanwhile, although each of them is
// answered at once when it is sent.
func TestSendStalled(t *testing.T) {
	const stall, rate = 500 * time.Millisecond, 200.
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 20 {
			time.Sleep(stall)
		}
		fmt.Fprint(w, `{"partial":true}`)
	}))
	defer s.Close()
	address := strings.TrimPrefix(s.URL, "http://")
	run := loadRun{address: address, rate: rate, connections: 1, patience: patience, partial: []byte(`"partial":true`)}
	for range 200 {
		run.requests = append(run.requests, fmt.Appendf(nil, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", address))
	}
	r := run.send(context.Background(), nil)
	if r.err != nil || r.sent != 200 || r.failed != 0 || r.partial != 200 || len(r.took) != 200 {
		t.Fatalf("%+v", r)
	}
	late := 0
	for _, d := range r.took {
		if d > stall/2 {
			late++
		}
	}
	if least := int(rate * stall.Seconds() / 4); late < least {
		t.Errorf("%d requests were late: at least %d were due in the first half of the stall", late, least)
	}
	over := make(chan struct{})
	close(over)
	if r := run.send(context.Background(), over); r.sent != 0 {
		t.Errorf("%d requests were sent after the end", r.sent)
	}
}

// TestPassagePage: a page has the text, the title, the date and the links of its document.
func TestPassagePage(t *testing.T) {
	w := testPassages(t, 100)
	p, err := w.read(7)
	if err != nil {
		t.Fatal(err)
	}
	page, err := w.page(7)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{p.text, "<title>" + p.title + "</title>", p.date.Format("2006-01-02")} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if n := strings.Count(string(page), "<a href="); n != passageLinks {
		t.Errorf("%d links", n)
	}
}

// TestNewOf: a server in use is asked what nobody asked it before, and nothing twice.
func TestNewOf(t *testing.T) {
	log, err := drawLog(testPassages(t, 2000), 4000+firstPages+newQueries)
	if err != nil {
		t.Fatal(err)
	}
	warm, further := log[:4000], log[4000:]
	known := map[string]bool{}
	for _, part := range [][]asked{warm, further[:firstPages]} {
		for i := range part {
			known[part[i].text()] = true
		}
	}
	list := newOf(warm, further)
	if len(list) < firstPages/2 {
		t.Errorf("%d new queries", len(list))
	}
	for i := range list {
		if text := list[i].text(); known[text] {
			t.Errorf("%q was asked before", text)
		} else {
			known[text] = true
		}
	}
}
