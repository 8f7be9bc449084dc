// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// crawlRandom fetches random pages in segments and returns the links of the newest versions, by source.
func crawlRandom(t *rapid.T, w *world, urls []string, label string) map[urlkey.Key][]urlkey.Key {
	one := rapid.SampledFrom(urls)
	w.inject(one.Draw(t, label+" seed"))
	links := map[urlkey.Key][]urlkey.Key{}
	for part := range rapid.IntRange(1, 3).Draw(t, label+" segments") {
		pages := map[string]page{}
		for range rapid.IntRange(1, 8).Draw(t, label+" fetches") {
			p := page{url: one.Draw(t, label+" url"), at: int64(part)}
			p.links = rapid.SliceOfN(one, 0, 8).Draw(t, label+" links")
			pages[p.url] = p
		}
		segment := w.seal(slices.Collect(maps.Values(pages))...)
		if _, err := w.p.UpdateDB(context.Background(), segment); err != nil {
			t.Fatal(err)
		}
		if _, err := w.p.InvertLinks(context.Background(), segment); err != nil {
			t.Fatal(err)
		}
		for _, p := range pages {
			from := w.key(p.url)
			links[from] = nil
			for _, l := range p.links {
				if to := w.key(l); to != from && !slices.Contains(links[from], to) {
					links[from] = append(links[from], to)
				}
			}
		}
	}
	return links
}

func someURLs(n int) (urls []string) {
	for i := range n {
		urls = append(urls, fmt.Sprintf("http://h%d.d%d.example/%d", i%5, i%3, i))
	}
	return urls
}

// TestExportGraph compares exported graphs with the links of random pages.
func TestExportGraph(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
		defer w.close()
		links := crawlRandom(t, w, someURLs(rapid.IntRange(1, 15).Draw(t, "pages")), "")
		nodes := rapid.SampledFrom([]GraphNodes{NodeHosts, NodeDomains}).Draw(t, "nodes")
		node := func(k urlkey.Key) string { return string(nodes.nodeOf([]byte(k))) }
		want, names := map[[2]string]uint64{}, map[string]bool{}
		for key := range w.records() {
			names[node(key)] = true
		}
		for from, targets := range links {
			for _, to := range targets {
				if names[node(to)] = true; node(from) != node(to) {
					want[[2]string{node(from), node(to)}]++
				}
			}
		}
		var got []string
		edges, last := map[[2]string]uint64{}, [2]uint64{}
		err := w.p.ExportGraph(context.Background(), nodes, GraphExport{
			Vertex: func(number uint64, name []byte) error {
				if int(number) != len(got) {
					return fmt.Errorf("%s has number %d", name, number)
				}
				got = append(got, string(name))
				return nil
			},
			Edge: func(from, to, pairs uint64) error {
				if this := [2]uint64{from, to}; len(edges) > 0 && slices.Compare(this[:], last[:]) <= 0 {
					return fmt.Errorf("%v comes after %v", this, last)
				}
				last = [2]uint64{from, to}
				edges[[2]string{got[from], got[to]}] = pairs
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, slices.Sorted(maps.Keys(names))) || !maps.Equal(edges, want) {
			t.Fatalf("vertices %q, edges %v, want %q, %v", got, edges, slices.Sorted(maps.Keys(names)), want)
		}
	})
}

// TestImportLinks adds the links of one random crawl to those of another, twice: pages that the other has not fetched
// keep the links that the first saw, filters refuse, and what is there already is not added again.
func TestImportLinks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		urls := someURLs(rapid.IntRange(1, 12).Draw(t, "pages"))
		there, w := newWorld(t, admission.Options{Scope: policy.ScopeAny}), newWorld(t, admission.Options{
			Scope: policy.ScopeAny,
		})
		defer there.close()
		defer w.close()
		theirs, ours := crawlRandom(t, there, urls, "their"), crawlRandom(t, w, urls, "our")
		if rapid.Bool().Draw(t, "merged before") {
			if _, err := there.p.MergeLinks(context.Background(), 0, nil); err != nil {
				t.Fatal(err)
			}
		}
		o, refused := ImportOptions{}, ""
		if rapid.Bool().Draw(t, "filtered") {
			refused = "d1"
			o.Accept = func(key []byte) ([]byte, bool) { return key, !strings.Contains(string(key), ","+refused+",") }
		}
		want := map[storedLink]bool{}
		for from, targets := range ours {
			for _, to := range targets {
				want[storedLink{to, from, w.records()[from].Segment}] = true
			}
		}
		for from, targets := range theirs {
			if _, fetched := ours[from]; fetched {
				continue
			}
			for _, to := range targets {
				no := func(k urlkey.Key) bool { return refused != "" && strings.Contains(string(k), ","+refused+",") }
				if !no(from) && !no(to) {
					want[storedLink{to, from, importedSegment}] = true
				}
			}
		}
		fresh := uint64(0)
		for l := range want {
			if l.segment == importedSegment {
				fresh++
			}
		}
		for _, taken := range []uint64{fresh, 0} {
			if r, err := w.p.ImportLinks(context.Background(), there.store, o); err != nil || r.Links != taken {
				t.Fatalf("%+v, want %d links, %v", r, taken, err)
			}
			if _, err := w.p.MergeLinks(context.Background(), 0, nil); err != nil {
				t.Fatal(err)
			}
			if got, _ := w.linkdb(); !maps.Equal(got, want) {
				t.Fatalf("linkdb has\n%v\nwant\n%v", got, want)
			}
			w.check()
		}
	})
}

// TestImportLinksFetched: a page that is fetched after its links were taken over has those that were seen here alone,
// once linkdb is merged; who lost links is told.
func TestImportLinksFetched(t *testing.T) {
	t.Parallel()
	there, w := newWorld(t, admission.Options{Scope: policy.ScopeAny}), newWorld(t, admission.Options{
		Scope: policy.ScopeAny,
	})
	defer there.close()
	defer w.close()
	linked := func(w *world, pages ...page) {
		w.update(pages...)
		if _, err := w.p.InvertLinks(context.Background(), w.segment); err != nil {
			t.Fatal(err)
		}
	}
	fetched, only := "http://f.example/", "http://o.example/"
	linked(there, page{url: fetched, links: []string{hostA, hostB}}, page{url: only, links: []string{hostB}})
	if _, err := w.p.ImportLinks(context.Background(), there.store, ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	linked(w, page{url: fetched, links: []string{hostA}})
	want := map[storedLink]bool{
		{w.key(hostA), w.key(fetched), w.segment}:    true,
		{w.key(hostB), w.key(only), importedSegment}: true,
	}
	for _, dropped := range []uint64{2, 0} {
		lost := 0
		r, err := w.p.MergeLinks(context.Background(), 0, func([]byte) error { lost++; return nil })
		if err != nil || r.Dropped != dropped || lost != int(dropped) {
			t.Errorf("%+v, %v; %d lost links", r, err, lost)
		}
		if got, _ := w.linkdb(); !maps.Equal(got, want) {
			t.Errorf("linkdb has\n%v\nwant\n%v", got, want)
		}
		w.check()
	}
}

// TestImportLinksLong: of the longest URLs that there are, with the longest anchor, links are taken over too.
func TestImportLinksLong(t *testing.T) {
	there, w := newWorld(t, admission.Options{Scope: policy.ScopeAny}), newWorld(t, admission.Options{
		Scope: policy.ScopeAny,
	})
	defer there.close()
	defer w.close()
	begin := "http://a.example/"
	from := there.key(begin + strings.Repeat("a", urlkey.MaxLength-len(begin)))
	to := there.key("http://" + strings.Repeat(",", urlkey.MaxLength-len("http:///")) + "/")
	link := storage.Inlink{From: from, Anchor: strings.Repeat("b", storage.AnchorMaxBytes)}
	row := storage.AppendInlinks(nil, []storage.Inlink{link})
	ing := there.store.NewIngestion()
	defer ing.Abort()
	err := ing.Table(storage.Linkdb()).Set(storage.AppendLinkdbKey(nil, []byte(to), importedSegment), row)
	if err := errors.Join(err, ing.Commit()); err != nil {
		t.Fatal(err)
	}
	if got, err := w.p.ImportLinks(t.Context(), there.store, ImportOptions{}); err != nil || got.Links != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, _ := w.linkdb(); !got[storedLink{to, from, importedSegment}] {
		t.Errorf("linkdb has %v", got)
	}
}

// TestImportLinksMemory: of a page with more links than a row may have, however many, none are taken over, and none are
// held in memory. Those of others are.
func TestImportLinksMemory(t *testing.T) {
	const segments, links = 10, 20_000
	onDisk := func() *world {
		w := &world{t: t, now: firstMS, dir: t.TempDir(), cacheBytes: 1 << 20}
		w.options.Scope, w.options.Now = policy.ScopeAny, func() time.Time { return time.UnixMilli(w.now) }
		w.open()
		return w
	}
	there, w := onDisk(), onDisk()
	defer there.close()
	defer w.close()
	popular, other := []byte(there.key("http://popular.example/")), []byte(there.key("http://other.example/"))
	source := func(n int) urlkey.Key { return urlkey.Key(fmt.Sprintf("example,from%07d,)/ http", n)) }
	ing := there.store.NewIngestion()
	defer ing.Abort()
	records, rows := ing.Table(storage.Crawldb()), ing.Table(storage.Linkdb())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	one := storage.AppendInlinks(nil, []storage.Inlink{{From: source(0)}})
	must(rows.Set(storage.AppendLinkdbKey(nil, other, 1), one))
	for segment := range segments {
		var list []storage.Inlink
		for n := range links {
			from := source(segment*links + n)
			list = append(list, storage.Inlink{From: from, Anchor: strings.Repeat(fmt.Sprintf("%07d", n), 14)})
			r := storage.Record{Status: storage.StatusFetched, Segment: uint32(segment + 1)}
			must(records.Set([]byte(from), storage.AppendRecord(nil, &r)))
		}
		key := storage.AppendLinkdbKey(nil, popular, uint32(segment+1))
		must(rows.Set(key, storage.AppendInlinks(nil, list)))
	}
	must(ing.Commit())
	var before, largest uint64
	_ = heaps{t.Context(), &before}.Err()
	got, err := w.p.ImportLinks(heaps{t.Context(), &largest}, there.store, ImportOptions{})
	if want := (LinksImported{Links: 1, LeftOut: 1}); err != nil || got != want {
		t.Errorf("%+v, want %+v: %v", got, want, err)
	}
	if more := int64(largest - before); more > 12<<20 {
		t.Errorf("%d KiB more for %d links of one page", more>>10, segments*links)
	}
}
