// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"context"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
)

// TestFunctionWords: those of the language of a query are left out beside other words, and no others.
func TestFunctionWords(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"how do I set up a printer", "set up printer"},
		{"wie richte ich einen Drucker ein", "richte drucker"},
		{"configurer une imprimante", "configurer imprimante"},
		{"cómo se instala el paquete", "instala paquete"},
		{"hvordan installerer jeg en skriver", "installerer skriver"}, // Danish or Norwegian
		{"как установить принтер в системе", "установить принтер системе"},
		{"der der Drucker ich", "drucker"},
		{"die hard", "die hard"}, // not German
		{"con", "con"},
		{"wie ich", "wie ich"}, // nothing else
		{"+ich wie einen Drucker", "+ich drucker"},
		{`"wie ich" einen Drucker`, `"wie ich" drucker`},
		{"ich^2 wie einen Drucker", "ich^2 drucker"},
		{"title:ich wie einen Drucker", "title:ich drucker"},
		{"(wie ich) einen Drucker", "drucker"},
		{"torn mit mesh", "torn mit mesh"},
	} {
		q := index.ParseQuery(c.query)
		if got := q.String(); got != c.want {
			t.Errorf("%q is understood as %q, want %q", c.query, got, c.want)
		}
		checkTree(t, q)
	}
}

// TestLanguageOfQuery: of two pages that are alike, the one in the language of the query comes first, and without a
// guess neither does; no page is left out.
func TestLanguageOfQuery(t *testing.T) {
	docs := []index.Document{
		doc(0, "Printer Drucker", "printer setup drucker einrichten プリンタ"),
		doc(1, "Printer Drucker", "printer setup drucker einrichten プリンタ"),
		doc(2, "Printer Drucker", "printer setup drucker einrichten プリンタ"),
	}
	docs[0].Language, docs[1].Language, docs[2].Language = "en", "de-AT", "ja"
	s, x := newStore(t)
	put(t, s, x, docs)
	for query, first := range map[string]int{
		"how do I set up the printer setup": 0, "wie kann ich den Drucker einrichten": 1, "プリンタ setup": 2,
		"printer drucker": 0,
	} {
		r, err := x.Search(context.Background(), query, index.SearchOptions{Deadline: time.Minute, Explain: true})
		if err != nil || len(r.Hits) != len(docs) || r.Hits[0].Key != docs[first].Key {
			t.Errorf("%q: %+v, %v, want %s first of %d", query, r.Hits, err, docs[first].Key, len(docs))
			continue
		}
		if equal := r.Hits[0].Score == r.Hits[1].Score; equal != (query == "printer drucker") {
			t.Errorf("%q: scores %g and %g", query, r.Hits[0].Score, r.Hits[1].Score)
		}
		if got := r.Hits[0].Explanation.Value; got != r.Hits[0].Score {
			t.Errorf("%q: explained as %g, is %g", query, got, r.Hits[0].Score)
		}
	}
}
