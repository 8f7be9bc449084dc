// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// rankOptions are those of a ranking until nothing changes any more.
func rankOptions() LinkRankOptions {
	return LinkRankOptions{Damping: 0.85, OtherHosts: 1, Tolerance: 1e-9, Passes: 1000, Memory: 1 << 30}
}

// ranks are the ranks of all nodes by name.
func (w *world) ranks(o LinkRankOptions) (map[string]float64, LinkRanked) {
	w.t.Helper()
	all := map[string]float64{}
	o.Each = func(name []byte, rank float64) error {
		if _, twice := all[string(name)]; twice {
			return fmt.Errorf("node %s comes twice", name)
		}
		all[string(name)] = rank
		return nil
	}
	r, err := w.p.LinkRank(context.Background(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return all, r
}

// trusted returns those of targets that name a page. With one that names none, nothing is ranked.
func (w *world) trusted(o LinkRankOptions, names ...string) (known Targets) {
	w.t.Helper()
	for _, name := range names {
		one := w.targets(name)
		if matched := slices.ContainsFunc(slices.Collect(maps.Keys(w.records())), func(k urlkey.Key) bool {
			return one.Has([]byte(k))
		}); matched {
			known = append(known, one...)
			continue
		}
		o.Trusted = w.targets(names...)
		_, err := w.p.LinkRank(context.Background(), o)
		if err == nil || !strings.Contains(err.Error(), "names no page that crawldb knows") {
			w.t.Fatalf("trusted %s, which names no page: %v", name, err)
		}
	}
	return known
}

// dense computes the same from what crawldb and the pages say, with a matrix of transitions.
func dense(
	o LinkRankOptions, records map[urlkey.Key]storage.Record, links map[urlkey.Key][]urlkey.Key,
) map[string]float64 {
	node := func(k urlkey.Key) string { return string(o.Nodes.nodeOf([]byte(k))) }
	number := map[string]int{}
	for k := range records {
		if _, ok := number[node(k)]; !ok {
			number[node(k)] = len(number)
		}
	}
	n := len(number)
	start, starts := make([]float64, n), 0.0
	for k, r := range records {
		begins := o.FromSeeds && r.Depth == 0 && r.Hops == 0
		if len(o.Trusted) > 0 {
			begins = o.Trusted.Has([]byte(k))
		}
		if i := number[node(k)]; begins && start[i] == 0 {
			start[i] = 1
			starts++
		}
	}
	for i := range start {
		if starts == 0 {
			start[i] = 1 / float64(n)
		} else {
			start[i] /= starts
		}
	}
	counts := make([][]float64, n) // the weight of each link
	for i := range counts {
		counts[i] = make([]float64, n)
	}
	for from, targets := range links {
		i, ok := number[node(from)]
		for _, to := range targets {
			j, known := number[node(to)]
			internal := from.HostKey() == to.HostKey()
			if !ok || !known || o.IgnoreInternal && internal || o.Nodes != NodePages && i == j {
				continue
			}
			counts[i][j] = 1
			if !internal {
				counts[i][j] = max(o.OtherHosts, math.SmallestNonzeroFloat64) // it counts, if only as a link
			}
		}
	}
	rank := slices.Clone(start)
	for range 400 {
		next, given := make([]float64, n), 0.0
		for i, row := range counts {
			degree := 0.0
			for _, c := range row {
				if c > 0 {
					degree++
				}
			}
			for j, c := range row {
				if c > 0 {
					next[j] += rank[i] * c / degree
					given += rank[i] * c / degree
				}
			}
		}
		for j := range next {
			next[j] = o.Damping*next[j] + (1-o.Damping*given)*start[j]
		}
		rank = next
	}
	byName := map[string]float64{}
	for name, i := range number {
		byName[name] = rank[i]
	}
	return byName
}

// sameRanks compares ranks to a millionth of their mean.
func sameRanks(t tester, got, want map[string]float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d nodes, want %d", len(got), len(want))
	}
	sum := 0.0
	for name, rank := range got {
		sum += rank
		if math.Abs(rank-want[name])*float64(len(want)) > 1e-6 {
			t.Fatalf("%s has rank %g, want %g", name, rank, want[name])
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Fatalf("ranks add up to %g", sum)
	}
}

// aroundSuffixes are hosts of amazonaws.com and of domains of public suffixes below it, which stand between these.
var aroundSuffixes = []string{
	"www.amazonaws.com", "a.s3.amazonaws.com", "aws.amazonaws.com", "c.s3.amazonaws.com", "s9.amazonaws.com",
	"www.a.s3.amazonaws.com", "s3.amazonaws.com:8080", "github.io",
}

// TestLinkRank crawls random webs, in which pages are fetched again with other links, redirect, go, and link to pages
// out of scope, and compares the ranks with those of a dense computation: of pages, hosts and domains, with ranks in
// memory and on disk.
func TestLinkRank(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scope := rapid.SampledFrom([]policy.Scope{policy.ScopeAny, policy.ScopeHost}).Draw(t, "scope")
		w := newWorld(t, admission.Options{Scope: scope})
		defer w.close()
		urls := make([]string, rapid.IntRange(1, 30).Draw(t, "pages"))
		for i := range urls {
			urls[i] = fmt.Sprintf("http://h%d.d%d.example/%d", i%5, i%3, i)
			if i%4 == 3 {
				urls[i] = fmt.Sprintf("http://%s/%d", aroundSuffixes[i/4%len(aroundSuffixes)], i)
			}
		}
		one := rapid.SampledFrom(urls)
		w.inject(one.Draw(t, "seed"), one.Draw(t, "seed"))
		links := map[urlkey.Key][]urlkey.Key{}
		for part := range rapid.IntRange(1, 4).Draw(t, "segments") {
			pages := map[string]page{}
			for range rapid.IntRange(1, 20).Draw(t, "fetches") {
				p := page{url: one.Draw(t, "url"), at: int64(part)}
				switch rapid.IntRange(0, 9).Draw(t, "kind") {
				case 0:
					p.redirect = one.Draw(t, "to")
					redirects := []storage.FetchStatus{storage.FetchRedirPerm, storage.FetchRedirTemp}
					p.status = rapid.SampledFrom(redirects).Draw(t, "redirect")
				case 1:
					p.status = storage.FetchGone
				default:
					p.links = rapid.SliceOfN(one, 0, 12).Draw(t, "links")
				}
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
					if l != p.url { // a page does not vote for itself
						links[from] = append(links[from], w.key(l))
					}
				}
				if p.redirect != "" {
					links[from] = append(links[from], w.key(p.redirect))
				}
			}
		}
		o := rankOptions()
		o.Nodes = rapid.SampledFrom([]GraphNodes{NodePages, NodeHosts, NodeDomains}).Draw(t, "nodes")
		o.OtherHosts = rapid.SampledFrom([]float64{1, 0.5, 0}).Draw(t, "other hosts")
		o.IgnoreInternal = rapid.Bool().Draw(t, "ignore internal")
		o.FromSeeds = rapid.Bool().Draw(t, "from seeds")
		if rapid.Bool().Draw(t, "trusted") {
			o.Trusted = w.trusted(o, "h1.d1.example", one.Draw(t, "trusted page"))
		}
		want := dense(o, w.records(), links)
		o.DryRun = true
		got, _ := w.ranks(o)
		sameRanks(t, got, want)
		o.Memory = int64(rapid.IntRange(1, 16*len(want)-1).Draw(t, "memory"))
		o.DryRun = false
		got, _ = w.ranks(o)
		sameRanks(t, got, want)
		for key, r := range w.records() {
			rank := want[string(o.Nodes.nodeOf([]byte(key)))]
			if math.Abs(r.Score-rank*float64(len(want))) > 1.0/(1<<16) {
				t.Fatalf("%s has score %g, want %g", key, r.Score, rank*float64(len(want)))
			}
		}
		w.check()
		if _, r := w.ranks(o); r.Changed != 0 {
			t.Fatalf("%d records changed by ranking again", r.Changed)
		}
		sameInlinkDomains(t, w, links)
	})
}

// sameInlinkDomains compares the numbers of linking domains with those of a simple count over all links.
func sameInlinkDomains(t *rapid.T, w *world, links map[urlkey.Key][]urlkey.Key) {
	domains, pairs := map[urlkey.Key]map[string]bool{}, uint64(0)
	records := w.records()
	for from, targets := range links {
		for _, to := range targets {
			of := from.HostKey().DomainKey()
			_, source := records[from]
			_, target := records[to]
			if !source || !target || of == to.HostKey().DomainKey() || domains[to][of] {
				continue
			}
			if domains[to] == nil {
				domains[to] = map[string]bool{}
			}
			domains[to][of] = true
			pairs++
		}
	}
	best := slices.SortedFunc(maps.Keys(records), func(a, b urlkey.Key) int {
		return cmp.Or(cmp.Compare(len(domains[b]), len(domains[a])), cmp.Compare(a, b))
	})
	for _, dryRun := range []bool{true, false, false} {
		before, seen := w.records(), 0
		r, err := w.p.InlinkDomains(context.Background(), LinkRankOptions{
			DryRun: dryRun, Top: 3, Each: func(name []byte, rank float64) error {
				seen++
				if want := len(domains[urlkey.Key(name)]); rank != float64(want) {
					return fmt.Errorf("%v domains link to %s, want %d", rank, name, want)
				}
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if seen != len(records) || r.Nodes != uint64(seen) || r.Edges != pairs || len(r.Top) != min(seen, 3) {
			t.Fatalf("%d pages: %+v, want %d pairs", seen, r, pairs)
		}
		for i, top := range r.Top { // of equal ones, the first by name
			if top.Name != string(best[i]) || top.Rank != float64(len(domains[best[i]])) {
				t.Fatalf("number %d of the best: %+v, want %s", i, top, best[i])
			}
		}
		changed := uint64(0)
		for key, now := range w.records() {
			if now.Score != before[key].Score {
				changed++
			}
			if want := float64(len(domains[key])); !dryRun && now.Score != want {
				t.Fatalf("%s has score %v, want %v", key, now.Score, want)
			}
		}
		if r.Changed != changed || dryRun && changed != 0 {
			t.Fatalf("%d records changed, reported: %d", changed, r.Changed)
		}
	}
	w.check()
}

// TestInlinkDomainsBelowSuffixes: below a public suffix each name is another domain, for a page of the suffix too, and
// so it is where a domain has a public suffix below it.
func TestInlinkDomainsBelowSuffixes(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	w.inject("http://github.io/")
	segment := w.seal(
		page{url: "http://github.io/", links: []string{"http://a.github.io/", "http://github.io:8080/"}},
		page{url: "http://a.github.io/", links: []string{"http://github.io/", "http://www.a.github.io/"}},
		page{url: "http://b.github.io/", links: []string{
			"http://github.io/", "http://a.github.io/", "http://a.s3.amazonaws.com/",
		}},
		page{url: "http://a.s3.amazonaws.com/", links: []string{"http://www.amazonaws.com/", "http://b.github.io/"}},
		// Two hosts of a domain, around the domain of a public suffix below it.
		page{url: "http://aws.amazonaws.com/", links: []string{"http://b.github.io/"}},
		page{url: "http://www.amazonaws.com/", links: []string{"http://b.github.io/"}},
	)
	if _, err := w.p.UpdateDB(context.Background(), segment); err != nil {
		t.Fatal(err)
	}
	if _, err := w.p.InvertLinks(context.Background(), segment); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	_, err := w.p.InlinkDomains(context.Background(), LinkRankOptions{
		DryRun: true, Each: func(name []byte, domains float64) error {
			if domains > 0 {
				got[NodeName(NodePages, name)] = domains
			}
			return nil
		},
	})
	want := map[string]float64{
		"http://github.io/": 2, "http://a.github.io/": 2, "http://b.github.io/": 2, "http://www.amazonaws.com/": 1,
		"http://a.s3.amazonaws.com/": 1,
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	o := rankOptions() // that domain is one node, which all its hosts have the rank of
	o.Nodes = NodeDomains
	ranks, r := w.ranks(o)
	nodes := []string{"com,amazonaws,", "com,amazonaws,s3,a,", "io,github,", "io,github,a,", "io,github,b,"}
	if names := slices.Sorted(maps.Keys(ranks)); !slices.Equal(names, nodes) || r.Nodes != 5 || r.Edges != 8 {
		t.Errorf("%q, %d edges", names, r.Edges)
	}
	records, score := w.records(), onScoreGrid(ranks[nodes[0]]*5)
	for _, host := range []string{"http://aws.amazonaws.com/", "http://www.amazonaws.com/"} {
		if got := records[w.key(host)].Score; got != score {
			t.Errorf("%s has the score %v, its domain %v", host, got, score)
		}
	}
}

// TestLinkRankTop: the best nodes come best first, and a bound of passes ends early.
func TestLinkRankTop(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	w.inject("http://a.example/")
	segment := w.seal(
		page{url: "http://a.example/", links: []string{"http://b.example/", "http://c.example/"}},
		page{url: "http://b.example/", links: []string{"http://c.example/"}},
	)
	if _, err := w.p.UpdateDB(context.Background(), segment); err != nil {
		t.Fatal(err)
	}
	if _, err := w.p.InvertLinks(context.Background(), segment); err != nil {
		t.Fatal(err)
	}
	o := rankOptions()
	o.Top, o.DryRun = 2, true
	_, r := w.ranks(o)
	names := make([]string, len(r.Top))
	for i := range r.Top {
		names[i] = NodeName(o.Nodes, []byte(r.Top[i].Name))
	}
	if got := strings.Join(names, " "); got != "http://c.example/ http://b.example/" {
		t.Errorf("best: %s", got)
	}
	if r.Nodes != 3 || r.Edges != 3 || r.Starts != 3 || r.Passes < 5 || r.Passes > 500 || r.Change >= o.Tolerance {
		t.Errorf("%+v", r)
	}
	o.Passes = 2
	if _, r := w.ranks(o); r.Passes != 2 || r.Change < o.Tolerance {
		t.Errorf("with 2 passes: %+v", r)
	}
	o.Nodes = NodeDomains
	if _, r := w.ranks(o); NodeName(o.Nodes, []byte(r.Top[0].Name)) != "c.example" {
		t.Errorf("domains: %+v", r.Top)
	}
}
