// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
)

// What is measured: (1) the text of 20,000 simweb pages of 12 KB, as package parse gives it, made into
// an index on disk, committed; bytes of title and text per second, and bytes of the index for each of
// them. The floor is the analysis alone: the same texts cut into terms that nobody keeps. (2) Searches
// in the index of those 20,000 documents for the best ten, by kind of query, 500 different queries of
// each kind made of words of the documents, so that each finds something; ns/op is the mean, p50 and
// p99 are over all searches of the run. simweb's vocabulary is small, about a thousand words and some
// thousand names: lists are long for the number of documents. How to run:
//
//	go test -run '^$' -bench 'Index|Search' ./bench

const (
	indexHosts, indexPages = 200, 100
	queriesEach            = 500
)

// documents are the pages as they are indexed, in order of key.
var documents = sync.OnceValue(func() []index.Document {
	o := newOurs()
	var docs []index.Document
	for _, p := range makePages(indexHosts, indexPages) {
		o.in.URL, o.in.Body = p.url, p.text
		if err := o.parsers.Parse(&o.in, &o.page); err != nil {
			panic(err)
		}
		docs = append(docs, index.Document{Key: p.url.Key(), URL: p.url.String(), Title: o.page.Title, Text: string(o.page.Text),
			Language: o.page.Language, Stamp: uint64(len(docs) + 1)})
	}
	slices.SortFunc(docs, func(a, b index.Document) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return docs
})

func textBytes(docs []index.Document) (n int) {
	for i := range docs {
		n += len(docs[i].Title) + len(docs[i].Text)
	}
	return n
}

// builtIndex is an index on disk.
type builtIndex struct {
	store *storage.Store
	index *index.Index
	words uint64
}

func buildIndex(b *testing.B, docs []index.Document) *builtIndex {
	s, err := storage.Open(b.TempDir(), storage.Options{})
	must(b, err)
	x, err := index.Open(s, index.Options{})
	must(b, err)
	in := s.NewIngestion()
	defer in.Abort()
	builder := x.NewBuilder(in)
	defer builder.Abort()
	for i := range docs {
		if err := builder.Add(&docs[i]); err != nil {
			b.Fatal(err)
		}
	}
	report, err := builder.Finish()
	must(b, err, in.Commit(), x.Refresh())
	if stats := x.Stats(); stats.Documents != uint64(len(docs)) || int(report.Added) != len(docs) {
		b.Fatalf("%d documents are indexed, %d were added, want %d", stats.Documents, report.Added, len(docs))
	}
	return &builtIndex{s, x, report.Words}
}

func (i *builtIndex) close(b *testing.B) { must(b, i.index.Close(), i.store.Close()) }

// bytes is the size of the index's tables.
func (i *builtIndex) bytes(b *testing.B) float64 {
	m, err := i.store.Metrics()
	must(b, err)
	return float64(m.TableBytes)
}

// analyse cuts all texts into terms and returns their number and that of the words.
func analyse(docs []index.Document) (terms, words int) {
	var a analysis.Analyzer
	count := func(analysis.Token) { terms++ }
	for i := range docs {
		words += a.Walk([]byte(docs[i].Title), 0, count)
		words += a.Walk([]byte(docs[i].Text), 0, count)
	}
	return terms, words
}

func BenchmarkIndex(b *testing.B) {
	docs := documents()
	total := textBytes(docs)
	_, words := analyse(docs)
	b.Run("build/seine", func(b *testing.B) {
		b.SetBytes(int64(total))
		b.ReportAllocs()
		var x *builtIndex
		for b.Loop() {
			if x != nil {
				b.StopTimer()
				x.close(b)
				b.StartTimer()
			}
			x = buildIndex(b, docs)
		}
		per(b, len(docs), "document")
		if x.words < uint64(words)*9/10 || x.words > uint64(words)*11/10 {
			b.Fatalf("%d words are indexed, the texts have %d", x.words, words)
		}
		b.ReportMetric(x.bytes(b)/float64(total), "index-B/text-B")
		x.close(b)
	})
	b.Run("build/floor-analysis", func(b *testing.B) {
		b.SetBytes(int64(total))
		b.ReportAllocs()
		for b.Loop() {
			if _, n := analyse(docs); n != words {
				b.Fatalf("%d words, want %d", n, words)
			}
		}
		per(b, len(docs), "document")
	})
}

// queries makes queries of one kind of words that stand in the documents.
func queries(docs []index.Document, kind string) (list []string) {
	rng := rand.New(rand.NewPCG(5, 6))
	for len(list) < queriesEach {
		fields := strings.FieldsFunc(docs[rng.IntN(len(docs))].Text, func(r rune) bool { return r == '\n' || r == '.' })
		words := strings.Fields(fields[rng.IntN(len(fields))])
		if len(words) < 5 || strings.ContainsAny(strings.Join(words, ""), `"():-`) {
			continue
		}
		i := rng.IntN(len(words) - 2)
		a, z := words[i], words[len(words)-1]
		switch kind {
		case "term":
			list = append(list, a)
		case "and":
			list = append(list, a+" "+z)
		case "or":
			list = append(list, a+" OR "+z)
		case "phrase":
			list = append(list, fmt.Sprintf("%q", strings.Join(words[i:i+3], " ")))
		}
	}
	return list
}

func BenchmarkSearch(b *testing.B) {
	docs := documents()
	x := buildIndex(b, docs)
	defer x.close(b)
	ctx := context.Background()
	search := func(b *testing.B, q string) index.Result {
		r, err := x.index.Search(ctx, q, index.SearchOptions{Deadline: time.Minute})
		must(b, err)
		return r
	}
	for _, kind := range []string{"term", "and", "or", "phrase"} {
		list := queries(docs, kind)
		b.Run(kind, func(b *testing.B) {
			found := 0
			for _, q := range list { // and so the blocks are in the cache
				r := search(b, q)
				if r.Total == 0 || len(r.Hits) != min(r.Total, 10) || r.Partial {
					b.Fatalf("%s finds %d, of which %d are shown", q, r.Total, len(r.Hits))
				}
				found += r.Total
			}
			var took []time.Duration
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				search(b, list[i%len(list)])
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
			b.ReportMetric(float64(found)/float64(len(list)), "matches/query")
		})
	}
}
