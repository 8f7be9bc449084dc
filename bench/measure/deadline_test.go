// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
)

// What is measured: how long after its deadline, or after the end of its context, a search ends that would take many
// times as long. The queries are the worst that the language allows: 40 of the most frequent words of 20,000 documents
// as alternatives, all required, in phrases with slop, and as prefixes and fuzzy words of the whole vocabulary. late-ms
// is the longest time of the run, ended-% the share of searches that the deadline cut short. How to run:
//
//	go test -run '^$' -bench Deadline ./bench/measure

// worstQueries take as long as queries can.
func worstQueries(words []string) []string {
	var phrases, prefixes, fuzzy []string
	for i := range words[:len(words)-3] {
		phrases = append(phrases, fmt.Sprintf(`"%s"~9`, strings.Join(words[i:i+4], " ")))
		prefixes = append(prefixes, words[i][:1]+"*")
		fuzzy = append(fuzzy, words[i]+"~2")
	}
	return []string{
		strings.Join(words, " OR "),
		strings.Join(words, " AND "),
		strings.Join(phrases[:8], " OR "),
		strings.Join(prefixes, " OR "),
		strings.Join(fuzzy, " OR "),
		"(" + strings.Join(words[:20], " ") + ") AND NOT (" + strings.Join(words[20:], " AND ") + ")",
	}
}

func BenchmarkDeadline(b *testing.B) {
	for _, c := range corpora {
		docs := c.make(searchPages)
		words := frequentWords(docs[:200], 40)
		x := buildIndex(b, docs)
		list := worstQueries(words)
		for _, limit := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
			for _, by := range []string{"deadline", "context"} {
				b.Run(fmt.Sprintf("%s/%s=%s", c.name, by, limit), func(b *testing.B) {
					late, cut, n := time.Duration(0), 0, 0
					for i := 0; b.Loop(); i++ {
						o := index.SearchOptions{Deadline: limit}
						ctx, cancel := context.Background(), func() {}
						if by == "context" {
							o.Deadline = time.Minute
							ctx, cancel = context.WithTimeout(ctx, limit)
						}
						start := time.Now()
						r, err := x.index.Search(ctx, list[i%len(list)], o)
						late = max(late, time.Since(start)-limit)
						cancel()
						if err != nil && ctx.Err() == nil {
							b.Fatal(err)
						}
						if n++; r.Partial || err != nil {
							cut++
						}
					}
					b.ReportMetric(float64(late.Microseconds())/1000, "late-ms")
					b.ReportMetric(100*float64(cut)/float64(n), "ended-%")
				})
			}
		}
		x.close(b)
	}
}

// frequentWords returns the words that are in most of the documents, the most frequent first.
func frequentWords(docs []index.Document, n int) []string {
	count := map[string]int{}
	for i := range docs {
		seen := map[string]bool{}
		for _, w := range strings.FieldsFunc(docs[i].Text, func(r rune) bool { return r < 'a' || r > 'z' }) {
			if len(w) > 3 && !seen[w] {
				seen[w] = true
				count[w]++
			}
		}
	}
	words := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(a, b))
	})
	return words[:n]
}
