// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// numbers returns the numbers of the documents found, best first.
func numbers(r index.Result) (out []int) {
	for _, h := range r.Hits {
		var n int
		u, _ := h.Key.URL()
		fmt.Sscanf(u.Path(), "/%d", &n)
		out = append(out, n)
	}
	return out
}

// TestOperators shows what each operator finds in a few documents, in the order of documents.
func TestOperators(t *testing.T) {
	s, x := newStore(t)
	put(t, s, x, []index.Document{
		doc(0, "Torn mesh", "The crew mends a torn mesh with a needle.", "mending nets"),
		doc(1, "Boats", "A boat with a torn sail and a net with a fine mesh."),
		doc(2, "Herring", "Herrings swim in schools; the net is full of herring."),
		doc(3, "Mesh", "如何在系统中安装新的软件包 mesh kernel"),
		doc(4, "Needles", "os.path.join joins; os.path splits. A needle, the needle."),
		doc(5, "Fishermen", "fishing fisher fishers; a haring is a herring in Dutch"),
	})
	f := func(q string, want ...int) {
		t.Helper()
		r := strict(t, x, q)
		got := numbers(r)
		slices.Sort(got)
		if !slices.Equal(got, want) || r.Total != len(want) {
			t.Errorf("%q (%s) finds %v, want %v", q, r.Query, got, want)
		}
	}
	f("torn mesh", 0, 1, 3)
	f("+torn mesh", 0, 1)
	f("torn +mesh", 0, 1, 3)
	f("mesh -torn", 3)
	f("mesh NOT torn", 3)
	f("mesh NOT (boat OR needle)", 3)
	f("-mesh", 2, 4, 5)
	f("NOT mesh NOT herring", 4)
	f(`"torn mesh"`, 0)
	f(`"torn mesh" sail`, 0)
	f(`?"torn mesh" sail`, 0, 1)
	f(`"torn sail mesh"~2`)
	f(`"torn sail mesh"~7`, 1)
	f(`"mesh torn"~1`)
	f(`"mesh torn"~2`, 0)
	f(`"needle needle"`)
	f(`"needle needle"~1`, 4)
	f(`"fine me*"`, 1)
	f("torn AND mesh", 0, 1)
	f("torn AND herring")
	f("torn OR herring", 0, 1, 2, 5)
	f("torn | kernel", 0, 1, 3)
	f("(torn OR kernel) AND mesh", 0, 1, 3)
	f("(boat kernel) AND mesh", 1, 3)
	f("torn AND NOT boat", 0)
	f("kernel OR NOT (mesh OR needle)", 2, 3, 5)
	f("fish*", 5)
	f("hering~1", 2, 5)
	f("hering~2", 2, 5)
	f("hering")
	f("hering^2 OR boat^3", 1)
	f("title:mesh", 0, 3)
	f("intitle:mesh -kernel", 0)
	f("title:(boat herring)", 1, 2)
	f(`title:"torn mesh"`, 0)
	f(`title:"mesh torn"`)
	f("title:mesh OR title:boat", 0, 1, 3)
	f("title:mes*", 0, 3)
	f("title:torn boat", 0)
	f("anchor:nets", 0)
	f("inanchor:herring")
	f("body:needle", 0, 4)
	f("body:fishermen")
	f("url:0003", 3)
	f("inurl:h1", 1, 4)
	f("site:h0.example", 0, 3)
	f("site:example", 0, 1, 2, 3, 4, 5)
	f("host:h0.example mesh", 0, 3)
	f("host:example")
	f("site:h0.example/0003", 3)
	f("site:h0.example mesh kernel", 0, 3)
	f("-site:h0.example mesh", 1)
	f("site:h1.example OR site:h2.example", 1, 2, 4, 5)
	f("(site:h1.example OR site:h2.example) mesh", 1)
	f("os.path.join", 4)
	f(`"os.path.join"`, 4)
	f("-os.path.join needle", 0)
	f("如何安装软件包", 3)
	f("+软件包", 3)
	if r := search(t, x, "site:% mesh"); r.Total != 0 {
		t.Errorf("a host that cannot be has %v", r.Hits)
	}
}

// TestTotalsOfFilters: filters alone find all their documents, with score 0, in key order.
func TestTotalsOfFilters(t *testing.T) {
	s, x := newStore(t)
	put(t, s, x, []index.Document{doc(0, "a", "net"), doc(3, "b", "net net"), doc(1, "c", "net"), doc(6, "d", "boat")})
	r := search(t, x, "site:h0.example")
	if got := numbers(r); !slices.Equal(got, []int{0, 3, 6}) || r.Total != 3 || r.Hits[0].Score != 0 {
		t.Errorf("%v, %v", got, r.Hits)
	}
}

// TestHostPorts: host: and site: mean every port, or the one that they name; host: means no host below it.
func TestHostPorts(t *testing.T) {
	s, x := newStore(t)
	var docs []index.Document
	for i, host := range []string{"a.example", "a.example:8080", "a.example:9090", "b.a.example", "b.a.example:8080"} {
		docs = append(docs, doc(i, "", "net"))
		u, err := urlkey.Parse(fmt.Sprintf("http://%s/%04d", host, i))
		if err != nil {
			t.Fatal(err)
		}
		docs[i].URL, docs[i].Key = u.String(), u.Key()
	}
	slices.SortFunc(docs, func(a, b index.Document) int { return strings.Compare(string(a.Key), string(b.Key)) })
	put(t, s, x, docs)
	for q, want := range map[string][]int{
		"host:a.example": {0, 1, 2}, "host:a.example:8080": {1}, "host:b.a.example net": {3, 4},
		"host:a.example:1": nil, "site:a.example": {0, 1, 2, 3, 4}, "site:a.example:9090": {2},
		"site:a.example/0": {0, 1, 2}, "site:a.example/0002": {2}, "site:a.example:8080/0": {1},
		"site:a.example/1": nil, "site:b.a.example/0 net": {3, 4}, "net -site:a.example/0": {3, 4},
		"site:a.example/0001 site:b.a.example/0004": {1, 4},
		"net -host:a.example":                       {3, 4}, "http://b.a.example:8080/0004": {4, 0, 1, 2, 3},
		"url:http://b.a.example:8080/0004": {4},
	} {
		got := numbers(search(t, x, q))
		if slices.Sort(got[min(1, len(got)):]); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", q, got, want)
		}
	}
}

// TestRanking: more words, repeated words and boosts raise a document; question words decide nothing.
func TestRanking(t *testing.T) {
	s, x := newStore(t)
	put(t, s, x, []index.Document{
		doc(0, "", "the boat and the crew"), doc(1, "", "the net and the crew"), doc(2, "", "the net and the boat"),
		doc(3, "", "how do I how do I how do I the fog of a day"),
	})
	f := func(q string, want ...int) {
		t.Helper()
		if got := numbers(search(t, x, q)); !slices.Equal(got[:min(len(want), len(got))], want) {
			t.Errorf("%q ranks %v, want %v first", q, got, want)
		}
	}
	f("net boat", 2)
	f("boat crew", 0)
	f("net boat^9 crew", 0, 2, 1)
	f("net crew crew crew crew boat", 0, 1, 2)
	f("net^9 crew boat", 1, 2, 0)
	f("(net crew)^0.1 boat", 0, 2, 1)
	f("how do I find the boat and net", 2)
	f("how do I", 3)
	f(`net ?"the boat"`, 2)
	if r := search(t, x, "how do I find a net"); r.Total != 2 {
		t.Errorf("question words find %d documents", r.Total)
	}
}

// TestRelaxed: when nothing has all that quotes and + require, some of it is enough, and the result says so. What is
// excluded, and operators, fields and filters, hold.
func TestRelaxed(t *testing.T) {
	s, x := newStore(t)
	put(t, s, x, []index.Document{
		doc(0, "Nets", "a net with a torn mesh"), doc(1, "Boats", "a boat with a mesh torn"),
		doc(2, "Fog", "fog and salt"),
	})
	f := func(q string, relaxed bool, want ...int) {
		t.Helper()
		r := search(t, x, q)
		got := numbers(r)
		if slices.Sort(got); !slices.Equal(got, want) || r.Relaxed != relaxed || r.Total != len(want) {
			t.Errorf("%q (%s) finds %v, relaxed %v, want %v", q, r.Query, got, r.Relaxed, want)
		}
		if n := strict(t, x, q).Total; relaxed && n != 0 {
			t.Errorf("%q, strict, finds %d", q, n)
		}
	}
	f(`"torn mesh"`, false, 0)
	f(`"torn mesh" fog`, false, 0)
	f(`"mesh net" fog`, true, 0, 1, 2)
	f(`"torn net"`, true, 0, 1)
	f("+net +salt", true, 0, 2)
	f("+net +salt -fog", true, 0)
	f("+net +salt NOT net", true, 2)
	f("net AND salt", false)
	f(`"torn mesh" AND salt`, false)
	f("title:salt net", false)
	f("+net site:h1.example", false)
	f("+net boat site:h1.example", true, 1)
	f(`-"torn mesh" +nowhere net`, false)
}

// TestFiltersOfAddresses: host: and site: of an address mean every port of it, as those of a name do, and the port that
// https has anyway is none.
func TestFiltersOfAddresses(t *testing.T) {
	s, x := newStore(t)
	var docs []index.Document
	for i, raw := range []string{
		"http://[::1]/0", "http://[::1]:8080/1", "http://[::1]:8080/docs/2", "http://[::2]/3", "http://127.0.0.1/4",
		"http://127.0.0.1:8080/docs/5", "http://127.0.0.11/6", "https://h.example/7", "http://h.example:443/8",
		"http://h.example:8080/docs/9",
	} {
		u, err := urlkey.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, index.Document{Key: u.Key(), URL: raw, Text: "net", Stamp: uint64(i)})
	}
	put(t, s, x, docs)
	for q, want := range map[string]string{
		"host:[::1]": "0 1 2", "site:[::1]": "0 1 2", "site:[0:0::1]:80": "0 1 2", "host:[::1]:8080": "1 2",
		"site:[::1]/docs": "2", "site:[::1]:8080/docs/": "2", "host:127.0.0.1": "4 5", "site:127.0.0.1": "4 5",
		"site:127.0.0.1/docs": "5", "host:h.example": "7 8 9", "host:h.example:443": "8",
		"site:https://h.example:443/": "7 8 9", "site:https://h.example:443/docs": "9", "site:H.EXAMPLE.": "7 8 9",
	} {
		var got []string
		for _, h := range strict(t, x, q).Hits {
			u, err := h.Key.URL()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, u.Path()[len(u.Path())-1:])
		}
		if slices.Sort(got); strings.Join(got, " ") != want {
			t.Errorf("%s finds %v, want %s", q, got, want)
		}
	}
}

// TestFilterOfLongText: a filter holds however many words are before it.
func TestFilterOfLongText(t *testing.T) {
	s, x := newStore(t)
	docs := []index.Document{doc(0, "", "net"), doc(1, "", "net"), doc(2, "", "net")}
	docs[1].Language = "de"
	put(t, s, x, docs)
	long := "net"
	for i := range 80 {
		long += fmt.Sprintf(" a%d.b%d", i, i)
	}
	for q, want := range map[string][]int{
		long: {0, 1, 2}, long + " lang:de": {1}, long + " -lang:de": {0, 2}, long + " site:h1.example lang:de": {1},
		long + strings.Repeat(" lang:de", 70): {1}, strings.Repeat("lang:de ", 70) + long: {1},
	} {
		r := search(t, x, q)
		got := numbers(r)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("…%s finds %v, want %v", q[max(0, len(q)-40):], got, want)
		}
		parsed := index.ParseQuery(q)
		if terms, _ := parsed.Size(); terms > 64 {
			t.Errorf("…%s has %d terms", q[max(0, len(q)-40):], terms)
		}
		checkTree(t, parsed)
	}
}

// TestYearValues: the values of the facet of years are dates that date: takes, also before the year 1000.
func TestYearValues(t *testing.T) {
	s, x := newStore(t)
	docs := []index.Document{doc(0, "", "net"), doc(1, "", "net"), doc(2, "", "net")}
	docs[0].Date, docs[1].Date = time.Date(476, 9, 4, 0, 0, 0, 0, time.UTC), time.Date(1976, 9, 4, 0, 0, 0, 0, time.UTC)
	put(t, s, x, docs)
	r, err := x.Search(context.Background(), "net", index.SearchOptions{
		Facets: []string{index.FacetYear}, Deadline: slow,
	})
	if err != nil || len(r.Facets) != 1 || len(r.Facets[0].Values) != 2 {
		t.Fatalf("%+v: %v", r.Facets, err)
	}
	for _, v := range r.Facets[0].Values {
		if got := strict(t, x, "date:"+v.Value).Total; got != v.Count {
			t.Errorf("%s: %d, but date: finds %d", v.Value, v.Count, got)
		}
	}
}

// TestStrictSearch: a search with Strict returns the error of the parser.
func TestStrictSearch(t *testing.T) {
	_, x := newStore(t)
	_, err := x.Search(context.Background(), "net )", index.SearchOptions{Strict: true})
	var e *index.QueryError
	if !errors.As(err, &e) || e.Column != 5 || e.Error() != `column 5: ")" without "("` {
		t.Errorf("%v", err)
	}
}

// TestSnippetOfQuery: snippets mark the words that count, forms included, and no question words or excluded ones.
func TestSnippetOfQuery(t *testing.T) {
	s, x := newStore(t)
	text := "How do the fishers of a boat mend the torn mesh of their nets"
	put(t, s, x, []index.Document{doc(0, "", text)})
	for q, want := range map[string]string{
		"how do I mend a net -salt": "How do the fishers of a boat [mend] the torn mesh of their [nets]",
		"fish* NOT salt":            "How do the [fishers] of a boat mend the torn mesh of their nets",
		`"torn mesh"`:               "How do the fishers of a boat mend the [torn] [mesh] of their nets",
		"bot~1":                     "How do the fishers of a [boat] mend the torn mesh of their nets",
	} {
		r := search(t, x, q)
		if got := x.Snippet(r.Query, text).Mark("[", "]"); got != want {
			t.Errorf("%q marks %q", q, got)
		}
	}
}

// TestSlop: a phrase with a slop matches as a search over all choices of positions does.
func TestSlop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom(vocabulary[:3]), 1, 8).Draw(t, "words")
		phrase := rapid.SliceOfN(rapid.SampledFrom(vocabulary[:3]), 2, 4).Draw(t, "phrase")
		slop := rapid.IntRange(0, 5).Draw(t, "slop")
		s, x := newStoreOf(t)
		defer s.Close()
		defer x.Close()
		put(t, s, x, []index.Document{doc(0, "", strings.Join(words, " "))})
		q := fmt.Sprintf(`"%s"~%d`, strings.Join(phrase, " "), slop)
		if got, want := strict(t, x, q).Total == 1, inSlop(words, phrase, slop, nil); got != want {
			t.Fatalf("%q in %v: %v, want %v", q, words, got, want)
		}
	})
}

// inSlop tries all choices of places for the words of a phrase.
func inSlop(words, phrase []string, slop int, at []int) bool {
	if len(at) == len(phrase) {
		lo, hi := at[0], at[0]
		for i, p := range at {
			lo, hi = min(lo, p-i), max(hi, p-i)
		}
		return hi-lo <= slop
	}
	for p, w := range words {
		if w != phrase[len(at)] || slices.Contains(at, p) {
			continue
		}
		if inSlop(words, phrase, slop, append(at[:len(at):len(at)], p)) {
			return true
		}
	}
	return false
}
