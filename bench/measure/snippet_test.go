// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/bench/relevance"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: the snippets of a page of ten hits, on Debian's manuals: for the forty questions in four languages,
// for their words as a phrase would be typed (the last two), and for their last word. cpu-µs/ten is the processor time
// of the thread, the mean over queries; KB/ten is the text of ten hits, of which seine searches as much as it needs;
// marked-% are the hits whose snippet has a match, words/hit the different words
// that are marked. -v shows the first snippets of each query. How to run:
//
//	SEINE_MANUALS=/tmp/manuals go test -run '^$' -bench Snippets -v ./bench/measure

// shownHit is what a snippet is made of.
type shownHit struct {
	query index.Query
	text  string
	o     index.SnippetOptions
}

func BenchmarkSnippets(b *testing.B) {
	tree := readManuals(b)
	list, err := relevance.Questions()
	must(b, err)
	docs := treeDocuments(&tree, nil, nil)
	byKey := map[urlkey.Key]*index.Document{}
	for i := range docs {
		byKey[docs[i].Key] = &docs[i]
	}
	x := buildIndex(b, docs)
	defer x.close(b)
	for _, c := range []struct {
		name  string
		query func(words []string) string
	}{
		{"questions", func(w []string) string { return strings.Join(w, " ") }},
		{"phrases", func(w []string) string { return `?"` + strings.Join(w[max(0, len(w)-2):], " ") + `"` }},
		{"words", func(w []string) string { return w[len(w)-1] }},
	} {
		b.Run(c.name+"/seine", func(b *testing.B) {
			var hits []shownHit
			bytes := 0
			for _, q := range list {
				r, err := x.index.Search(context.Background(), c.query(strings.Fields(q.Text)), index.SearchOptions{
					Limit: 10, Deadline: time.Minute, Near: true,
				})
				must(b, err)
				for i, h := range r.Hits {
					d := byKey[h.Key]
					hits = append(hits, shownHit{r.Query, d.Text, index.SnippetOptions{
						Content: d.Content, Near: h.Near,
					}})
					if bytes += len(d.Text); testing.Verbose() && i < 2 {
						s := x.index.SnippetWith(r.Query, d.Text, hits[len(hits)-1].o)
						b.Logf("%s | %s\n\t%s", r.Query, d.Title, s.Mark("[", "]"))
					}
				}
			}
			runtime.LockOSThread() // for the time of one thread
			defer runtime.UnlockOSThread()
			marked, words := 0, 0
			for i := range hits {
				words += markedWords(x.index.SnippetWith(hits[i].query, hits[i].text, hits[i].o))
			}
			b.ReportAllocs()
			begin := threadTime(b)
			for b.Loop() {
				marked = 0
				for i := range hits {
					marked += boolInt(len(x.index.SnippetWith(hits[i].query, hits[i].text, hits[i].o).Matches) > 0)
				}
			}
			tens := float64(len(hits)) / 10
			b.ReportMetric(float64((threadTime(b)-begin).Microseconds())/float64(b.N)/tens, "cpu-µs/ten")
			b.ReportMetric(float64(bytes)/1e3/tens, "KB/ten")
			b.ReportMetric(100*float64(marked)/float64(len(hits)), "marked-%")
			b.ReportMetric(float64(words)/float64(len(hits)), "words/hit")
		})
	}
}

// markedWords counts the different words among the matches of a snippet. Short words say little, so the count is of
// those of four bytes and more, by these: forms of one word are one.
func markedWords(s index.Snippet) int {
	words := map[string]bool{}
	for _, m := range s.Matches {
		if word := strings.ToLower(s.Text[m[0]:m[1]]); len(word) >= 4 {
			words[word[:4]] = true
		}
	}
	return len(words)
}
