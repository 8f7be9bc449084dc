// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestGenerateSpreads: of equal scores, every host gets its turn before any gets a second one.
func TestGenerateSpreads(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	var seeds []string
	for host := range 40 {
		for page := range 30 {
			seeds = append(seeds, fmt.Sprintf("https://h%d.example/%d", host, page))
		}
	}
	w.inject(seeds...)
	g, err := w.p.Generate(context.Background(), GenerateOptions{Top: 80})
	if err != nil || g.Selected != 80 || g.Hosts != 40 || g.Held[HeldTop] == 0 {
		t.Fatalf("%+v %v", g, err)
	}
}

// TestGenerateBest: once as many URLs as are wanted have been read, a host that comes later still gives what is
// better than the worst of them.
func TestGenerateBest(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	w.inject(hostA+"\tnutch.score=16", hostA+"1", hostA+"2", hostB, hostB+"1", "https://c.test/\tnutch.score=4")
	g, err := w.p.Generate(t.Context(), GenerateOptions{Top: 2})
	if err != nil {
		t.Fatal(err)
	}
	got := w.fetchlist(g.Segment)
	slices.Sort(got)
	if want := []string{hostA, "https://c.test/"}; !slices.Equal(got, want) {
		t.Errorf("chosen: %v, want %v", got, want)
	}
}

// TestGenerateHugeBounds: bounds that no memory could hold, and whose product is no number, are as good as none.
func TestGenerateHugeBounds(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	for i := range 40 {
		w.inject(fmt.Sprintf("https://h%d.example/%d", i%4, i))
	}
	for _, c := range []struct {
		o     GenerateOptions
		lists int
	}{
		{GenerateOptions{Top: 1, Lists: 1 << 40}, 40},
		{GenerateOptions{Top: math.MaxInt}, 1},
		{GenerateOptions{Top: math.MaxInt, Lists: math.MaxInt}, 1},
		{GenerateOptions{Top: 1 << 40, MaxPerHost: 1 << 40, Lists: 1 << 40}, 1},
		{GenerateOptions{MaxPerHost: math.MaxInt, MaxPerDomain: math.MaxInt, MaxPerAddress: math.MaxInt, Lists: 3}, 1},
		{GenerateOptions{MaxPerHost: 5, MaxPerDomain: 5, MaxPerAddress: 5, Lists: math.MaxInt}, 2},
		{GenerateOptions{AddDays: math.MaxInt}, 1},
		{GenerateOptions{AddDays: math.MaxInt / 86_400_000}, 1},
	} {
		c.o.IgnoreMarked = true
		g, err := w.p.Generate(context.Background(), c.o)
		if err != nil || g.Selected != 40 || len(g.Segments) != c.lists {
			t.Errorf("%+v: %d URLs in %d lists, want %d, %v", c.o, g.Selected, len(g.Segments), c.lists, err)
		}
	}
}

// TestGenerateBounds: several fetchlists are dealt as a naive generator deals them, whatever the bounds: what one list
// has no room for goes to the next one that has some. With bounds of both domains and addresses no bound is exceeded,
// and no URL is in two lists. What is left out is counted by what keeps it out.
func TestGenerateBounds(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		w := newWorld(t, admission.Options{})
		defer w.close()
		n := rapid.IntRange(1, 120).Draw(t, "urls")
		var seeds []string
		for i := range n {
			host, domain := rapid.IntRange(0, 4).Draw(t, "host"), rapid.IntRange(0, 3).Draw(t, "domain")
			seeds = append(seeds, fmt.Sprintf("https://h%d.d%d.example/%d\tnutch.score=%d",
				host, domain, i, rapid.IntRange(1, 3).Draw(t, "score")))
		}
		w.inject(seeds...)
		small := rapid.IntRange(0, 6)
		o := GenerateOptions{
			Top: rapid.IntRange(1, 40).Draw(t, "top"), Lists: rapid.IntRange(1, 4).Draw(t, "lists"),
			MaxPerHost: small.Draw(t, "per host"), MaxPerDomain: small.Draw(t, "per domain"),
			MaxPerAddress: small.Draw(t, "per address"), MinScore: float64(rapid.IntRange(0, 3).Draw(t, "least")),
		}
		addresses := map[urlkey.HostKey]string{}
		for host := range 5 {
			for domain := range 4 {
				h := w.key(fmt.Sprintf("https://h%d.d%d.example/", host, domain)).HostKey()
				addresses[h] = string(h)
				if host < 3 { // others were never visited
					a := netip.AddrFrom4([4]byte{10, 0, 0, byte(host)})
					addresses[h] = a.String()
					facts := storage.HostFacts{Addr: a}
					ing := w.store.NewIngestion()
					err := ing.Table(storage.HostFactsRange()).
						Set([]byte(storage.HostStateKey(h)), storage.AppendHostFacts(nil, &facts))
					if err == nil {
						err = ing.Commit()
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		var all []chosen
		for key, r := range w.records() {
			if r.Score >= o.MinScore {
				all = append(all, chosen{Choice: Choice{Key: key, Score: r.Score}, address: addresses[key.HostKey()]})
			}
		}
		g, err := w.p.Generate(context.Background(), o)
		if len(all) == 0 && err != nil {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		out := g.Held[HeldTop] + g.Held[HeldHost] + g.Held[HeldDomain] + g.Held[HeldAddress]
		if g.Unread[HeldTop] == 0 && g.Due != uint64(len(all)) || g.More != (g.Unread[HeldTop] > 0) ||
			g.Due > uint64(len(all)) || g.Selected+out != g.Due || o.MaxPerHost == 0 && g.Held[HeldHost] > 0 {
			t.Errorf("%d URLs are due: %+v", len(all), g)
		}
		var lists [][]string
		for _, number := range g.Segments {
			var list []string
			for _, u := range w.fetchlist(number) {
				list = append(list, string(w.key(u)))
			}
			lists = append(lists, list)
		}
		if o.MaxPerDomain > 0 && o.MaxPerAddress > 0 {
			withinBounds(t, lists, addresses, o)
		} else if want := naiveLists(all, o); !slices.EqualFunc(lists, want, slices.Equal) {
			t.Fatalf("lists %q\nwant %q", lists, want)
		}
	})
}

// TestDealtByAddress: what a bound of addresses keeps out of all fetchlists takes no place of others in the bound of
// their domain.
func TestDealtByAddress(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	ing := w.store.NewIngestion()
	defer ing.Abort()
	for i, host := range []string{"a", "b", "c"} {
		at := "https://" + host + ".d.example/"
		w.inject(at+"1\tnutch.score="+fmt.Sprint(3-i), at+"2\tnutch.score="+fmt.Sprint(3-i))
		facts := storage.HostFacts{Addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i / 2)})} // a and b share one
		value := storage.AppendHostFacts(nil, &facts)
		key := []byte(storage.HostStateKey(w.key(at).HostKey()))
		if err := ing.Table(storage.HostFactsRange()).Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := ing.Commit(); err != nil {
		t.Fatal(err)
	}
	g, err := w.p.Generate(t.Context(), GenerateOptions{Lists: 2, MaxPerDomain: 2, MaxPerAddress: 1})
	if err != nil || g.Selected != 4 || g.Held[HeldAddress] != 2 || len(g.Held) != 1 {
		t.Errorf("%+v, %v", g, err)
	}
}

// withinBounds checks that no list exceeds a bound, and no URL is in two.
func withinBounds(t *rapid.T, lists [][]string, addresses map[urlkey.HostKey]string, o GenerateOptions) {
	seen := map[string]bool{}
	for _, list := range lists {
		count := map[string]int{}
		within := func(of string, most int) bool {
			count[of]++
			return most == 0 || count[of] <= most
		}
		for _, key := range list {
			host := urlkey.Key(key).HostKey()
			if !within("", o.Top) || !within("host "+string(host), o.MaxPerHost) || seen[key] ||
				!within("domain "+host.DomainKey(), o.MaxPerDomain) ||
				!within("address "+addresses[host], o.MaxPerAddress) {
				t.Fatalf("%+v: %q", o, lists)
			}
			seen[key] = true
		}
	}
}

// naiveLists deals all that is due: each URL to the first list that has room for it.
func naiveLists(all []chosen, o GenerateOptions) [][]string {
	slices.SortFunc(all, func(a, b chosen) int { return inTurn(&a, &b) })
	turns := map[string]uint32{}
	for i := range all {
		at := fmt.Sprint(all[i].Key.HostKey(), all[i].Score)
		all[i].turn = turns[at]
		turns[at]++
	}
	slices.SortFunc(all, func(a, b chosen) int { return inTurn(&a, &b) })
	host := func(c *chosen) string { return string(c.Key.HostKey()) }
	domain := func(c *chosen) string { return c.Key.HostKey().DomainKey() }
	address := func(c *chosen) string { return c.address }
	lists := make([][]string, o.Lists)
	count := map[string]int{}
	for i := range all {
		for n := range lists {
			has := func(kind string, most int, of func(*chosen) string) (key string, room bool) {
				key = fmt.Sprint(n, kind, of(&all[i]))
				return key, most == 0 || count[key] < most
			}
			h, ok1 := has("host", o.MaxPerHost, host)
			d, ok2 := has("domain", o.MaxPerDomain, domain)
			a, ok3 := has("address", o.MaxPerAddress, address)
			if ok1 && ok2 && ok3 && len(lists[n]) < o.Top {
				count[h], count[d], count[a] = count[h]+1, count[d]+1, count[a]+1
				lists[n] = append(lists[n], string(all[i].Key))
				break
			}
		}
	}
	for _, list := range lists {
		slices.Sort(list)
	}
	return slices.DeleteFunc(lists, func(l []string) bool { return len(l) == 0 })
}

// TestGenerateDomainApart: hosts of a domain count together where those of a public suffix below it come between them,
// and what waits in a fetchlist counts for its own domain only.
func TestGenerateDomainApart(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny, Domain: admission.Cost{URLs: 6}})
	defer w.close()
	for _, host := range []string{"a.amazonaws.com", "b.s3.amazonaws.com", "c.s3.amazonaws.com", "z.amazonaws.com"} {
		for page := range 5 {
			w.inject(fmt.Sprintf("https://%s/%d", host, page))
		}
	}
	perDomain := func(o GenerateOptions) map[string]int {
		t.Helper()
		g, err := w.p.Generate(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, number := range g.Segments {
			for _, u := range w.fetchlist(number) {
				count[w.key(u).HostKey().Domain()]++
			}
		}
		return count
	}
	want := map[string]int{"amazonaws.com": 2, "b.s3.amazonaws.com": 2, "c.s3.amazonaws.com": 2}
	if got := perDomain(GenerateOptions{MaxPerDomain: 2}); !maps.Equal(got, want) {
		t.Errorf("two of a domain: %v, want %v", got, want)
	}
	want = map[string]int{"amazonaws.com": 4, "b.s3.amazonaws.com": 3, "c.s3.amazonaws.com": 3}
	if got := perDomain(GenerateOptions{}); !maps.Equal(got, want) {
		t.Errorf("what the budget leaves: %v, want %v", got, want)
	}
}

// TestGenerateDomainBest: what the budget of a domain leaves goes to its best URLs, whichever host comes first.
func TestGenerateDomainBest(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny, Domain: admission.Cost{URLs: 3}})
	defer w.close()
	for i := range 3 {
		w.inject(fmt.Sprintf("https://a.d.example/%d", i), fmt.Sprintf("https://b.d.example/%d\tnutch.score=9", i))
	}
	g, err := w.p.Generate(t.Context(), GenerateOptions{})
	if err != nil || g.Due != 6 || g.Held[HeldBudget] != 3 || len(g.Unread) > 0 {
		t.Fatalf("%+v, %v", g, err)
	}
	want := []string{"https://b.d.example/0", "https://b.d.example/1", "https://b.d.example/2"}
	if got := w.fetchlist(g.Segment); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestGenerateMarked: what waits in a fetchlist is left out for a week, also while its segment is sealed and crawldb
// does not know the outcomes yet, and no longer.
func TestGenerateMarked(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	w.inject(hostA)
	generates := func(o GenerateOptions, want int) Generated {
		t.Helper()
		g, err := w.p.Generate(t.Context(), o)
		if g.Selected != uint64(want) || err != nil && !errors.Is(err, ErrNothingDue) {
			t.Fatalf("%+v: %+v %v, want %d", o, g, err, want)
		}
		return g
	}
	const week = 7 * 86_400_000
	first := generates(GenerateOptions{}, 1)
	if g := generates(GenerateOptions{}, 0); g.Marked != 1 || g.Held[HeldMarked] != 1 {
		t.Errorf("%+v", g)
	}
	list, err := w.store.SegmentList()
	if err != nil || len(list) != 1 || list[0].Number != first.Segment {
		t.Fatalf("%+v %v", list, err)
	}
	list[0].State = storage.SegmentSealed
	if err := w.store.PutSegment(list[0]); err != nil {
		t.Fatal(err)
	}
	generates(GenerateOptions{}, 0)
	generates(GenerateOptions{IgnoreMarked: true, DryRun: true}, 1)
	w.now += week
	generates(GenerateOptions{}, 0)
	w.now++
	generates(GenerateOptions{}, 1)
}

// TestGenerateOneAddress: an address counts as one however it is written.
func TestGenerateOneAddress(t *testing.T) {
	w := newWorld(t, admission.Options{})
	defer w.close()
	w.inject(hostA, hostB, "https://c.test/")
	for url, address := range map[string]string{hostA: "10.0.0.1", hostB: "::ffff:10.0.0.1"} {
		facts := storage.HostFacts{Addr: netip.MustParseAddr(address)}
		value := storage.AppendHostFacts(nil, &facts)
		if err := w.store.Apply(func(b *storage.Batch) error {
			return b.Set(storage.HostFactsRange(), []byte(storage.HostStateKey(w.key(url).HostKey())), value)
		}); err != nil {
			t.Fatal(err)
		}
	}
	g, err := w.p.Generate(t.Context(), GenerateOptions{MaxPerAddress: 1})
	if err != nil || g.Selected != 2 || g.Held[HeldAddress] != 1 {
		t.Errorf("%+v %v", g, err)
	}
}

// TestGenerateHeld: what is left out is counted by what keeps it out, and hosts of which something was not read by why.
func TestGenerateHeld(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	var seeds []string
	for i := range 60 {
		seeds = append(seeds, fmt.Sprintf("https://h%d.example/%d", i%6, i))
	}
	w.inject(seeds...)
	w.update(page{url: seeds[0], links: []string{"https://h0.example/linked", "https://other.example/"}})
	far := []string{"https://h0.example/far", "https://h0.example/far2"}
	w.update(page{url: "https://h0.example/linked", links: far})
	type counts map[string]uint64
	looks := func(o GenerateOptions, due uint64, held, unread counts) {
		t.Helper()
		o.DryRun = true
		g, err := w.p.Generate(context.Background(), o)
		if err != nil || g.Due != due || !maps.Equal(counts(g.Held), held) || !maps.Equal(counts(g.Unread), unread) {
			t.Errorf("%+v: %+v, %v; want %d due, held %v, unread %v", o, g, err, due, held, unread)
		}
	}
	looks(GenerateOptions{}, 62, nil, nil)
	interval := policy.DefaultInterval * time.Second // a URL with that time between two fetches is not left out
	looks(GenerateOptions{MaxInterval: interval}, 62, nil, nil)
	looks(GenerateOptions{MaxInterval: interval - time.Second}, 0, counts{HeldInterval: 62}, nil)
	looks(GenerateOptions{Status: storage.StatusUnfetched}, 62, nil, nil)
	looks(GenerateOptions{Status: storage.StatusGone}, 0, counts{HeldStatus: 62}, nil)
	looks(GenerateOptions{Status: storage.StatusFetched, AddDays: 31}, 2, counts{HeldStatus: 62}, nil)
	// Of other.example, the last host, one look says that its only URL has a worse score than six others.
	looks(GenerateOptions{Top: 6}, 61, counts{HeldTop: 55}, counts{HeldTop: 1})
	looks(GenerateOptions{Top: 6, MaxPerHost: 8}, 61, counts{HeldTop: 55}, counts{HeldTop: 1})
	looks(GenerateOptions{MaxPerHost: 8}, 62, counts{HeldHost: 3 + 5*2}, nil)
	looks(GenerateOptions{Top: 40, Lists: 2, MaxPerHost: 4}, 62, counts{HeldHost: 3 + 5*2}, nil)
	w.options.MaxDepth = 1
	w.restart()
	looks(GenerateOptions{}, 60, nil, counts{admission.ReasonDepth: 1})
	w.options.MaxDepth, w.options.Scope = 0, policy.ScopeHost
	w.restart()
	looks(GenerateOptions{}, 61, nil, counts{admission.ReasonScope: 1})
	w.adm.Block([]urlkey.HostKey{w.key(seeds[1]).HostKey(), w.key(seeds[2]).HostKey()})
	looks(GenerateOptions{}, 41, nil, counts{admission.ReasonScope: 1, admission.ReasonBlocked: 2})
	w.options.Host.URLs = 7
	w.restart()
	looks(GenerateOptions{}, 61, counts{HeldBudget: 6 + 5*3}, counts{admission.ReasonScope: 1})
	chosen, err := w.p.Generate(context.Background(), GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	looks(GenerateOptions{}, 0, nil, counts{admission.ReasonScope: 1, HeldBudget: 6})
	g, err := w.p.Generate(context.Background(), GenerateOptions{DryRun: true})
	if err != nil || chosen.Selected == 0 || g.Marked != chosen.Selected {
		t.Errorf("%d wait in the fetchlist, want %d, %v", g.Marked, chosen.Selected, err)
	}
}
