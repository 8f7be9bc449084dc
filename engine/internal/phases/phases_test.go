// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestSegmentIn: the errors of a segment that is not in the state that a phase wants.
func TestSegmentIn(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	ctx := context.Background()
	number := w.seal(page{url: hostA})
	_, err := w.p.UpdateDB(ctx, 7)
	if !errors.Is(err, ErrNoSegment) || err.Error() != "updatedb: there is no segment 7" {
		t.Error(err)
	}
	_, err = w.p.InvertLinks(ctx, number)
	if !errors.Is(err, ErrWrongState) || err.Error() != "invertlinks: segment 1 is sealed, want updated" {
		t.Error(err)
	}
	seg, err := SegmentIn(w.store, number, "x", storage.SegmentOpen, storage.SegmentSealed)
	if err != nil || seg.Number != number {
		t.Errorf("%+v %v", seg, err)
	}
}

// TestInject: what becomes of seed lines, and of a record that is known.
func TestInject(t *testing.T) {
	w := newWorld(t, admission.Options{Filters: policy.URLFilters{refusing}})
	defer w.close()
	ctx := context.Background()
	r, err := w.p.Inject(ctx, InjectOptions{
		URLs: []string{
			hostA, "# no seed", "", hostA + "refused", "no url",
			hostB + "\tnutch.score=2.5\tnutch.fetchInterval=60\tk=v",
		},
		Sources: []SeedFile{
			{Name: "seeds.txt", Reader: strings.NewReader("\ufeff" + hostA + "\r\n" + hostW + "\tnutch.score=x\n")},
			{Reader: strings.NewReader(strings.Repeat("x", seedLineMax+5) + "\n" + hostW)},
		},
	})
	counts := [...]uint64{r.Lines, r.New, r.Merged, r.Filtered, r.Malformed}
	if err != nil || counts != [...]uint64{8, 3, 1, 1, 3} || len(r.Examples) != 4 || len(r.Woken) != 3 {
		t.Errorf("%+v %v", r, err)
	}
	for i, want := range []string{
		`seed 4: "` + hostA + `refused": refused: `, `seed 5: "no url": URL "no url": no scheme`,
		`seeds.txt:2: `, `line 1: "xxxxxxxx`,
	} {
		if !strings.HasPrefix(r.Examples[i], want) {
			t.Errorf("example %d is %q, want %q…", i, r.Examples[i], want)
		}
	}
	b := w.records()[w.key(hostB)]
	if b.Score != 2.5 || b.Interval != 60 || len(b.Meta) != 1 || b.FetchTime != w.now {
		t.Errorf("%+v", b)
	}
	if r = w.inject(hostB + "\tnutch.score=9"); r.Known != 1 || r.New != 0 || w.records()[w.key(hostB)].Score != 2.5 {
		t.Errorf("%+v", r)
	}
	seeds := []string{hostB + "\tnutch.score=9\tk=w"}
	if r, err = w.p.Inject(ctx, InjectOptions{URLs: seeds, Update: true}); err != nil || r.Changed != 1 {
		t.Errorf("%+v %v", r, err)
	}
	if b = w.records()[w.key(hostB)]; b.Score != 9 || b.Interval != 60 || b.Meta[0].Value != "w" {
		t.Errorf("%+v", b)
	}
	if _, err = w.p.Inject(ctx, InjectOptions{URLs: seeds, Overwrite: true}); err != nil {
		t.Error(err)
	}
	if b = w.records()[w.key(hostB)]; b.Score != 9 || b.Interval != policy.DefaultInterval {
		t.Errorf("%+v", b)
	}
	broken := iotest.ErrReader(io.ErrUnexpectedEOF)
	_, err = w.p.Inject(ctx, InjectOptions{Sources: []SeedFile{{Name: "seeds.txt", Reader: broken}}})
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "injecting: seed file seeds.txt: ") {
		t.Error(err)
	}
	w.check()
}

// fetchlist reads a fetchlist.
func (w *world) fetchlist(segment uint32) (urls []string) {
	w.t.Helper()
	sc := w.store.Scan(storage.Fetchlist(segment), nil, nil)
	defer sc.Close()
	for sc.Next() {
		u, err := urlkey.Key(sc.Key()).URL()
		if err != nil {
			w.t.Fatal(err)
		}
		urls = append(urls, u.String())
	}
	return urls
}

// TestGenerate: the best due URLs, within the bounds, and none twice.
func TestGenerate(t *testing.T) {
	w := newWorld(t, admission.Options{MaxDepth: 1})
	defer w.close()
	ctx := context.Background()
	if _, err := w.p.Generate(ctx, GenerateOptions{}); !errors.Is(err, ErrNothingDue) {
		t.Error(err)
	}
	w.inject("https://a.test/1\tnutch.score=1", "https://a.test/2\tnutch.score=2", "https://a.test/3\tnutch.score=3",
		"https://sub.a.test/\tnutch.score=4", "https://b.test/\tnutch.score=0.5")
	w.update(page{url: "https://a.test/3", links: []string{"https://a.test/link"}})
	w.update(page{url: "https://a.test/link", status: storage.FetchRetry, links: nil})
	for _, c := range []struct {
		o    GenerateOptions
		want string
		due  uint64
	}{
		{GenerateOptions{MaxPerHost: 1}, "https://a.test/2 https://sub.a.test/ https://b.test/", 4},
		{GenerateOptions{MaxPerDomain: 1, IgnoreMarked: true}, "https://sub.a.test/ https://b.test/", 4},
		{GenerateOptions{}, "https://a.test/1", 1}, // the others wait in the first list
		{GenerateOptions{IgnoreMarked: true, Top: 2}, "https://a.test/2 https://sub.a.test/", 4},
		{GenerateOptions{IgnoreMarked: true, AddDays: 1},
			"https://a.test/1 https://a.test/2 https://a.test/link https://sub.a.test/ https://b.test/", 5},
	} {
		r, err := w.p.Generate(ctx, c.o)
		if err != nil {
			t.Fatal(err)
		}
		list := w.fetchlist(r.Segment)
		if got := strings.Join(list, " "); got != c.want || r.Due != c.due || r.Selected != uint64(len(list)) {
			t.Errorf("%+v: %s, %+v", c.o, got, r)
		}
		hosts, err := FetchlistHosts(ctx, w.store, r.Segment, "", 0)
		if err != nil || uint64(len(hosts)) != r.Hosts {
			t.Errorf("%q, want %d: %v", hosts, r.Hosts, err)
		}
		last := hosts[len(hosts)-1:]
		if from, err := FetchlistHosts(ctx, w.store, r.Segment, last[0], 1); err != nil || !slices.Equal(from, last) {
			t.Errorf("%q: %v", from, err)
		}
	}
}

// TestGenerateWithinBudgets: what a budget does not allow is not chosen, for fetch would not request it: a loop of
// phases comes to its end.
func TestGenerateWithinBudgets(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		host, domain admission.Cost
		want         string
	}{
		"none": {want: "https://a.test/1 https://a.test/2 https://sub.a.test/ https://b.test/"},
		"URLs of a host": {
			host: admission.Cost{URLs: 2}, want: "https://a.test/1 https://sub.a.test/ https://b.test/",
		},
		"URLs of a domain": {domain: admission.Cost{URLs: 2}, want: "https://a.test/1 https://b.test/"},
		"bytes of a host":  {host: admission.Cost{Bytes: 100}, want: "https://sub.a.test/ https://b.test/"},
		"time of a domain": {domain: admission.Cost{Time: 7 * time.Millisecond}, want: "https://b.test/"},
		"more than was used": {
			host: admission.Cost{Bytes: 101}, domain: admission.Cost{Time: 8 * time.Millisecond},
			want: "https://a.test/1 https://a.test/2 https://sub.a.test/ https://b.test/",
		},
	} {
		w := newWorld(t, admission.Options{Host: c.host, Domain: c.domain, Scope: policy.ScopeAny})
		w.inject("https://a.test/\tnutch.score=9", "https://a.test/1\tnutch.score=2", "https://a.test/2",
			"https://sub.a.test/", "https://b.test/")
		w.update(page{url: "https://a.test/", bytes: 100, took: 7})
		r, err := w.p.Generate(ctx, GenerateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(w.fetchlist(r.Segment), " "); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
		w.close()
	}
	w := newWorld(t, admission.Options{Host: admission.Cost{Bytes: 1}})
	defer w.close()
	w.inject(hostA, hostA+"1")
	w.update(page{url: hostA, bytes: 1})
	if _, err := w.p.Generate(ctx, GenerateOptions{}); !errors.Is(err, ErrNothingDue) {
		t.Errorf("with its budget used up a host has something due: %v", err)
	}
}

// TestGenerateAgainBeyondBudget: a budget of pages that is used up, or is by a fetchlist, keeps no URL out that was
// requested before, also one whose request failed; of new ones as many are chosen as it leaves.
func TestGenerateAgainBeyondBudget(t *testing.T) {
	for name, o := range map[string]admission.Options{
		"host":   {Host: admission.Cost{URLs: 4}},
		"domain": {Domain: admission.Cost{URLs: 4}},
	} {
		w := newWorld(t, o)
		w.inject("https://a.test/", "https://a.test/1", "https://a.test/2", "https://a.test/3",
			"https://a.test/4\tnutch.score=9")
		w.update(page{url: "https://a.test/"}, page{url: "https://a.test/1", status: storage.FetchGone},
			page{url: "https://a.test/2", status: storage.FetchRetry})
		w.now += 400 * 86_400_000
		chosen := func(o GenerateOptions) string {
			t.Helper()
			r, err := w.p.Generate(t.Context(), o)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return strings.Join(w.fetchlist(r.Segment), " ")
		}
		again := "https://a.test/ https://a.test/1 https://a.test/2"
		if got := chosen(GenerateOptions{}); got != again+" https://a.test/4" {
			t.Errorf("%s, with one page left: %s", name, got)
		}
		w.update(page{url: "https://a.test/4"})
		if got := chosen(GenerateOptions{IgnoreMarked: true}); got != again+" https://a.test/4" {
			t.Errorf("%s, used up: %s", name, got)
		}
		w.close()
	}
}

// TestSelectHost: known URLs are told apart, what is too deep or taken is left out, and the next due time is found.
func TestSelectHost(t *testing.T) {
	w := newWorld(t, admission.Options{MaxDepth: 1})
	defer w.close()
	w.inject(hostA, hostA+"1", hostA+"taken")
	w.update(page{url: hostA, at: 5, links: []string{hostA + "link"}})
	w.update(page{url: hostA + "link", at: 7, links: []string{hostA + "deep"}})
	w.update(page{url: hostA + "1", status: storage.FetchRetry, at: 9})
	host := w.key(hostA).HostKey()
	taken := func(key []byte) bool { return string(key) == string(w.key(hostA+"taken")) }
	sel, err := w.p.SelectHost(w.store, host, w.now, taken, NewBest(10))
	if err != nil || sel.Due != 0 || sel.NextDue != firstMS+9+retryDelayMS {
		t.Errorf("%+v %v", sel, err)
	}
	best := NewBest(2)
	sel, err = w.p.SelectHost(w.store, host, w.now+40*86_400_000, taken, best)
	chosen := best.Sorted()
	if err != nil || sel.Due != 3 || len(chosen) != 2 || chosen[0].Key != w.key(hostA) || !chosen[0].Known {
		t.Errorf("%+v %+v %v", sel, chosen, err)
	}
	if chosen[1].Key != w.key(hostA+"1") || chosen[1].Known {
		t.Errorf("%+v", chosen)
	}
	g, err := w.p.Generate(context.Background(), GenerateOptions{AddDays: 40})
	if err != nil {
		t.Fatal(err)
	}
	best = NewBest(1)
	sel, err = SelectFetchlist(w.store, g.Segment, host, false, false, taken, best)
	if err != nil || sel.Due != 3 || best.Len() != 1 || best.Sorted()[0].Key != w.key(hostA) {
		t.Errorf("%+v %v", sel, err)
	}
	hosts := 0
	stop := errors.New("stop")
	count := func(urlkey.HostKey) error {
		hosts++
		return stop
	}
	err = w.p.DueHosts(context.Background(), w.store, "", w.now+40*86_400_000, 0, count)
	if err != stop || hosts != 1 {
		t.Errorf("%d hosts, %v", hosts, err)
	}
}

// TestInvertLinks: linkdb has the links of the segment, in one ingestion with its state.
func TestInvertLinks(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	w.inject(hostA)
	pages := []page{
		{url: hostA, links: []string{hostB, hostB, other, hostA}},
		{url: hostA + "2", links: []string{hostB}},
	}
	u := w.update(pages...)
	for range 2 { // the memory of a run is used again
		r, err := w.p.InvertLinks(context.Background(), u.Segment)
		if err != nil || r != (Inverted{Segment: u.Segment, Targets: 2, Inlinks: 3}) {
			t.Fatalf("%+v %v", r, err)
		}
		if links, err := w.store.Inlinks(w.key(hostB), 10); err != nil || len(links) != 2 {
			t.Errorf("%v %v", links, err)
		}
		u = w.update(pages...)
	}
	w.check()
}

// TestDamage: damage ends a phase with an error that says where it is, and the segment stays as it was.
func TestDamage(t *testing.T) {
	key := string(keyOf(t, hostA))
	for name, c := range map[string]struct {
		r    storage.Range
		key  string
		want string
	}{
		"record":       {storage.Crawldb(), key, "crawldb record test,a,)/ https"},
		"counts":       {storage.HostCountsRange(), "test,a,)", "hostdb counts of test,a,)"},
		"parse record": {storage.ParseLinks(1), key, "parse record test,a,)/ https"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, admission.Options{})
			defer w.close()
			w.inject(hostA)
			number := w.seal(page{url: hostA, links: []string{hostA + "x"}})
			w.damage(c.r, c.key)
			_, err := w.p.UpdateDB(context.Background(), number)
			if !errors.Is(err, storage.ErrCorrupt) || !strings.Contains(err.Error(), "updatedb of segment 1: "+c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if seg, _, err := w.store.Segment(number); err != nil || seg.State != storage.SegmentSealed {
				t.Errorf("the segment is %s, %v", seg.State, err)
			}
		})
	}
	t.Run("withheld", func(t *testing.T) {
		w := newWorld(t, admission.Options{})
		defer w.close()
		w.inject(hostA)
		w.update(page{url: hostA, links: []string{hostB}})
		w.damage(storage.WithheldRange(), string(storage.AppendLinkdbKey(nil, []byte(w.key(hostB)), 1)))
		_, err := w.p.Inject(context.Background(), InjectOptions{URLs: []string{hostB}})
		const want = "injecting: readmitting withheld links: links to test,b,)/ https of segment 1: "
		if !errors.Is(err, storage.ErrCorrupt) || !strings.HasPrefix(err.Error(), want) || len(w.adm.Pending()) != 1 {
			t.Errorf("%v, pending %q", err, w.adm.Pending())
		}
	})
}

// damage replaces a value by bytes that mean nothing.
func (w *world) damage(r storage.Range, key string) {
	w.t.Helper()
	err := w.store.Apply(func(b *storage.Batch) error { return b.Set(r, []byte(key), []byte{0xee}) })
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestLinkAllocations: a link to a target that occurred before allocates nothing, and targetBytes is right.
func TestLinkAllocations(t *testing.T) {
	if size := unsafe.Sizeof(target{}); size != targetBytes {
		t.Errorf("a target takes %d bytes, targetBytes says %d", size, targetBytes)
	}
	w := newWorld(t, admission.Options{})
	defer w.close()
	w.inject(hostA)
	u := w.p.newCollector(1, 1)
	var keys [][]byte
	for i := range 100 {
		for _, host := range []string{hostA, other} {
			keys = append(keys, []byte(w.key(fmt.Sprintf("%sp%d", host, i))))
		}
	}
	visit := func() {
		u.visited++
		u.counted = u.counted[:0]
		for _, k := range keys {
			u.link(k, 1)
		}
		u.give(keys[0], policy.Page{Links: len(u.counted), First: true})
	}
	visit()
	if n := testing.AllocsPerRun(10, visit); n > 0 {
		t.Errorf("%v allocations for %d links", n, len(keys))
	}
	var table KeyTable
	table.Number(xxh3.Hash(keys[0]), keys[0])
	if n := testing.AllocsPerRun(10, func() { table.Number(xxh3.Hash(keys[0]), keys[0]) }); n > 0 {
		t.Errorf("%v allocations for a key", n)
	}
	if err := u.close(); err != nil {
		t.Error(err)
	}
}
