// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// quarter gives each link a quarter.
type quarter struct{ policy.VoteScorer }

func (quarter) Distribute(policy.Page, policy.Link) float64 { return 0.25 }
func (quarter) Update(score, sum float64) float64           { return score + sum }

// cellInput is what a segment says of a URL.
type cellInput struct {
	name string
	// retries and days are of the record; 0 days: the default interval.
	retries uint8
	days    uint32
	linked  bool
	outcome *storage.FetchOutcome // nil: it was not fetched
}

// cellRecord is what crawldb says of a URL; the zero Status: nothing.
type cellRecord struct {
	status storage.Status
	seen   bool // it has content, of segment 1
}

func (c cellRecord) String() string {
	switch {
	case c.status == 0:
		return "(none)"
	case c.seen:
		return c.status.String() + " with content"
	}
	return c.status.String()
}

// cellRecords are nothing, and each status without content and with it.
func cellRecords() []cellRecord {
	list := []cellRecord{{}}
	for s := range storage.StatusCount {
		if s > 0 {
			list = append(list, cellRecord{storage.Status(s), false}, cellRecord{storage.Status(s), true})
		}
	}
	return list
}

func cellInputs() []cellInput {
	a, b := storage.Signature{10}, storage.Signature{11}
	with := func(s storage.FetchStatus, signature storage.Signature, truncated string) *storage.FetchOutcome {
		return &storage.FetchOutcome{Status: s, Signature: signature, Truncated: truncated}
	}
	plain := func(s storage.FetchStatus) *storage.FetchOutcome { return with(s, storage.Signature{}, "") }
	return []cellInput{
		{name: "nothing"},
		{name: "link", linked: true},
		{name: "fetch_success(a)", outcome: with(storage.FetchSuccess, a, "")},
		{name: "fetch_success(b)", outcome: with(storage.FetchSuccess, b, "")},
		{name: "fetch_success(b) and link", linked: true, outcome: with(storage.FetchSuccess, b, "")},
		{name: "fetch_success(unsigned)", outcome: plain(storage.FetchSuccess)},
		{name: "fetch_success(too long)", outcome: with(storage.FetchSuccess, b, truncatedByLength)},
		{name: "fetch_success(cut off)", outcome: with(storage.FetchSuccess, b, "time")},
		{name: "fetch_notmodified", outcome: plain(storage.FetchNotModified)},
		{name: "fetch_redir_temp", outcome: plain(storage.FetchRedirTemp)},
		{name: "fetch_redir_perm", outcome: plain(storage.FetchRedirPerm)},
		{name: "fetch_retry", outcome: plain(storage.FetchRetry)},
		{name: "fetch_retry, the third", retries: 2, outcome: plain(storage.FetchRetry)},
		{name: "fetch_gone", outcome: plain(storage.FetchGone)},
		{name: "fetch_gone and link", linked: true, outcome: plain(storage.FetchGone)},
		{name: "fetch_parse_failed", outcome: plain(storage.FetchParseFailed)},
		{name: "fetch_parse_failed(cut off)", outcome: with(storage.FetchParseFailed, storage.Signature{}, "time")},
		{name: "fetch_success(a), every 100d", days: 100, outcome: with(storage.FetchSuccess, a, "")},
		{name: "fetch_notmodified, every 100d", days: 100, outcome: plain(storage.FetchNotModified)},
		{name: "fetch_redir_perm, every 100d", days: 100, outcome: plain(storage.FetchRedirPerm)},
		{name: "fetch_retry, every 100d", days: 100, outcome: plain(storage.FetchRetry)},
		{name: "fetch_gone, every 60d", days: 60, outcome: plain(storage.FetchGone)},
	}
}

var rewrite = flag.Bool("rewrite", false, "write testdata/states again")

// TestStates: what UpdateDB makes of each record by each outcome, one line of testdata/states a cell.
func TestStates(t *testing.T) {
	var got strings.Builder
	on := stateCells(t, false)
	for _, line := range on {
		fmt.Fprintln(&got, line)
	}
	got.WriteString("\n# Additions are off\n")
	for i, line := range stateCells(t, true) {
		if strings.HasPrefix(line, "(none)") {
			fmt.Fprintln(&got, line)
		} else if line != on[i] {
			t.Errorf("additions are off: got  %s\nwant %s", line, on[i])
		}
	}
	path := filepath.Join("testdata", "states")
	if *rewrite {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
	if len(g) != len(w) {
		t.Errorf("%d lines, want %d", len(g), len(w))
	}
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Errorf("got  %s\nwant %s", g[i], w[i])
		}
	}
}

// TestUpdatedCounts: what UpdateDB counts of links and sitemaps, while additions are on and off.
func TestUpdatedCounts(t *testing.T) {
	for _, off := range []bool{false, true} {
		w := newWorld(t, admission.Options{})
		defer w.close()
		w.inject(hostA)
		w.update(page{url: hostA, links: []string{hostA + "1", hostA + "2"}})
		w.p.env.NoAdditions = off
		w.sitemaps = []urlkey.Key{w.key(hostA), w.key(hostA + "2"), w.key(hostA + "sitemap.xml")}
		got := w.update(page{url: hostA + "1", links: []string{hostA, hostA + "1", hostA + "2", hostA + "new", other}})
		want := Updated{Segment: 2, Outcomes: 1, New: 2, Linked: 2, Withheld: 1, Woken: got.Woken}
		want.Filtered = map[string]uint64{admission.ReasonScope: 1}
		if off {
			want.New, want.Filtered[reasonAddition] = 0, 2
		}
		if !reflect.DeepEqual(got, want) || depthOf(w, hostA+"2") != 0 {
			t.Errorf("additions off: %t: %+v, want %+v", off, got, want)
		}
		w.check()
	}
}

// stateCells computes all cells in one segment, on one host each.
func stateCells(t *testing.T, noAdditions bool) (lines []string) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	w.scorer = quarter{}
	w.restart()
	records, inputs := cellRecords(), cellInputs()
	url := func(r, i int) string { return fmt.Sprintf("http://r%02d.example/i%02d", r, i) }
	var content []page
	for r := range records {
		for i := range inputs {
			if records[r].seen {
				content = append(content, page{url: url(r, i), content: 10})
			}
		}
	}
	w.update(content...)
	w.place(func(put func(string, storage.Record)) {
		for r, c := range records {
			for i, in := range inputs {
				if c.status == 0 {
					continue
				}
				was := storage.Record{
					Status: c.status, Retries: in.retries, Depth: 3, Score: 1.5, FetchTime: firstMS,
					Interval: cmp.Or(in.days*86400, policy.DefaultInterval),
				}
				if c.seen {
					was.Segment, was.Signature = 1, storage.Signature{10}
					was.LastFetch, was.ModifiedTime = firstMS-40*msPerDay, firstMS-40*msPerDay
				}
				put(url(r, i), was)
			}
		}
	})
	w.p.env.NoAdditions = noAdditions
	linking := page{url: "http://links.example/"}
	var pages []page
	for r := range records {
		for i, in := range inputs {
			if in.linked {
				linking.links = append(linking.links, url(r, i))
			}
			if in.outcome != nil {
				pages = append(pages, page{url: url(r, i), outcome: in.outcome})
			}
		}
	}
	w.update(append(pages, linking)...)
	w.check()
	now := w.records()
	for r, c := range records {
		for i, in := range inputs {
			line := "-"
			if x, ok := now[w.key(url(r, i))]; ok {
				line = cellOf(&x)
			}
			lines = append(lines, fmt.Sprintf("%s + %s => %s", c, in.name, line))
		}
	}
	return lines
}

const msPerDay = 86_400_000

// cellOf prints what a record became.
func cellOf(r *storage.Record) string {
	days := func(ms int64) string { return fmt.Sprintf("%gd", float64(ms)/msPerDay) }
	modified := "never"
	if r.ModifiedTime != 0 {
		modified = days(r.ModifiedTime - firstMS)
	}
	content := "none"
	if r.Segment != 0 {
		name := map[byte]string{0: "unsigned", 10: "a", 11: "b"}[r.Signature[0]]
		content = fmt.Sprintf("%s of segment %d", name, r.Segment)
	}
	return fmt.Sprintf("%s, due in %s, every %s, retries %d, score %g, content %s, modified %s",
		r.Status, days(r.FetchTime-firstMS), days(int64(r.Interval)*1000), r.Retries, r.Score, content, modified)
}

// place writes records of crawldb as they are.
func (w *world) place(fill func(put func(url string, r storage.Record))) {
	w.t.Helper()
	was, records := w.records(), map[urlkey.Key]storage.Record{}
	fill(func(url string, r storage.Record) { records[w.key(url)] = r })
	ing := w.store.NewIngestion()
	defer ing.Abort()
	table, hosts, signatures := ing.Table(storage.Crawldb()), w.p.newHostTally(ing), w.p.env.Sorter(storage.FoldLast)
	defer hosts.close()
	defer signatures.Close()
	for _, key := range slices.Sorted(maps.Keys(records)) {
		r, before := records[key], was[key]
		_, known := was[key]
		err := cmp.Or(hosts.change([]byte(key), known, &before, &r),
			noteSignature(signatures, []byte(key), &before, &r),
			table.Set([]byte(key), storage.AppendRecord(nil, &r)))
		if err != nil {
			w.t.Fatal(err)
		}
	}
	err := cmp.Or(hosts.finish(), writeSignatures(context.Background(), signatures, ing))
	if err == nil {
		err = ing.Commit()
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
