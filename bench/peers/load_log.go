// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// asked is a query of a log, as both engines read it.
type asked struct {
	kind   string
	words  string // as typed, without filter; of a phrase without quotes
	filter string // "", or host:h00001.example, or date:2019
	page   int    // from 1
}

// text is the query in seine's language.
func (a *asked) text() string {
	q := a.words
	if a.kind == "phrase" {
		q = `"` + q + `"`
	}
	if a.filter != "" {
		q += " " + a.filter
	}
	return q
}

// kinds are the kinds of queries with their shares of a log. Logs of web search engines have 2.2 to 2.6 words a query,
// and a quarter to a third of one word (Spink and others, "Searching the Web", JASIST 2001); phrases, questions and
// filters are more frequent here than there, since they cost more.
var kinds = []struct {
	name  string
	share float64
}{
	{"word", .30}, {"words", .40}, {"phrase", .08}, {"question", .12}, {"filter", .10},
}

// The skew of a log is that of Baeza-Yates and others, "The Impact of Caching on Search Engines" (SIGIR 2007), who
// looked at a year of Yahoo's: 44% of its queries were asked once, these are 88% of the distinct ones, and so a cache
// without bounds answers half of all. The frequencies of the others follow a power law.
const (
	onceOfAll      = .44
	onceOfDistinct = .88
	skew           = .84
	secondPages    = .05 // of all queries, follow one of their own for its page 2
)

// drawLog draws a log of n queries from the documents, the same on every run.
func drawLog(w *passageWeb, n int) ([]asked, error) {
	const sampled = 20_000
	rng := rand.New(rand.NewPCG(5, 6))
	var docs []passage
	df := map[string]int{}
	for i := 0; i < w.pages(); i += max(1, w.pages()/sampled) {
		p, err := w.read(i)
		if err != nil {
			return nil, err
		}
		docs = append(docs, p)
		for word := range setOf(wordsOf(p.text)) {
			df[word]++
		}
	}
	d := &logDrawer{rng: rng, docs: docs, df: df, seen: map[string]bool{}}
	once := int(onceOfAll * float64(n))
	repeated := max(1, int(float64(once)*(1/onceOfDistinct-1)))
	heads := make([]asked, repeated)
	for i := range heads {
		heads[i] = d.unseen()
	}
	sums := make([]float64, repeated)
	sum := 0.
	for i := range sums {
		sum += math.Pow(float64(i+1), -skew)
		sums[i] = sum
	}
	log := make([]asked, 0, n)
	for range n - once {
		at, _ := slices.BinarySearch(sums, rng.Float64()*sum)
		log = append(log, heads[at])
	}
	for range once {
		log = append(log, d.unseen())
	}
	if d.failed {
		return nil, errors.New("the documents have too few words for a log of this length")
	}
	rng.Shuffle(n, func(i, j int) { log[i], log[j] = log[j], log[i] })
	for i := 1; i < n; i++ {
		if rng.Float64() < secondPages {
			log[i] = log[i-1] // the reader turned the page
			log[i].page = 2
		}
	}
	return log, nil
}

// logDrawer draws queries from documents.
type logDrawer struct {
	rng    *rand.Rand
	docs   []passage
	df     map[string]int
	seen   map[string]bool
	failed bool
}

// unseen draws a query that was not drawn before.
func (d *logDrawer) unseen() asked {
	kind, r := "", d.rng.Float64()
	for _, k := range kinds {
		if kind = k.name; r < k.share {
			break
		}
		r -= k.share
	}
	for range 10_000 {
		a := d.draw(kind)
		if a.words == "" || d.seen[a.text()] {
			continue
		}
		d.seen[a.text()] = true
		return a
	}
	d.failed = true
	return asked{kind: "word", words: "none", page: 1}
}

// draw draws a query of a kind; its words are "" if the place that was drawn has none.
func (d *logDrawer) draw(kind string) asked {
	p := &d.docs[d.rng.IntN(len(d.docs))]
	words := wordsOf(p.text)
	at := d.rng.IntN(len(words))
	a := asked{kind: kind, page: 1}
	switch kind {
	case "word":
		a.words = strings.Join(d.content(words[at:], 1), " ")
	case "words": // words that stand near each other, as those of a query do
		a.words = strings.Join(d.content(words[at:], 2+min(d.rng.IntN(4), d.rng.IntN(4))), " ")
	case "phrase":
		if end := at + 2 + d.rng.IntN(2); end <= len(words) && len(d.content(words[at:end], 1)) == 1 {
			a.words = strings.Join(words[at:end], " ")
		}
	case "question":
		if c := d.content(words[at:], 3); len(c) == 3 {
			a.words = fmt.Sprintf(questions[d.rng.IntN(len(questions))], c[0], c[1], c[2])
		}
	case "filter":
		a.words = strings.Join(d.content(words[at:], 1+d.rng.IntN(2)), " ")
		if a.filter = "host:" + p.host; d.rng.IntN(2) == 0 {
			a.filter = "date:" + p.date.Format("2006")
		}
	}
	return a
}

// questions as people type them.
var questions = []string{
	"how do I %s the %s of a %s", "what is the %s for %s and %s", "how to %s a %s with %s",
	"why does %s not %s when I %s", "where can I find %s %s for the %s",
}

// content returns the first n words that say something: neither the most frequent ones nor numbers.
func (d *logDrawer) content(words []string, n int) (out []string) {
	for _, w := range words {
		if len(out) == n {
			break
		}
		if asciiLetters(w) && len(w) >= 3 && d.df[w] < len(d.docs)/10 && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	if len(out) < n {
		return nil
	}
	return out
}

// describeLog says what is in a log.
func describeLog(log []asked) string {
	seen, of, pages, words := map[string]int{}, map[string]int{}, 0, 0
	for i := range log {
		a := &log[i]
		of[a.kind]++
		seen[fmt.Sprint(a.text(), a.page)]++
		words += len(strings.Fields(a.words))
		if a.page > 1 {
			pages++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d queries, %d of them distinct (%.0f%% repeat an earlier one), %.1f words each:", len(log),
		len(seen), 100-100*float64(len(seen))/float64(len(log)), float64(words)/float64(len(log)))
	for _, k := range kinds {
		fmt.Fprintf(&b, " %.0f%% %s,", 100*float64(of[k.name])/float64(len(log)), k.name)
	}
	fmt.Fprintf(&b, " %.0f%% page 2", 100*float64(pages)/float64(len(log)))
	return b.String()
}
