// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/bench/relevance"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured, on Debian's manuals in four languages as bench/relevance/manuals.sh unpacks them: (1) forty
// questions, and how many have a page that answers them among the first three hits; (2) known items: the text of a link
// is the query, and the page that it leads to is the right answer. In no-anchors the index has no texts of links; in
// other-anchors it has those that are not queries; in anchors it has all, as after a crawl. static multiplies scores by
// index.StaticBoost, of the texts of links that the index has; -known.weight multiplies what that adds to 1. Half of
// the items (tuned) chose the weight in StaticBoost, the other half (reported) tells what it is worth. How to run:
//
//	bench/relevance/manuals.sh /tmp/manuals
//	SEINE_MANUALS=/tmp/manuals go test -run '^$' -bench 'Questions|KnownItem' -v ./bench/measure
//
// -v lists the questions without a right page.

const knownItems = 1000

var knownWeight = flag.Float64("known.weight", 1, "of the static score of known items, in units of the built-in one")

// manualsInFour are the paths of the pages in the four languages.
var manualsInFour = regexp.MustCompile(`/(de|fr|ja|en)/|[.-](de|fr|ja|en)\.html$|/(de-DE|fr-FR|ja-JP|en-US)/|` +
	`/debian-policy/policy\.html/|/developers-reference/[^/]*$`)

func readManuals(b *testing.B) relevance.Tree {
	root := os.Getenv("SEINE_MANUALS")
	if root == "" {
		b.Skip("SEINE_MANUALS is not set: no manuals of Debian")
	}
	t, err := relevance.ReadTree(root, manualsInFour.MatchString, "usr/share")
	must(b, err)
	return t
}

// treeDocuments makes documents of a tree. anchors and boosts, by URL, may be nil.
func treeDocuments(t *relevance.Tree, anchors map[string][]string, boosts map[string]float64) (docs []index.Document) {
	for i := range t.Pages {
		p := &t.Pages[i]
		u := p.URL.String()
		docs = append(docs, index.Document{
			Key: p.URL.Key(), URL: u, Title: p.Title, Headings: p.Headings, Anchors: anchors[u], Text: p.Text,
			Content: p.Content, Language: p.Language, Stamp: uint64(i + 1), Boost: boosts[u],
		})
	}
	return docs
}

func urlOf(k urlkey.Key) string {
	u, err := k.URL()
	if err != nil {
		panic(err)
	}
	return u.String()
}

func BenchmarkQuestions(b *testing.B) {
	tree := readManuals(b)
	list, err := relevance.Questions()
	must(b, err, tree.CheckQuestions(list))
	anchors, _ := tree.Inlinks(nil)
	x := buildIndex(b, treeDocuments(&tree, anchors, nil))
	defer x.close(b)
	b.Run("four-languages/seine", func(b *testing.B) {
		var s relevance.QuestionScores
		for b.Loop() {
			s, err = relevance.RunQuestions(ranker(x.index, urlOf), list)
			must(b, err)
		}
		per(b, s.Questions, "query")
		b.ReportMetric(float64(s.Right), "right-in-3")
		b.ReportMetric(float64(s.Empty), "empty")
		b.ReportMetric(float64(s.Questions), "questions")
		if testing.Verbose() {
			b.Log("not answered:\n" + strings.Join(s.Wrong, "\n"))
		}
	})
}

func BenchmarkKnownItem(b *testing.B) {
	tree := readManuals(b)
	items := tree.KnownItems(knownItems, 1)
	all, _ := tree.Inlinks(nil)
	others, _ := tree.Inlinks(items)
	static := func(anchors map[string][]string) map[string]float64 {
		boosts := map[string]float64{}
		for url, texts := range anchors {
			boosts[url] = 1 + *knownWeight*(index.StaticBoost(len(texts), 0)-1)
		}
		return boosts
	}
	for _, v := range []struct {
		name    string
		anchors map[string][]string
		boosts  map[string]float64
	}{
		{"no-anchors", nil, nil},
		{"other-anchors", others, nil},
		{"other-anchors-static", others, static(others)},
		{"anchors", all, nil},
		{"anchors-static", all, static(all)},
	} {
		x := buildIndex(b, treeDocuments(&tree, v.anchors, v.boosts))
		for half, name := range []string{"tuned", "reported"} {
			b.Run(v.name+"/"+name+"/seine", func(b *testing.B) {
				var s relevance.KnownScores
				var err error
				for b.Loop() {
					s, err = relevance.RunKnown(ranker(x.index, urlOf), knownHalf(items, half))
					must(b, err)
				}
				per(b, s.Items, "query")
				b.ReportMetric(s.MRR, "MRR")
				b.ReportMetric(100*s.Success1, "success@1-%")
				b.ReportMetric(100*s.Success10, "success@10-%")
				b.ReportMetric(float64(s.Empty), "empty")
				b.ReportMetric(float64(s.Items), "items")
			})
		}
		x.close(b)
	}
}

// knownHalf returns every other item from a first one on.
func knownHalf(items []relevance.Item, first int) (half []relevance.Item) {
	for i := first; i < len(items); i += 2 {
		half = append(half, items[i])
	}
	return half
}
