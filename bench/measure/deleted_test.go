// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
)

// What is measured: what deleted documents cost a search. The same queries run in turns in two equal indexes, of which
// one has lost 19 of 100 documents, just too few to be written again; "ratio" is its time to that of the other, for
// equal counts of runs, of the least time of each query. It is below 1 where fewer documents match. How to run it:
//
//	go test -run '^$' -bench Deleted -benchtime 1x ./bench/measure
func BenchmarkDeleted(b *testing.B) {
	docs := zipfDocuments(buildPages)
	whole, less := buildIndex(b, docs), buildIndex(b, docs)
	defer whole.close(b)
	defer less.close(b)
	in := less.store.NewIngestion()
	defer in.Abort()
	builder := less.index.NewBuilder(in)
	defer builder.Abort()
	for i := range docs {
		if i*19%100 < 19 {
			must(b, builder.Delete(docs[i].Key))
		}
	}
	_, err := builder.Finish()
	must(b, err, in.Commit(), less.index.Refresh())
	if n := less.index.Stats().Deleted; n*100 != uint64(len(docs))*19 {
		b.Fatalf("%d of %d documents are deleted", n, len(docs))
	}
	common := vocabulary()[:zipfFrequent]
	// Not strict, a phrase whose document is deleted would be relaxed.
	o := index.SearchOptions{Strict: true, Deadline: time.Minute}
	for _, kind := range []string{"frequent", "term", "and", "or", "phrase"} {
		list := common
		if kind != "frequent" {
			list = queries(docs, kind, common)[:100]
		}
		b.Run(kind, func(b *testing.B) {
			var first, again [2]time.Duration // of the whole and the other
			for b.Loop() {
				first, again = [2]time.Duration{}, [2]time.Duration{}
				for _, q := range list {
					for i, x := range []*index.Index{whole.index, less.index} {
						least := time.Hour
						for n := range 8 {
							began := time.Now()
							_, err := x.Search(context.Background(), q, o)
							took := time.Since(began)
							must(b, err)
							if n == 0 {
								first[i] += took
							}
							least = min(least, took)
						}
						again[i] += least
					}
				}
			}
			b.ReportMetric(float64(again[1])/float64(again[0]), "ratio")
			b.ReportMetric(float64(first[1])/float64(first[0]), "first-ratio")
			b.ReportMetric(float64(again[1].Nanoseconds())/float64(len(list)), "ns/search")
			b.ReportMetric(0, "ns/op")
		})
	}
}
