// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: (1) the texts of 5,000 documents of 7 to 8 KB made into an index on disk, committed: bytes of title
// and text per second, and bytes of the index for each of them. The floor is the analysis alone: the same texts cut
// into terms that are not kept. (2) Searches in an index of 20,000 such documents for the best ten, by kind of query:
// 500 different queries of each kind made of words of the documents, so that each finds something. ns/op is the mean;
// p50 and p99 are over all searches of the run. Both are run on two kinds of text. "zipf": a vocabulary of 50,000 words
// whose frequencies follow Zipf's law, as in natural languages; queries are of words beyond the 50 most frequent ones.
// "simweb": the pages of simweb as package parse returns them, which have so few words (some 850 terms) that a search
// matches most documents, the worst case for lists. (3) The same build with
// one goroutine and with two. How to run:
//
//	go test -run '^$' -bench 'Index|Search|Builders' ./bench/measure

const (
	buildPages  = 25  // of 200 hosts each
	searchPages = 100 // likewise
	indexHosts  = 200
	queriesEach = 500

	zipfWords    = 50_000 // vocabulary
	zipfFrequent = 50     // of these, not in queries
	zipfDocument = 1250   // words of a document: 7 KB
)

// corpora are the kinds of text; make returns documents in order of key.
var corpora = []struct {
	name string
	make func(pages int) []index.Document
}{{"zipf", zipfDocuments}, {"simweb", simDocuments}}

func simDocuments(pages int) (docs []index.Document) {
	o := newOurs()
	for _, p := range makePages(indexHosts, pages) {
		o.in.URL, o.in.Body = p.url, p.text
		if err := o.parsers.Parse(&o.in, &o.page); err != nil {
			panic(err)
		}
		docs = append(docs, index.Document{
			Key: p.url.Key(), URL: p.url.String(), Title: o.page.Title, Text: string(o.page.Text),
			Language: o.page.Language, Stamp: uint64(len(docs) + 1),
		})
	}
	slices.SortFunc(docs, func(a, b index.Document) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return docs
}

// vocabulary makes distinct words, the frequent ones short.
func vocabulary() []string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	words := make([]string, zipfWords)
	for i := range words {
		var w []byte
		for n := i + 1; n > 0; n /= len(consonants) * len(vowels) {
			n := n % (len(consonants) * len(vowels))
			w = append(w, consonants[n/len(vowels)], vowels[n%len(vowels)])
		}
		words[i] = string(w) + "n"
	}
	return words
}

func zipfDocuments(pages int) (docs []index.Document) {
	rng := rand.New(rand.NewPCG(7, 8))
	z := rand.NewZipf(rng, 1.1, 2.7, zipfWords-1)
	words := vocabulary()
	var text []byte
	for i := range indexHosts * pages {
		text = text[:0]
		title := words[z.Uint64()] + " " + words[z.Uint64()]
		for n := range zipfDocument {
			text = append(text, words[z.Uint64()]...)
			if n%15 == 14 {
				text = append(text, '.')
			}
			text = append(text, " \n"[boolInt(n%60 == 59)])
		}
		u, err := urlkey.Parse(fmt.Sprintf("http://www.site%03d.example/articles/%06d.html", i/pages, i))
		if err != nil {
			panic(err)
		}
		docs = append(
			docs,
			index.Document{
				Key: u.Key(), URL: u.String(), Title: title, Text: string(text), Language: "en",
				Stamp: uint64(i + 1),
			},
		)
	}
	return docs
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

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
	return buildIndexWith(b, docs, index.Options{})
}

func buildIndexWith(b *testing.B, docs []index.Document, o index.Options) *builtIndex {
	s, err := storage.Open(b.TempDir(), storage.Options{})
	must(b, err)
	x, err := index.Open(s, o)
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
	count := func(*analysis.Token) { terms++ }
	for i := range docs {
		words += a.Walk([]byte(docs[i].Title), 0, count)
		words += a.Walk([]byte(docs[i].Text), 0, count)
	}
	return terms, words
}

// BenchmarkBuilders builds the same index with one goroutine and with two. cores is processor time by wall time: as
// many cores were busy.
func BenchmarkBuilders(b *testing.B) {
	docs := zipfDocuments(buildPages)
	total := textBytes(docs)
	for _, n := range []int{1, 2} {
		b.Run(fmt.Sprintf("builders=%d/seine", n), func(b *testing.B) {
			b.SetBytes(int64(total))
			begin, used := time.Now(), processTime()
			for b.Loop() {
				buildIndexWith(b, docs, index.Options{Builders: n}).close(b)
			}
			cpu := (processTime() - used).Seconds()
			b.ReportMetric(cpu/time.Since(begin).Seconds(), "cores")
			b.ReportMetric(float64(total)*float64(b.N)/1e6/cpu, "text-MB/cpu-s")
		})
	}
}

func BenchmarkIndex(b *testing.B) {
	for _, c := range corpora {
		docs := c.make(buildPages)
		total := textBytes(docs)
		_, words := analyse(docs)
		b.Run("build/"+c.name+"/seine", func(b *testing.B) {
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
			b.ReportMetric(float64(x.index.Stats().Terms), "terms")
			x.close(b)
		})
		b.Run("build/"+c.name+"/floor-analysis", func(b *testing.B) {
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
}

// queries makes queries of one kind from words of the documents that are not common.
func queries(docs []index.Document, kind string, common []string) (list []string) {
	rng := rand.New(rand.NewPCG(5, 6))
	for len(list) < queriesEach {
		sentences := strings.FieldsFunc(
			docs[rng.IntN(len(docs))].Text, func(r rune) bool { return r == '\n' || r == '.' },
		)
		sentence := sentences[rng.IntN(len(sentences))]
		words := strings.Fields(sentence)
		if len(words) < 5 || strings.ContainsAny(sentence, `"():-`) {
			continue
		}
		i := rng.IntN(len(words) - 2)
		a, z := words[i], words[len(words)-1]
		if slices.Contains(common, a) || slices.Contains(common, z) {
			continue
		}
		switch kind {
		case "term":
			list = append(list, a)
		case "and":
			list = append(list, "+"+a+" +"+z)
		case "or":
			list = append(list, a+" OR "+z)
		case "phrase":
			list = append(list, fmt.Sprintf("%q", strings.Join(words[i:i+3], " ")))
		}
	}
	return list
}

func BenchmarkSearch(b *testing.B) {
	for _, c := range corpora {
		docs := c.make(searchPages)
		var common []string
		if c.name == "zipf" {
			common = vocabulary()[:zipfFrequent]
		}
		x := buildIndex(b, docs)
		for _, kind := range []string{"term", "and", "or", "phrase"} {
			list := queries(docs, kind, common)
			b.Run(kind+"/"+c.name, func(b *testing.B) { benchmarkSearch(b, x.index, list) })
		}
		x.close(b)
	}
}

func benchmarkSearch(b *testing.B, x *index.Index, list []string) {
	ctx := context.Background()
	search := func(q string) index.Result {
		r, err := x.Search(ctx, q, index.SearchOptions{Deadline: time.Minute})
		must(b, err)
		return r
	}
	found := 0
	for _, q := range list { // this also fills the block cache
		r := search(q)
		if r.Total == 0 || len(r.Hits) != min(r.Total, 10) || r.Partial {
			b.Fatalf("%s finds %d, of which %d are shown", q, r.Total, len(r.Hits))
		}
		found += r.Total
	}
	var took []time.Duration
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		search(list[i%len(list)])
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
	b.ReportMetric(float64(found)/float64(len(list)), "matches/query")
}
