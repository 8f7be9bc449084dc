// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
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

// TestGenerateBounds: several fetchlists are dealt as a naive generator deals them, whatever the bounds: none is
// exceeded, no URL is in two, and none that is left out is better than one that could have made room for it.
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
					err := ing.Table(storage.HostFactsRange()).Set([]byte(h), storage.AppendHostFacts(nil, &facts))
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
		want := naiveLists(all, o)
		g, err := w.p.Generate(context.Background(), o)
		if len(all) == 0 && err != nil {
			return
		}
		if err != nil || len(g.Segments) != len(want) {
			t.Fatalf("%+v %v, want %d lists", g, err, len(want))
		}
		for i, number := range g.Segments {
			slices.Sort(want[i])
			var got []string
			for _, u := range w.fetchlist(number) {
				got = append(got, string(w.key(u)))
			}
			if !slices.Equal(got, want[i]) {
				t.Fatalf("list %d: %s\nwant %s", i, strings.Join(got, "\n"), strings.Join(want[i], "\n"))
			}
		}
	})
}

// naiveLists cuts the best of each host, domain and address, and deals what is left.
func naiveLists(all []chosen, o GenerateOptions) [][]string {
	slices.SortFunc(all, func(a, b chosen) int { return inTurn(&a, &b) })
	turns := map[string]uint32{}
	for i := range all {
		at := fmt.Sprint(all[i].Key.HostKey(), all[i].Score)
		all[i].turn = turns[at]
		turns[at]++
	}
	slices.SortFunc(all, func(a, b chosen) int { return inTurn(&a, &b) })
	cut := func(most int, of func(c *chosen) string) {
		count := map[string]int{}
		all = slices.DeleteFunc(all, func(c chosen) bool {
			count[of(&c)]++
			return most > 0 && count[of(&c)] > most*o.Lists
		})
	}
	host := func(c *chosen) string { return string(c.Key.HostKey()) }
	domain := func(c *chosen) string { return c.Key.HostKey().DomainKey() }
	address := func(c *chosen) string { return c.address }
	cut(o.MaxPerHost, host)
	cut(o.MaxPerDomain, domain)
	cut(o.MaxPerAddress, address)
	all = all[:min(len(all), o.Top*o.Lists)]
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
	return slices.DeleteFunc(lists, func(l []string) bool { return len(l) == 0 })
}
