// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
)

// TestRareDocs: a stem is a word of a language if a document in it has the word and is not deleted, whether the
// language is rare in the index segment, has more documents than that, or has none. Searches without time read the
// documents of rare languages together, a block each.
func TestRareDocs(t *testing.T) {
	s := memoryStore(t)
	x, err := Open(s, Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	words := []string{"nat", "per", "haz", "most", "kert"}
	codes := []string{"", "en", "hu", "hu-HU", "fi", "de"}
	var docs []Document
	for i := range 3*normDocs + 10 {
		d := numbered(t, i, words[rnd.IntN(2)])
		switch {
		case i < rareMax+rareMax/2:
			d.Language = "de" // more than are rare
		case rnd.IntN(200) == 0:
			d.Language, d.Text = codes[2+rnd.IntN(2)], strings.Join(words[2+rnd.IntN(2):4], " ")
		case rnd.IntN(500) == 0:
			d.Language, d.Text = "fi", words[4]
		default:
			d.Language = codes[rnd.IntN(2)]
		}
		docs = append(docs, d)
	}
	slices.SortFunc(docs, func(a, b Document) int { return cmp.Compare(a.Key, b.Key) })
	addDocuments(t, s, x, docs)
	has := func(lang analysis.Language, word string) bool {
		return slices.ContainsFunc(docs, func(d Document) bool {
			return analysis.LanguageOf(d.Language) == lang && slices.Contains(strings.Fields(d.Text), word)
		})
	}
	check := func(when string) {
		t.Helper()
		work := newBudget(context.Background(), time.Now().Add(time.Hour))
		st, err := x.acquire()
		if err != nil {
			t.Fatal(err)
		}
		e := &expander{st: st, work: work}
		for _, code := range []string{"hu", "fi", "de", "sv"} {
			for _, word := range append(words, "absent") {
				got, err := e.isWordOf(word, analysis.LanguageOf(code))
				if want := has(analysis.LanguageOf(code), word); got != want || err != nil {
					t.Errorf("%s: %q is a word of %s: %t, want %t, %v", when, word, code, got, want, err)
				}
			}
		}
		if err := x.release(st); err != nil {
			t.Fatal(err)
		}
	}
	st, err := x.acquire()
	if err != nil {
		t.Fatal(err)
	}
	hungarian := analysis.LanguageOf("hu")
	over := newBudget(context.Background(), time.Now().Add(-time.Hour))
	over.spend(clockUnits + 1)
	for call := range 5 {
		list, known, err := st.segments[0].rare(st.snap, hungarian, over)
		if err != nil || known != (call == 4) {
			t.Fatalf("call %d: known %t, %v", call, known, err)
		}
		for _, doc := range list {
			if analysis.LanguageOf(docs[doc].Language) != hungarian {
				t.Errorf("document %d is in the language %q", doc, docs[doc].Language)
			}
		}
		if n := st.segments[0].spokenIn(hungarian); known && n != len(list) {
			t.Errorf("%d documents, want %d", len(list), n)
		}
	}
	if err := x.release(st); err != nil {
		t.Fatal(err)
	}
	check("at first")
	ing := s.NewIngestion()
	b := x.NewBuilder(ing)
	docs = slices.DeleteFunc(docs, func(d Document) bool {
		gone := d.Language == "fi" || strings.HasPrefix(d.Text, words[2])
		if gone {
			if err := b.Delete(d.Key); err != nil {
				t.Fatal(err)
			}
		}
		return gone
	})
	_, err = b.Finish()
	if err := errors.Join(err, ing.Commit(), x.Refresh()); err != nil {
		t.Fatal(err)
	}
	check("after a deletion")
	addDocuments(t, s, x, []Document{{
		Key: numbered(t, 1e6-1, "").Key, URL: "http://h999.example/999999", Text: words[4], Language: "sv",
	}})
	docs = append(docs, Document{Text: words[4], Language: "sv"})
	check("with another segment")
	if err := errors.Join(x.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}
