// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// history makes random changes to two hosts.
type history struct {
	w    *world
	urls []string
}

func newHistory(w *world) *history {
	h := &history{w: w}
	for i := range 25 {
		h.urls = append(h.urls, fmt.Sprintf("%sp%d", hostA, i), fmt.Sprintf("%sp%d", hostB, i))
	}
	return h
}

// change runs one phase and returns the hosts that it woke.
func (h *history) change(t *rapid.T) []urlkey.HostKey {
	w := h.w
	urls := rapid.SliceOfNDistinct(rapid.SampledFrom(h.urls), 1, 20, rapid.ID[string]).Draw(t, "urls")
	ctx := context.Background()
	phases := []string{
		"inject", "overwrite", "update", "widen", "fetch", "fetch", "fetch", "dedup", "recrawl", "delete",
	}
	switch rapid.SampledFrom(phases).Draw(t, "phase") {
	case "inject":
		return w.inject(urls...).Woken
	case "overwrite":
		r, err := w.p.Inject(ctx, InjectOptions{URLs: urls, Overwrite: true})
		if err != nil {
			t.Fatal(err)
		}
		return r.Woken
	case "update":
		r, err := w.p.Inject(ctx, InjectOptions{URLs: []string{urls[0] + "\tnutch.score=3"}, Update: true})
		if err != nil {
			t.Fatal(err)
		}
		return r.Woken
	case "widen":
		w.admit(hostB)
		w.restart()
		return w.readmit().Woken
	case "dedup":
		w.dedup(DedupOptions{})
		return nil
	case "recrawl":
		r, err := w.p.Recrawl(ctx, w.targets(urls...))
		if err != nil {
			t.Fatal(err)
		}
		return r.Woken
	case "delete":
		w.remove(urls...)
		return nil
	}
	statuses := []storage.FetchStatus{0, 0, 0, storage.FetchRetry, storage.FetchGone}
	var pages []page
	for _, u := range urls {
		p := page{url: u, at: rapid.Int64Range(0, 40).Draw(t, "at"), content: rapid.ByteRange(0, 3).Draw(t, "content")}
		p.status = rapid.SampledFrom(statuses).Draw(t, "status")
		if rapid.IntRange(0, 4).Draw(t, "redirects") == 0 {
			p.redirect = rapid.SampledFrom(h.urls).Draw(t, "redirect")
		}
		p.links = rapid.SliceOfN(rapid.SampledFrom(h.urls), 0, 4).Draw(t, "links")
		pages = append(pages, p)
	}
	return w.update(pages...).Woken
}

// TestNextDue: after every phase of a random history hostdb says of due times what a scan of crawldb finds, and
// the hosts with something due are those that a scan finds.
func TestNextDue(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		w := newWorld(t, admission.Options{})
		defer w.close()
		w.tableBytes = rapid.SampledFrom([]int64{0, 1, 512}).Draw(t, "memory") // with 512, 8 changes are in memory
		w.restart()
		w.inject(hostA)
		h := newHistory(w)
		for range rapid.IntRange(1, 10).Draw(t, "phases") {
			woken := h.change(t)
			w.check()
			var due []urlkey.HostKey
			for _, host := range []urlkey.HostKey{w.key(hostA).HostKey(), w.key(hostB).HostKey()} {
				for k, r := range w.records() {
					if !w.adm.HasHost(host) {
						break
					}
					if k.HostKey() == host && r.FetchTime <= w.now {
						due = append(due, host)
						break
					}
				}
			}
			if got := w.dueHosts(); !slices.Equal(got, due) {
				t.Fatalf("due: %q, want %q", got, due)
			}
			for _, host := range woken {
				if w.adm.HasHost(host) && !slices.Contains(due, host) {
					t.Fatalf("%s was woken and has nothing due", host)
				}
			}
			w.now += rapid.SampledFrom([]int64{0, 20, 86_400_000, 30 * 86_400_000}).Draw(t, "later")
		}
	})
}

// TestManyDueTimes: a host with more distinct due times than are kept, whose earliest ones go in one phase.
func TestManyDueTimes(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	const n = 100
	var urls []string
	var first, again []page
	for i := range n {
		urls = append(urls, fmt.Sprintf("%sp%03d", hostA, i))
		first = append(first, page{url: urls[i], at: int64(i * 10)})
	}
	for i := range n / 2 {
		again = append(again, page{url: urls[i], at: 40*86_400_000 + int64(i)})
	}
	if r := w.inject(urls...); len(r.Woken) != 1 || len(w.dueHosts()) != 1 {
		t.Errorf("woken: %q", r.Woken)
	}
	if r := w.update(first...); len(r.Woken) != 0 || len(w.dueHosts()) != 0 {
		t.Errorf("woken: %q, due: %q", r.Woken, w.dueHosts())
	}
	w.check()
	if _, err := w.p.Generate(context.Background(), GenerateOptions{}); err == nil {
		t.Error("generated")
	}
	w.now += 40 * 86_400_000
	if len(w.dueHosts()) != 1 {
		t.Error("not due after 40 days")
	}
	if r := w.update(again...); len(r.Woken) != 1 {
		t.Errorf("woken: %q", r.Woken)
	}
	w.check()
}

// TestManyDueChanges: the due keys that a phase gives and takes from the records of one host are not all in memory.
func TestManyDueChanges(t *testing.T) {
	const n = 5000
	for _, kept := range []int{0, 1, n / 2} {
		w := newWorld(t, admission.Options{})
		defer w.close()
		w.tableBytes = 64 << 10
		w.restart()
		ing := w.store.NewIngestion()
		host, table := w.p.newHostTally(ing), ing.Table(storage.Crawldb())
		var records []storage.Record
		for i := range n {
			r := storage.Record{Status: storage.StatusFetched, FetchTime: int64(1 + i*7919%n), LastFetch: 1}
			if err := host.change([]byte(manyKey(i)), false, &storage.Record{}, &r); err != nil {
				t.Fatal(err)
			}
			if err := table.Set([]byte(manyKey(i)), storage.AppendRecord(nil, &r)); err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
		commitTally(t, host, ing)
		w.check()

		ing = w.store.NewIngestion()
		host, table = w.p.newHostTally(ing), ing.Table(storage.Crawldb())
		for i := range n {
			if records[i].FetchTime > int64(n-kept) {
				continue
			}
			key := []byte(manyKey(i))
			if err := errors.Join(host.remove(key, &records[i]), table.Delete(key)); err != nil {
				t.Fatal(err)
			}
		}
		if d := &host.changes; d.limit > 16<<10 || int64(cap(d.keys)+dueChangeBytes*cap(d.list)) > 2*d.limit {
			t.Errorf("%d changes are in memory, the limit is %d bytes", cap(d.list), d.limit)
		}
		if host.changes.spilled == nil {
			t.Error("nothing was sorted")
		}
		commitTally(t, host, ing)
		w.check()
		if got := len(w.records()); got != kept {
			t.Errorf("%d records, want %d", got, kept)
		}
	}
}

func manyKey(i int) string { return fmt.Sprintf("test,a,)/%05d http", i) }

func commitTally(t *testing.T, host *hostTally, ing *storage.Ingestion) {
	t.Helper()
	err := host.finish()
	host.close()
	if err := errors.Join(err, ing.Commit()); err != nil {
		t.Fatal(err)
	}
}
