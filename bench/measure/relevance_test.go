// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/bench/relevance"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: how well the best documents of a search are the right ones, by the measures of trec_eval. The
// topics of Cranfield and CACM go to Index.Search as they are in the collections. MAP is over the first 1,000 hits.
// Half of the topics (odd, even) may have been used to choose weights; the other half then tells what they are worth.
// How to run:
//
//	SEINE_CONFORMANCE_DATA=… go test -run '^$' -bench Relevance ./bench/measure
//
// The peers' figures for the same collections: cd bench/peers && go run . relevance.

// collections reads the judged collections, and skips the benchmark if they are not there.
func collections(b *testing.B) (list []relevance.Collection) {
	data := os.Getenv("SEINE_CONFORMANCE_DATA")
	if data == "" {
		b.Skip("SEINE_CONFORMANCE_DATA is not set: no judged collections")
	}
	data = filepath.Join(data, "relevance")
	cranfield, err := relevance.Cranfield(filepath.Join(data, "cranfield.tar.xz"))
	must(b, err)
	cacm, err := relevance.CACM(filepath.Join(data, "cacm.tar.xz"))
	must(b, err)
	return []relevance.Collection{cranfield, cacm}
}

// collectionDocuments are the documents of a collection, each at a URL that says nothing about it.
func collectionDocuments(b *testing.B, c *relevance.Collection) (docs []index.Document, ids map[urlkey.Key]string) {
	ids = map[urlkey.Key]string{}
	for i, d := range c.Documents {
		u, err := urlkey.Parse("http://" + c.Name + ".example/" + d.ID)
		must(b, err)
		ids[u.Key()] = d.ID
		docs = append(docs, index.Document{
			Key: u.Key(), URL: u.String(), Title: d.Title, Text: d.Text, Language: "en", Stamp: uint64(i + 1),
		})
	}
	slices.SortFunc(docs, func(a, b index.Document) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return docs, ids
}

// ranker makes a Search of an index; name gives the identifier of a hit.
func ranker(x *index.Index, name func(urlkey.Key) string) relevance.Search {
	return func(query string, k int) (ids []string, err error) {
		r, err := x.Search(context.Background(), query, index.SearchOptions{Limit: k, Deadline: time.Minute})
		for _, h := range r.Hits {
			ids = append(ids, name(h.Key))
		}
		return ids, err
	}
}

func BenchmarkRelevance(b *testing.B) {
	for _, c := range collections(b) {
		docs, ids := collectionDocuments(b, &c)
		x := buildIndex(b, docs)
		search := ranker(x.index, func(k urlkey.Key) string { return ids[k] })
		for _, half := range relevance.Halves {
			b.Run(c.Name+"/"+string(half)+"/seine", func(b *testing.B) {
				var s relevance.Scores
				for b.Loop() {
					var err error
					s, err = c.Run(search, half)
					must(b, err)
				}
				per(b, s.Topics, "query")
				b.ReportMetric(s.MAP, "MAP")
				b.ReportMetric(s.NDCG10, "nDCG@10")
				b.ReportMetric(s.P10, "P@10")
				b.ReportMetric(float64(s.Empty), "empty")
				b.ReportMetric(float64(s.Judged), "topics")
			})
		}
		x.close(b)
	}
}
