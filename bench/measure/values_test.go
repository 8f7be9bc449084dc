// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: what orders, counts and limits add to a search. Documents of 12 words are on hosts of a few pages
// to a few thousand, in five languages, with dates of thirty years; a tenth are near-duplicates of another. Each option
// searches in turns with the plain search, and ratio is between the processor times of both. How to run, with a million
// documents:
//
//	go test -run '^$' -bench Values -benchtime 20x ./bench/measure -values.documents 1000000

var valuesDocuments = flag.Int("values.documents", 200_000, "documents of BenchmarkValues")

// valuesIndex builds the index, document by document.
func valuesIndex(b *testing.B, n int) *builtIndex {
	s, err := storage.Open(b.TempDir(), storage.Options{})
	must(b, err)
	x, err := index.Open(s, index.Options{})
	must(b, err)
	in := s.NewIngestion()
	defer in.Abort()
	builder := x.NewBuilder(in)
	defer builder.Abort()
	rng := rand.New(rand.NewPCG(21, 22))
	zipf := rand.NewZipf(rng, 1.2, 4, 50_000)
	languages := []string{"en", "en", "en", "de", "fr", "ja", "es"}
	host, left := 0, 0
	var text []byte
	for i := range n {
		if left == 0 {
			host, left = host+1, 3+int(rng.ExpFloat64()*400)
		}
		left--
		u, err := urlkey.Parse(fmt.Sprintf("http://h%06d.example/%06d", host, i))
		must(b, err)
		text = text[:0]
		if rng.IntN(4) > 0 {
			text = append(text, "common "...)
		}
		for range 11 {
			text = append(syllables(text, zipf.Uint64()), ' ')
		}
		d := index.Document{
			Key: u.Key(), URL: "http://" + u.Host(), Text: string(text), Stamp: 1, Type: "text/html",
			Language: languages[rng.IntN(len(languages))], Size: int64(len(text)), Group: rng.Uint64() >> 16,
			Date: time.Date(1994+rng.IntN(30), 1, 1+rng.IntN(365), 0, 0, 0, 0, time.UTC),
		}
		if rng.IntN(10) == 0 {
			d.Group = uint64(1 + rng.IntN(n/20))
		}
		must(b, builder.Add(&d))
	}
	_, err = builder.Finish()
	must(b, err, in.Commit(), x.Refresh())
	return &builtIndex{store: s, index: x}
}

func BenchmarkValues(b *testing.B) {
	x := valuesIndex(b, *valuesDocuments)
	defer x.close(b)
	words := func(from int) string {
		var w []string
		for i := range 4 {
			w = append(w, string(syllables(nil, uint64(from+i*from))))
		}
		return strings.Join(w, " ")
	}
	for _, q := range []struct{ name, text string }{
		{"common", "common"}, {"four-words", words(3)}, {"rare", words(2000)}, {"filter", "lang:de"},
	} {
		for _, o := range []struct {
			name string
			o    index.SearchOptions
		}{
			{"newest", index.SearchOptions{Order: index.OrderNewest}},
			{"largest", index.SearchOptions{Order: index.OrderLargest}},
			{"facet-lang", index.SearchOptions{Facets: []string{index.FacetLanguage}}},
			{"facet-host", index.SearchOptions{Facets: []string{index.FacetHost}}},
			{"facets-all", index.SearchOptions{Facets: []string{"lang", "type", "host", "year"}}},
			{"per-host-2", index.SearchOptions{PerHost: 2}},
			{"collapse", index.SearchOptions{Collapse: true}},
			{"both", index.SearchOptions{PerHost: 2, Collapse: true}},
		} {
			b.Run(fmt.Sprintf("documents=%d/%s/%s", *valuesDocuments, q.name, o.name), func(b *testing.B) {
				run := func(o index.SearchOptions) (time.Duration, index.Result) {
					o.Deadline = time.Minute
					start := processTime()
					r, err := x.index.Search(context.Background(), q.text, o)
					used := processTime() - start
					must(b, err)
					if r.Partial || len(r.Hits) != 10 {
						b.Fatalf("%d hits of %d", len(r.Hits), r.Total)
					}
					return used, r
				}
				run(index.SearchOptions{}) // what the first calls read into memory
				run(o.o)
				var plain, with time.Duration
				var found index.Result
				for b.Loop() {
					used, _ := run(index.SearchOptions{})
					plain += used
					used, found = run(o.o)
					with += used
				}
				b.ReportMetric(float64(with)/float64(b.N), "cpu-ns/query")
				b.ReportMetric(float64(plain)/float64(b.N), "plain-cpu-ns")
				b.ReportMetric(float64(with)/float64(max(plain, 1)), "ratio")
				b.ReportMetric(float64(found.Total), "matches/query")
			})
		}
	}
}
