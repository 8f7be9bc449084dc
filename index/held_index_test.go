// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
)

// TestHold: words are held from their second use on if the options and Hold say so, until Hold takes their memory or a
// Refresh shows documents of other lengths, with which their weights change; a Refresh that shows nothing new keeps
// them. What is found is the same either way.
func TestHold(t *testing.T) {
	s, x := newStore(t)
	docs := []index.Document{
		doc(1, "Net repair", "mending a net"), doc(2, "Nets", "new nets mended"), doc(3, "Boat", ""),
	}
	put(t, s, x, docs)
	ask := func(x *index.Index, hits int) {
		t.Helper()
		for range 3 {
			if r := search(t, x, "net mended"); r.Total != hits || len(r.Hits) != hits {
				t.Errorf("%d hits of %d, want %d", len(r.Hits), r.Total, hits)
			}
			x.Settle()
		}
	}
	want := search(t, x, "net mended").Hits
	ask(x, 2)
	held := x.Held()
	if same := slices.EqualFunc(search(t, x, "net mended").Hits, want, func(a, b index.Hit) bool {
		return a.Key == b.Key && a.Score == b.Score
	}); held == 0 || !same {
		t.Errorf("%d bytes are held; hits are the same: %v", held, same)
	}
	if err := x.Refresh(); err != nil {
		t.Fatal(err)
	}
	if now := x.Held(); now != held {
		t.Errorf("%d bytes are held of %d after a Refresh without anything new", now, held)
	}
	if x.Hold(0); x.Held() != 0 {
		t.Errorf("%d bytes are held after all room was taken", x.Held())
	}
	if ask(x, 2); x.Held() != 0 {
		t.Errorf("%d bytes are held without room", x.Held())
	}
	x.Hold(1 << 20)
	if ask(x, 2); x.Held() != held {
		t.Errorf("%d bytes are held again, want %d", x.Held(), held)
	}
	docs = append(docs, doc(4, "Net", "a third net, of many more words than all indexed before it, is mended"))
	put(t, s, x, docs[3:])
	if x.Held() != 0 {
		t.Errorf("%d bytes are held of documents before a Refresh", x.Held())
	}
	ask(x, 3)
	other, err := index.Open(s, index.Options{HeldBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	if ask(other, 3); other.Held() != 0 {
		t.Errorf("%d bytes are held, the options say none", other.Held())
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	other.Hold(1 << 20) // nothing happens
}

// TestHoldBesideEqual: held words forget a deleted document also if one of the same length comes in its place, so that
// the index as a whole has as many documents and words as before.
func TestHoldBesideEqual(t *testing.T) {
	s, x := newStore(t)
	put(t, s, x, []index.Document{doc(1, "Net repair", "mending a net"), doc(2, "Nets", "new nets mended")})
	ask := func(want ...index.Document) {
		t.Helper()
		for range 3 {
			r := search(t, x, "net")
			x.Settle()
			for _, d := range want {
				if !slices.ContainsFunc(r.Hits, func(h index.Hit) bool { return h.Key == d.Key }) {
					t.Errorf("%s is not found", d.URL)
				}
			}
			if r.Total != len(want) {
				t.Errorf("%d documents are found, want %d", r.Total, len(want))
			}
		}
	}
	first, second, third := doc(1, "", ""), doc(2, "", ""), doc(4, "Net repair", "mending a net")
	if ask(first, second); x.Held() == 0 {
		t.Error("nothing is held")
	}
	put(t, s, x, []index.Document{third}, first.Key)
	ask(second, third)
}

// TestHoldBesideNew: what is held lasts while documents come, as long as the average lengths, coarsely rounded, stay as
// they are; searches then find and score what they do in an index that has just been opened.
func TestHoldBesideNew(t *testing.T) {
	s, x := newStore(t)
	next := 0
	more := func(n int, text string) (docs []index.Document) {
		for range n {
			d := doc(next, fmt.Sprintf("Net %d", next%7), text+strings.Repeat(" net", next%5))
			d.Language = []string{"en", "de"}[next%2]
			docs, next = append(docs, d), next+1
		}
		return docs
	}
	ask := func(x *index.Index) (found string) {
		t.Helper()
		for range 3 {
			found = ""
			for _, o := range []index.SearchOptions{{}, {Facets: []string{index.FacetLanguage}}} {
				for _, query := range []string{"net mended", "+net +boat", `"mended boat"`, "boat language:de"} {
					r, err := x.Search(t.Context(), query, o)
					if err != nil {
						t.Fatal(err)
					}
					found += fmt.Sprintln(r.Total, r.Facets)
					for _, h := range r.Hits {
						found += fmt.Sprintln(h.Key, h.Score)
					}
				}
			}
			x.Settle()
		}
		return found
	}
	same := func() {
		t.Helper()
		fresh, err := index.Open(s, index.Options{HeldBytes: -1})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := ask(x), ask(fresh); got != want {
			t.Errorf("found\n%s\nwant\n%s", got, want)
		}
		if err := fresh.Close(); err != nil {
			t.Fatal(err)
		}
	}
	const text = "the boat is mended boat"
	put(t, s, x, more(400, text))
	ask(x)
	held := x.Held()
	put(t, s, x, more(5, text))
	if now := x.HeldNow(); now != held || held == 0 {
		t.Errorf("%d bytes are held after five documents more, %d before", now, held)
	}
	same()
	put(t, s, x, more(400, strings.Repeat(text+" ", 5)))
	if now := x.HeldNow(); now == 0 || now >= held {
		t.Errorf("%d bytes are held after documents of another length, %d before; want columns and filters", now, held)
	}
	same()
	last := more(1, text)
	put(t, s, x, last)
	same()
	put(t, s, x, nil, last[0].Key)
	same()
	if x.Hold(1); x.HeldNow() > 1 {
		t.Errorf("%d bytes are held of one", x.HeldNow())
	}
}

// TestHoldBehind: what a search finds worth holding is made behind it, not by it. What more searches leave than may
// wait is held when it is used again, and what is left of earlier documents, or at the end, is not made.
func TestHoldBehind(t *testing.T) {
	s, x := newStore(t)
	var docs []index.Document
	const many = 100
	for i := range many {
		docs = append(docs, doc(i, fmt.Sprintf("word%03d", i), "net"))
	}
	put(t, s, x, docs)
	word := func(i int) string { return fmt.Sprintf("word%03d", i) }
	twice := func() {
		t.Helper()
		for i := range many {
			for range 2 {
				if r := search(t, x, word(i)); r.Total != 1 {
					t.Errorf("%d hits for %s", r.Total, word(i))
				}
			}
		}
	}
	makeAll := x.QueueHolds()
	twice()
	if n := x.HeldNow(); n != 0 {
		t.Errorf("%d bytes are held though nothing was made behind searches", n)
	}
	makeAll()
	first := x.Held()
	if first == 0 {
		t.Error("nothing is held behind searches")
	}
	twice()
	if x.Held() <= first {
		t.Errorf("%d bytes are held, as before: what was dropped is not held when it is used again", first)
	}
	again := func(i int) { put(t, s, x, docs[i:i+1]) } // so no word of the index segment is held
	again(0)
	makeAll, before := x.QueueHolds(), x.HeldBefore()
	twice()
	again(1)
	if makeAll(); before() != 0 {
		t.Errorf("%d bytes are held of documents before a Refresh", before())
	}
	makeAll = x.QueueHolds()
	twice()
	closed := make(chan error)
	go func() { closed <- x.Close() }()
	for !x.Closed() {
		runtime.Gosched()
	}
	makeAll()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestHoldGivesWay: what is held behind searches is made while none runs, or at half of the speed.
func TestHoldGivesWay(t *testing.T) {
	s, x := newStore(t)
	var docs []index.Document
	for i := range 60 {
		docs = append(docs, doc(i, fmt.Sprintf("word%03d", i), "net"))
	}
	put(t, s, x, docs)
	for _, beside := range []bool{false, true} {
		makeAll, before := x.QueueHolds(), x.HeldNow()
		for i := range 30 {
			word := fmt.Sprintf("word%03d", i)
			if beside {
				word = fmt.Sprintf("word%03d", 30+i)
			}
			for range 2 {
				search(t, x, word)
			}
		}
		c := &paceClock{look: time.Millisecond}
		c.use(x)
		end := func() {}
		if beside {
			end = x.Answering()
		}
		makeAll()
		end()
		if x.HeldNow() <= before {
			t.Errorf("search beside: %v: nothing is held", beside)
		}
		if worked := c.now - c.slept; (c.slept > 0) != beside || c.slept > worked+paceTimer {
			t.Errorf("search beside: %v: waited for %v after %v of work", beside, c.slept, worked)
		}
	}
}
