// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/bench/relevance"
)

// corpus is a file of documents as the programs read them, with what queries are drawn from.
type corpus struct {
	name, file string
	documents  int
	textBytes  int64          // titles and texts
	sample     [][]string     // the words of one document in sampleEvery
	df         map[string]int // documents of the sample that have a word
}

const (
	sampleMost   = 50_000 // documents of a corpus that words are counted in
	passageLeast = 60     // words
	passageMost  = 220    // words
)

// manualsCorpus writes the English pages of the packages below a root.
func manualsCorpus(root, file string) (c corpus, pages []relevance.Page, err error) {
	t, err := relevance.ReadTree(root, nil, "usr/share")
	if err != nil {
		return c, nil, fmt.Errorf("Debian's manuals, which bench/peers/install.sh downloads: %w", err)
	}
	pages = slices.DeleteFunc(t.Pages, func(p relevance.Page) bool { return p.Language != "en" })
	if len(pages) == 0 {
		return c, nil, fmt.Errorf("no English page below %s", root)
	}
	c, err = writeCorpus("manuals", file, len(pages), func(i int) (string, string) {
		return pages[i].Title, pages[i].Text
	})
	return c, pages, err
}

// passagesCorpus writes n passages of consecutive words of the pages. A page is drawn as often as it has words.
func passagesCorpus(pages []relevance.Page, n int, file string) (corpus, error) {
	words := make([][]string, len(pages))
	starts := make([]int, len(pages)) // words before a page
	sum := 0
	for i := range pages {
		words[i] = strings.Fields(pages[i].Text)
		starts[i] = sum
		sum += len(words[i])
	}
	if sum < passageMost {
		return corpus{}, errors.New("the pages have too few words for passages")
	}
	rng := rand.New(rand.NewPCG(17, 18))
	return writeCorpus("passages", file, n, func(int) (string, string) {
		for {
			at := rng.IntN(sum)
			i, exact := slices.BinarySearch(starts, at)
			if !exact {
				i--
			}
			length := passageLeast + rng.IntN(passageMost-passageLeast+1)
			of := words[i]
			if from := at - starts[i]; from+passageLeast <= len(of) {
				return "", strings.Join(of[from:min(from+length, len(of))], " ")
			}
		}
	})
}

// writeCorpus writes n documents and counts the words of a sample.
func writeCorpus(name, file string, n int, document func(i int) (title, text string)) (c corpus, err error) {
	c = corpus{name: name, file: file, documents: n, df: map[string]int{}}
	f, err := os.Create(file)
	if err != nil {
		return c, err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	every := max(1, n/sampleMost)
	for i := range n {
		title, text := document(i)
		title, text = field(title), field(text)
		c.textBytes += int64(len(title) + len(text))
		fmt.Fprintf(w, "%08d\t%s\t%s\n", i, title, text)
		if i%every != 0 {
			continue
		}
		of := wordsOf(text)
		c.sample = append(c.sample, of)
		for word := range maps.Keys(setOf(of)) {
			c.df[word]++
		}
	}
	return c, errors.Join(w.Flush(), f.Close())
}

func setOf(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// share is the share of documents that have a word.
func (c *corpus) share(word string) float64 { return float64(c.df[word]) / float64(len(c.sample)) }

// rare reports whether a word is in hardly any document.
func (c *corpus) rare(word string) bool { return c.df[word] < 3 }

// speedClasses are the classes of queries, in the order of the table. term75: one word that 60 to 90% of the documents
// have; or4-common: four words that 10 to 60% have; phrase-common: two such words one after the other; stop: one
// English stop word.
var speedClasses = []string{
	"term", "term75", "and2", "or2", "or5", "or4-common", "phrase2", "phrase-common", "stop",
}

// drawSpeed draws n queries of each class: those of the search benchmark game whose words are in the corpus, where the
// class is one of theirs, and for the rest words of the corpus. Both are the same on every run.
func (c *corpus) drawSpeed(n int, game []gameQuery) map[string][]string {
	rng := rand.New(rand.NewPCG(3, 4))
	out := map[string][]string{}
	for _, class := range speedClasses {
		var list []string
		for _, q := range game {
			if len(list) < n/2 && q.class == class && !slices.ContainsFunc(q.words, c.rare) {
				list = append(list, q.text)
			}
		}
		draw := c.drawer(class, rng)
		for tries := 0; len(list) < n && tries < 1000*n; tries++ {
			if q := draw(); q != "" && (!slices.Contains(list, q) || tries > 100*n) {
				list = append(list, q)
			}
		}
		out[class] = list
	}
	return out
}

// drawer returns a function that draws a query of a class, "" where the draw does not fit it.
func (c *corpus) drawer(class string, rng *rand.Rand) func() string {
	between := func(least, most float64, letters int) (list []string) {
		for _, w := range slices.Sorted(maps.Keys(c.df)) {
			if s := c.share(w); s >= least && s <= most && len(w) >= letters && asciiLetters(w) {
				list = append(list, w)
			}
		}
		return list
	}
	middling, common := between(.001, .1, 4), between(.1, .6, 2)
	pick := func(of []string, n int) string {
		if len(of) < n {
			return ""
		}
		words := make([]string, n)
		for i, at := range rng.Perm(len(of))[:n] {
			words[i] = of[at]
		}
		return strings.Join(words, " ")
	}
	pair := func(good func(string) bool) string {
		of := c.sample[rng.IntN(len(c.sample))]
		if len(of) < 2 {
			return ""
		}
		at := rng.IntN(len(of) - 1)
		if !good(of[at]) || !good(of[at+1]) {
			return ""
		}
		return of[at] + " " + of[at+1]
	}
	frequent, stops := between(.6, .9, 2), []string{"the", "of", "and", "to", "a", "in", "is", "for", "this", "with"}
	isMiddling := func(w string) bool {
		return asciiLetters(w) && len(w) >= 4 && c.share(w) >= .001 && c.share(w) <= .1
	}
	isCommon := func(w string) bool { return asciiLetters(w) && len(w) >= 2 && c.share(w) >= .1 }
	switch class {
	case "term":
		return func() string { return pick(middling, 1) }
	case "term75":
		return func() string { return pick(frequent, 1) }
	case "and2": // two words of one place, so that some document has both
		return func() string { return quoted(pair(isMiddling), "+", " +", "") }
	case "or2":
		return func() string { return pick(middling, 2) }
	case "or5":
		return func() string { return pick(middling, 5) }
	case "or4-common":
		return func() string { return pick(common, 4) }
	case "phrase2":
		return func() string { return quoted(pair(isMiddling), `"`, " ", `"`) }
	case "phrase-common":
		return func() string { return quoted(pair(isCommon), `"`, " ", `"`) }
	default:
		return func() string { return pick(stops, 1) }
	}
}

// quoted writes two words with something before, between and after them; "" for "".
func quoted(pair, before, between, after string) string {
	if pair == "" {
		return ""
	}
	return before + strings.Replace(pair, " ", between, 1) + after
}

// defaultRoot is where bench/acceptance/realweb.sh unpacks its packages.
func defaultRoot(d folders) string { return filepath.Join(d.peers, "..", "out", "realweb-S", "root") }
