// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
)

// classes of queries, in the order in which they are run and printed.
var classes = []string{"term", "and", "or", "phrase"}

// query is a query of one class. exact is the number of documents in which the very words occur: both engines stem, so
// both find these and some more.
type query struct {
	class string
	words []string
	exact int
}

// text returns the query in seine's query language.
func (q *query) text() string {
	switch q.class {
	case "and":
		return "+" + strings.Join(q.words, " +")
	case "or":
		return strings.Join(q.words, " OR ")
	case "phrase":
		return `"` + strings.Join(q.words, " ") + `"`
	}
	return q.words[0]
}

// drawQueries draws n queries of each class from the documents, the same on every run: words of at least four ASCII
// letters that are not stop words, so that every engine looks for every word.
func drawQueries(docs []document, n int) ([]query, error) {
	stop := analysis.NewTokenMap()
	if err := stop.LoadBytes(en.EnglishStopWords); err != nil {
		return nil, err
	}
	good := func(w string) bool { return len(w) >= 4 && !stop[w] && asciiLetters(w) }
	words := make([][]string, len(docs))
	for i, d := range docs {
		words[i] = wordsOf(d.text)
	}
	random := rand.New(rand.NewPCG(1, 2))
	word := func(of []string) (string, int, bool) {
		if len(of) == 0 {
			return "", 0, false
		}
		at := random.IntN(len(of))
		return of[at], at, good(of[at])
	}
	var queries []query
	for _, class := range classes {
		tries := 0
		for made := 0; made < n; {
			if tries++; tries > 1000*n {
				return nil, fmt.Errorf("the documents have too few words for %d queries of class %s", n, class)
			}
			doc, other := words[random.IntN(len(docs))], words[random.IntN(len(docs))]
			first, at, ok := word(doc)
			second, ok2 := first, true
			switch class {
			case "and":
				second, _, ok2 = word(doc)
			case "or":
				second, _, ok2 = word(other)
			case "phrase":
				if ok2 = at+1 < len(doc); ok2 {
					second, ok2 = doc[at+1], good(doc[at+1])
				}
			}
			if !ok || !ok2 || class != "term" && first == second {
				continue
			}
			q := query{class: class, words: []string{first, second}}
			if class == "term" {
				q.words = q.words[:1]
			}
			queries = append(queries, q)
			made++
		}
	}
	return queries, countExact(queries, docs)
}

// countExact searches every document for every query.
func countExact(queries []query, docs []document) error {
	for _, d := range docs {
		// A title is a field of its own: no phrase goes from one into the other.
		text := " " + strings.Join(wordsOf(d.title), " ") + " | " + strings.Join(wordsOf(d.text), " ") + " "
		has := func(words string) bool { return strings.Contains(text, " "+words+" ") }
		for i := range queries {
			q := &queries[i]
			found := false
			switch q.class {
			case "term":
				found = has(q.words[0])
			case "and":
				found = has(q.words[0]) && has(q.words[1])
			case "or":
				found = has(q.words[0]) || has(q.words[1])
			case "phrase":
				found = has(strings.Join(q.words, " "))
			}
			if found {
				q.exact++
			}
		}
	}
	for _, q := range queries {
		if q.exact == 0 {
			return errors.New("BUG: a query was drawn that is in no document: " + q.text())
		}
	}
	return nil
}

// joiners are characters that some engine accepts inside a word, as in o'clock, 3.11 or snake_case.
const joiners = "'’._"

// wordsOf cuts a text at everything but letters, digits and joiners inside a word.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(joiners, r)
	})
	for i, w := range words {
		words[i] = strings.Trim(w, joiners)
	}
	return words
}

func asciiLetters(w string) bool {
	for _, c := range []byte(w) {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}
