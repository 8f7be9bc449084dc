// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"fmt"
	"testing"
)

// TestMarks: a mark lasts until an ingestion, large or small, changes what marks are about, and is not written if
// something changed since its moment.
func TestMarks(t *testing.T) {
	s := openTest(t)
	commit := func(fill func(in *Ingestion)) {
		t.Helper()
		in := s.NewIngestion()
		defer in.Abort()
		fill(in)
		if err := in.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	put := func(r Range, keys int) func(in *Ingestion) {
		return func(in *Ingestion) {
			for i := range keys {
				if err := in.Table(r).Set(fmt.Appendf(nil, "%06d", i), bytes.Repeat([]byte("v"), 100)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	drop := func(r Range) func(in *Ingestion) {
		return func(in *Ingestion) {
			if err := in.DeleteRange(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	mark := func() { commit(func(in *Ingestion) { in.Mark("all", []byte("1"), s.Moment()) }) }
	marked := func() bool {
		t.Helper()
		value, ok, err := s.Mark("all")
		if err != nil || ok && string(value) != "1" {
			t.Fatalf("%q, %v", value, err)
		}
		return ok
	}
	large := int(s.gatherBytes())/100 + 1
	for _, c := range []struct {
		name string
		fill func(in *Ingestion)
		left bool
	}{
		{"a few records", put(Crawldb(), 1), false},
		{"many records", put(Crawldb(), large), false},
		{"a few inlinks", put(Linkdb(), 1), false},
		{"many inlinks", put(Linkdb(), large), false},
		{"linkdb goes", drop(Linkdb()), false},
		{"the index goes", drop(IndexRange('s')), false},
		{"index segments", put(IndexSegmentRange(1, 'p'), large), true},
		{"an index segment goes", drop(IndexSegmentAll(1)), true},
		{"captures", put(CDXRange(), large), true},
		{"settings", put(Meta(), 1), true},
	} {
		mark()
		if !marked() {
			t.Fatalf("before %s: no mark", c.name)
		}
		commit(c.fill)
		if marked() != c.left {
			t.Errorf("after %s: marked %v, want %v", c.name, marked(), c.left)
		}
	}
	for _, keys := range []int{1, large} {
		since := s.Moment()
		commit(put(Crawldb(), keys))
		commit(func(in *Ingestion) { in.Mark("all", []byte("1"), since) })
		if marked() {
			t.Error("a mark was left although crawldb changed meanwhile")
		}
		commit(func(in *Ingestion) { // as dedup does, which writes records itself
			put(Crawldb(), keys)(in)
			in.Mark("all", []byte("1"), s.Moment())
		})
		if !marked() {
			t.Error("an ingestion deleted its own mark")
		}
	}
}
