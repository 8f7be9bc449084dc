// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// located returns where a document is indexed.
func located(t fataler, s *storage.Store, key urlkey.Key) index.Location {
	value, ok, err := s.Get(index.Located(), []byte(key), nil)
	if err != nil || !ok {
		t.Fatalf("%s: %v, %v", key, ok, err)
	}
	at, err := index.DecodeLocated(value)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return at
}

// setBoosts gives documents other boosts, and the next stamps.
func setBoosts(t fataler, s *storage.Store, x *index.Index, boosts map[urlkey.Key]float64) {
	ing := s.NewIngestion()
	defer ing.Abort()
	b := x.NewBuilder(ing)
	defer b.Abort()
	for _, key := range slices.Sorted(maps.Keys(boosts)) {
		at := located(t, s, key)
		if err := b.SetBoost(key, at, boosts[key], at.Stamp+1); err != nil {
			t.Fatalf("%v", err)
		}
	}
	r, err := b.Finish()
	if err == nil {
		err = errors.Join(ing.Commit(), x.Refresh())
	}
	if err != nil || int(r.Reboosted) != len(boosts) || r.Added+r.Deleted > 0 || r.Segments > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestSetBoost: documents get other boosts and stamps in their places, beside others that are replaced and deleted, and
// the index is the one that is built with these boosts at once; also after it was opened again, and merged.
func TestSetBoost(t *testing.T) {
	s, x := newStore(t)
	var docs []index.Document
	for i := range 8400 { // more than one block of boosts
		d := doc(i, "", "net")
		if i%5 == 0 {
			d.Boost = 2
		}
		docs = append(docs, d)
	}
	put(t, s, x, slices.Clone(docs[:8300]))
	put(t, s, x, slices.Clone(docs[8300:]))
	before := x.Stats()

	boosts := map[int]float64{3: 3, 5: 1, 10: 1.5, 8200: 4, 8290: 1, 8301: 2.5}
	c := crowd{docs: map[urlkey.Key]index.Document{}}
	numbers := map[urlkey.Key]int{}
	for i := range docs {
		c.docs[docs[i].Key], numbers[docs[i].Key] = docs[i], i
	}
	ing := s.NewIngestion()
	defer ing.Abort()
	b := x.NewBuilder(ing)
	defer b.Abort()
	for _, key := range slices.Sorted(maps.Keys(c.docs)) {
		d, i := c.docs[key], numbers[key]
		var err error
		if boost, ok := boosts[i]; ok {
			at := located(t, s, key)
			if was, err := b.Boost(key, at); err != nil || was != max(d.Boost, 1) {
				t.Errorf("document %d has boost %v, %v, want %v", i, was, err, d.Boost)
			}
			d.Boost, d.Stamp = boost, 1_000_000
			err = b.SetBoost(key, at, boost, d.Stamp)
			c.docs[key] = d
		} else if i == 4 {
			d.Text = "net repair"
			err = b.Add(&d)
			c.docs[key] = d
		} else if i == 6 {
			err = b.Delete(key)
			delete(c.docs, key)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if r, err := b.Finish(); err != nil || int(r.Reboosted) != len(boosts) || r.Added != 1 || r.Deleted != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := errors.Join(ing.Commit(), x.Refresh()); err != nil {
		t.Fatal(err)
	}
	if st := x.Stats(); st.Deleted != 2 || st.Segments != before.Segments+1 {
		t.Errorf("%+v, before %+v", st, before)
	}
	c.check(t, x, "reboosted")
	want := mustDigest(t, x)
	check := func(when string) {
		t.Helper()
		if got := mustDigest(t, x); got != want {
			t.Errorf("%s: digest %x, want %x", when, got, want)
		}
		if hit := search(t, x, "net").Hits[0]; hit.Key != docs[8200].Key {
			t.Errorf("%s: %s is the best", when, hit.Key)
		}
		for i := range boosts {
			if at := located(t, s, docs[i].Key); at.Stamp != 1_000_000 {
				t.Errorf("%s: document %d has stamp %d", when, i, at.Stamp)
			}
		}
	}
	check("reboosted")
	y, err := index.Open(s, index.Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	if got := mustDigest(t, y); got != want {
		t.Errorf("opened again: digest %x, want %x", got, want)
	}
	if _, err := x.MergeTo(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	check("merged")

	// Again, to no boost at all; where none is left, the range has no key.
	none := map[urlkey.Key]float64{}
	for key, d := range c.docs {
		if d.Boost != 0 {
			none[key], d.Boost = 1, 0
			c.docs[key] = d
		}
	}
	setBoosts(t, s, x, none)
	c.check(t, x, "without boosts")
}

// TestSetBoostErrors: what is no boost, no place or out of order is an error.
func TestSetBoostErrors(t *testing.T) {
	s, x := newStore(t)
	docs := []index.Document{doc(0, "", "net"), doc(3, "", "net")} // of one host
	put(t, s, x, slices.Clone(docs))
	first, second := located(t, s, docs[0].Key), located(t, s, docs[1].Key)
	ing := s.NewIngestion()
	defer ing.Abort()
	b := x.NewBuilder(ing)
	defer b.Abort()
	for _, boost := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if err := b.SetBoost(docs[0].Key, first, boost, 1); err == nil {
			t.Errorf("boost %v was taken", boost)
		}
	}
	for _, at := range []index.Location{{Segment: first.Segment + 7}, {Segment: first.Segment, Doc: 2}} {
		if _, err := b.Boost(docs[0].Key, at); !errors.Is(err, storage.ErrCorrupt) {
			t.Errorf("at %+v: %v", at, err)
		}
	}
	if err := b.SetBoost(docs[1].Key, second, 2, 1); err != nil {
		t.Fatal(err)
	}
	if err := b.SetBoost(docs[0].Key, first, 2, 1); err == nil {
		t.Error("keys may come in any order")
	}
}
