// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/seine-crawler/seine/engine/parse"
)

// wordF1 is the F1 measure of the words of two texts, as multisets.
func wordF1(got, want string) float64 {
	count := map[string]int{}
	words := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r)
		})
	}
	a, b := words(got), words(want)
	if len(a)+len(b) == 0 {
		return 1
	}
	for _, w := range b {
		count[w]++
	}
	both := 0
	for _, w := range a {
		if count[w] > 0 {
			count[w]--
			both++
		}
	}
	return 2 * float64(both) / float64(len(a)+len(b))
}

// TestContent compares the main content of real pages with annotations by people. The models were trained on these
// pages (bench/training/content/README.md has their quality on unseen sites, by type): the test checks that the program
// computes what the trained models computed.
func TestContent(t *testing.T) {
	parsers := parse.New(parse.Options{})
	var p parse.Page
	pages, sum, whole := 0, 0.0, 0.0
	realPages(t, "web/wcxb-dev.tar.xz", func(name string, body, annotation []byte) {
		var gold struct {
			URL         string `json:"url"`
			GroundTruth struct {
				MainContent string `json:"main_content"`
			} `json:"ground_truth"`
		}
		if err := json.Unmarshal(annotation, &gold); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		at := mustURL(t, cmp.Or(gold.URL, "https://example.org/"))
		in := parse.Input{URL: at, ContentType: "text/html", Body: body}
		if err := parsers.Parse(&in, &p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sum += wordF1(string(p.AppendContent(nil)), gold.GroundTruth.MainContent)
		whole += wordF1(string(p.Text), gold.GroundTruth.MainContent)
		pages++
	})
	n := float64(pages)
	t.Logf("%d pages: word F1 %.3f, of the whole text %.3f", pages, sum/n, whole/n)
	if sum/n < 0.90 || pages < ofAll(1400) {
		t.Errorf("word F1 %.3f on %d training pages, want 0.90 on %d", sum/n, pages, ofAll(1400))
	}
}

// TestContentOfOthers: of a page that is not HTML, all text is content.
func TestContentOfOthers(t *testing.T) {
	var p parse.Page
	in := parse.Input{URL: mustURL(t, "https://example.org/"), ContentType: "text/plain", Body: []byte("first\nsecond")}
	if err := parse.New(parse.Options{}).Parse(&in, &p); err != nil {
		t.Fatal(err)
	}
	if got := p.AppendContent(nil); !bytes.Equal(got, p.Text) || len(got) == 0 {
		t.Errorf("content %q of %q", got, p.Text)
	}
}

// TestContentWhateverURL: the content does not depend on the page's URL, so that a page at two URLs is a duplicate.
func TestContentWhateverURL(t *testing.T) {
	parsers := parse.New(parse.Options{})
	realPages(t, "web/wcxb-sample.tar.xz", func(name string, body, _ []byte) {
		var first, p parse.Page
		for at, page := range map[string]*parse.Page{
			"https://example.org/": &first,
			"https://forum.example.org/blog/2024/01/product/index.html?item=1": &p,
		} {
			in := parse.Input{URL: mustURL(t, at), ContentType: "text/html", Body: body}
			if err := parsers.Parse(&in, page); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if p.Signature != first.Signature || p.SimHash != first.SimHash || !slices.Equal(p.Blocks, first.Blocks) {
			t.Errorf("%s differs by its URL", name)
		}
	})
}
