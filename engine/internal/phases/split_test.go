// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
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

// exported makes a world of a part of another.
func (w *world) exported(part urlkey.Part) *world {
	w.t.Helper()
	to := newWorld(w.t, w.options)
	err := to.store.Apply(func(b *storage.Batch) error {
		return admission.PartRows(w.store, part, func(key, value []byte) error {
			return b.Set(storage.Meta(), key, value)
		})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	to.restart()
	to.importAll(w, ImportOptions{Part: part})
	return to
}

// importAll brings records and links of another world.
func (w *world) importAll(from *world, o ImportOptions) {
	w.t.Helper()
	if _, err := w.p.ImportRecords(context.Background(), from.store, o); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.p.ImportLinks(context.Background(), from.store, o); err != nil {
		w.t.Fatal(err)
	}
	w.check()
}

// state is what splitting and merging must keep: records as they are known elsewhere, without contents, hosts, what is
// due, links and withheld links.
func (w *world) state() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	for key, r := range w.records() {
		r.Segment, r.Signature, r.SimHash = 0, storage.Signature{}, 0
		if r.Status == storage.StatusDuplicate {
			r.Status = storage.StatusFetched
		}
		all["record "+string(key)] = fmt.Sprintf("%+v", r)
	}
	rows := func(r storage.Range, show func(key, value []byte) string) {
		sc := w.store.Scan(r, nil, nil)
		for sc.Next() {
			all[fmt.Sprintf("%s %q", r, sc.Key())] = show(sc.Key(), sc.Value())
		}
		if err := sc.Close(); err != nil {
			w.t.Fatal(err)
		}
	}
	rows(storage.Due(), func(_, _ []byte) string { return "" })
	rows(storage.HostFactsRange(), func(_, value []byte) string { return string(value) })
	rows(storage.HostCountsRange(), func(_, value []byte) string {
		var c storage.HostCounts
		if err := storage.DecodeHostCounts(value, &c); err != nil {
			w.t.Fatal(err)
		}
		if c.New > 0 { // it may be an earlier one
			c.NextDue = 0
		}
		c.ByStatus[storage.StatusFetched] += c.ByStatus[storage.StatusDuplicate]
		c.ByStatus[storage.StatusDuplicate] = 0
		return fmt.Sprintf("%+v", c)
	})
	links, _ := w.linkdb()
	for l := range links {
		all[fmt.Sprintf("link to %s from %s", l.to, l.from)] = ""
	}
	for _, target := range w.withheld() {
		all["withheld "+string(target)] = ""
	}
	return all
}

// differences lists what two states differ in.
func differences(got, want map[string]string) (list []string) {
	for k, v := range got {
		if other, ok := want[k]; !ok || other != v {
			list = append(list, fmt.Sprintf("%s: %s, want %s", k, v, other))
		}
	}
	for k, v := range want {
		if _, ok := got[k]; !ok {
			list = append(list, fmt.Sprintf("%s is missing: %s", k, v))
		}
	}
	slices.Sort(list)
	return list
}

// crawled is a world with a random crawl, whose scope is the hosts of its seeds, or any.
func crawled(t *rapid.T) *world {
	w := newWorld(t, admission.Options{Scope: rapid.SampledFrom(
		[]policy.Scope{policy.ScopeAny, policy.ScopeHost, policy.ScopeDomain}).Draw(t, "scope")})
	crawlRandom(t, w, someURLs(rapid.IntRange(1, 25).Draw(t, "pages")), "")
	err := w.store.Apply(func(b *storage.Batch) error {
		hosts := map[urlkey.HostKey]bool{}
		for key := range w.records() {
			hosts[key.HostKey()] = true
		}
		for i, h := range slices.Sorted(maps.Keys(hosts)) {
			facts := storage.HostFacts{RobotsFetched: w.now, NextFetch: int64(i), Robots: []byte("User-agent: *\n")}
			for _, key := range []urlkey.HostKey{storage.HostStateKey(h), storage.AuthorityKey(h, "http")} {
				value := storage.AppendHostFacts(nil, &facts)
				if err := b.Set(storage.HostFactsRange(), []byte(key), value); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err == nil { // drops links of replaced versions
		_, err = w.p.MergeLinks(context.Background(), 0, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.readmit() // lowers depths
	w.dedup(DedupOptions{})
	return w
}

// TestSplit cuts a crawl into parts, each in a store of its own, and merges these into an empty store in any order: the
// result is what the crawl was, but for contents.
func TestSplit(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		w := crawled(t)
		defer w.close()
		want, n := w.state(), rapid.IntRange(1, 4).Draw(t, "parts")
		var parts []*world
		for i := 1; i <= n; i++ {
			part, err := w.p.Part(context.Background(), i, n)
			if err != nil {
				t.Fatal(err)
			}
			to := w.exported(part)
			defer to.close()
			to.check()
			for key, r := range to.records() {
				if !part.Has([]byte(key)) || r.Segment != 0 {
					t.Fatalf("%s of segment %d is in %v", key, r.Segment, part)
				}
			}
			parts = append(parts, to)
		}
		merged := newWorld(t, w.options)
		defer merged.close()
		for _, part := range rapid.Permutation(parts).Draw(t, "order") {
			for range 2 { // the second time nothing changes
				merged.importAll(part, ImportOptions{})
			}
		}
		if list := differences(merged.state(), want); len(list) > 0 {
			t.Fatalf("merged again:\n%s", strings.Join(list, "\n"))
		}
	})
}

// TestJoinParts: parts of a crawl that were moved one after the other, and are merged with each other elsewhere, come
// back together.
func TestJoinParts(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	w.inject("http://a.example/", "http://b.example/", "http://c.example/")
	before := w.state()
	var moved []*world
	for _, domain := range []string{"a.example", "b.example"} {
		part, err := DomainPart(domain)
		if err != nil {
			t.Fatal(err)
		}
		to := w.exported(part)
		defer to.close()
		if _, err := w.p.Excise(context.Background(), part); err != nil {
			t.Fatal(err)
		}
		moved = append(moved, to)
	}
	own := func(from *world) (o ImportOptions) {
		var err error
		if o.Joins, err = admission.OwnParts(from.store); err != nil {
			t.Fatal(err)
		}
		return o
	}
	moved[0].importAll(moved[1], own(moved[1]))
	w.importAll(moved[0], own(moved[0]))
	w.restart()
	if list := differences(w.state(), before); len(list) > 0 {
		t.Fatalf("back from elsewhere:\n%s", strings.Join(list, "\n"))
	}
	for key := range w.records() {
		if v := w.adm.VerdictKey(key, admission.Facts{}); !v.OK() {
			t.Errorf("%s: %+v", key, v)
		}
	}
}

// TestJoinLarger: a part that was moved on, and that has joined the larger one that it was a part of, brings all of
// that back.
func TestJoinLarger(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	w.inject("http://a.example/", "http://b.example/", "http://c.example/")
	before := w.state()
	move := func(from *world, until string) *world {
		t.Helper()
		part, err := DomainPart(until)
		if err != nil {
			t.Fatal(err)
		}
		part.From = ""
		to := from.exported(part)
		if _, err := from.p.Excise(context.Background(), part); err != nil {
			t.Fatal(err)
		}
		return to
	}
	joins := func(to, from *world) {
		t.Helper()
		var o ImportOptions
		var err error
		if o.Joins, err = admission.OwnParts(from.store); err == nil {
			o.MovedOn, err = admission.SplitParts(from.store)
		}
		if err != nil {
			t.Fatal(err)
		}
		to.importAll(from, o)
	}
	larger := move(w, "b.example")
	defer larger.close()
	smaller := move(larger, "a.example")
	defer smaller.close()
	joins(smaller, larger)
	joins(w, smaller)
	w.restart()
	if list := differences(w.state(), before); len(list) > 0 {
		t.Fatalf("back from elsewhere:\n%s", strings.Join(list, "\n"))
	}
	for key := range w.records() {
		if v := w.adm.VerdictKey(key, admission.Facts{}); !v.OK() {
			t.Errorf("%s: %+v", key, v)
		}
	}
}

// TestExcise moves a part into another store. Here nothing is left of it but links from its pages to others, links to
// it are withheld, and what a link or seed says of it makes no record. When it comes back all is as before, but for its
// contents.
func TestExcise(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		w := crawled(t)
		defer w.close()
		before, records := w.state(), w.records()
		n := rapid.IntRange(1, 3).Draw(t, "parts")
		part, err := w.p.Part(context.Background(), rapid.IntRange(1, n).Draw(t, "part"), n)
		if err != nil {
			t.Fatal(err)
		}
		if part.IsEmpty() {
			t.Skip("nothing to move")
		}
		to := w.exported(part)
		defer to.close()
		gone, err := w.p.Excise(context.Background(), part)
		if err != nil {
			t.Fatal(err)
		}
		w.check()
		moved := 0
		for key := range records {
			if part.Has([]byte(key)) {
				moved++
			}
		}
		if kept := len(w.records()); int(gone.Records) != moved || kept != len(records)-moved {
			t.Fatalf("%d of %d records were moved, %d left; want %d moved", gone.Records, len(records), kept, moved)
		}
		for key, r := range w.records() {
			if was := records[key]; part.Has([]byte(key)) ||
				!bytes.Equal(storage.AppendRecord(nil, &r), storage.AppendRecord(nil, &was)) {
				t.Fatalf("%s is %+v, was %+v", key, r, was)
			}
		}
		w.restart() // the refusal is in the store
		for key := range records {
			v := w.adm.VerdictKey(key, admission.Facts{Seed: true})
			if split := v.Reason == admission.ReasonSplit; split != part.Has([]byte(key)) || split && !v.Later {
				t.Fatalf("%s: %+v with %v elsewhere", key, v, part)
			}
		}
		w.now += int64(time.Hour / time.Millisecond)
		rest := w.state()
		for key := range records {
			if part.Has([]byte(key)) {
				u, err := key.URL()
				if err != nil {
					t.Fatal(err)
				}
				w.inject(u.String())
			}
		}
		if list := differences(w.state(), rest); len(list) > 0 {
			t.Fatalf("seeds of the part changed\n%s", strings.Join(list, "\n"))
		}
		w.importAll(to, ImportOptions{Joins: []urlkey.Part{part}})
		w.readmit()
		if list := differences(w.state(), before); len(list) > 0 {
			t.Fatalf("back from elsewhere:\n%s", strings.Join(list, "\n"))
		}
		for key := range records {
			if v := w.adm.VerdictKey(key, admission.Facts{Seed: true}); !v.OK() {
				t.Fatalf("%s: %+v", key, v)
			}
		}
	})
}

// TestExciseLinks: links of pages that were moved are links of another directory: a third one takes them along, and
// when the pages are back and fetched again, their new versions replace them.
func TestExciseLinks(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	ctx := context.Background()
	const from, to, stays = "http://a.example/", "http://b.example/", "http://c.example/"
	w.inject(from, stays)
	fetch := func(pages ...page) {
		t.Helper()
		segment := w.seal(pages...)
		if _, err := w.p.UpdateDB(ctx, segment); err != nil {
			t.Fatal(err)
		}
		if _, err := w.p.InvertLinks(ctx, segment); err != nil {
			t.Fatal(err)
		}
		if _, err := w.p.MergeLinks(ctx, 0, nil); err != nil {
			t.Fatal(err)
		}
		w.check()
	}
	fetch(page{url: from, links: []string{to}}, page{url: stays, links: []string{to}})
	sources := func(w *world) (list []string) {
		links, _ := w.linkdb()
		for l := range links {
			if l.to == w.key(to) {
				list = append(list, string(l.from))
			}
		}
		slices.Sort(list)
		return list
	}
	part, err := DomainPart("a.example")
	if err != nil {
		t.Fatal(err)
	}
	moved := w.exported(part)
	defer moved.close()
	if _, err := w.p.Excise(ctx, part); err != nil {
		t.Fatal(err)
	}
	w.check()
	want := sources(w)
	third, err := DomainPart("b.example")
	if err != nil {
		t.Fatal(err)
	}
	other := w.exported(third)
	defer other.close()
	if got := sources(other); len(want) != 2 || !slices.Equal(got, want) {
		t.Errorf("a third directory has links from %q, want %q", got, want)
	}
	w.importAll(moved, ImportOptions{Joins: []urlkey.Part{part}})
	fetch(page{url: from, at: 1})
	if got := sources(w); !slices.Equal(got, []string{string(w.key(stays))}) {
		t.Errorf("links from %q after the page has dropped its own", got)
	}
}
