// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// modelled is a store together with maps of its expected content.
type modelled struct {
	fs    FS
	s     *Store
	model map[Range]map[string]string
}

var (
	modelRanges = []Range{Crawldb(), CDXRange(), Fetchlist(1), Fetchlist(2), ParseLinks(1), ParseTextRange(1)}
	modelKey    = rapid.StringMatching(`[ab]{0,3}`)
)

// TestModel applies random operations to a store and to maps, and compares everything that can be read.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &modelled{fs: NewMemFS(), model: map[Range]map[string]string{}}
		for _, r := range modelRanges {
			m.model[r] = map[string]string{}
		}
		m.open(t)
		defer func() { m.s.Close() }()
		t.Repeat(map[string]func(*rapid.T){"apply": m.apply, "ingest": m.ingest, "": m.compare,
			"reopen": func(t *rapid.T) {
				if err := m.s.Close(); err != nil {
					t.Fatal(err)
				}
				m.open(t)
			}})
	})
}

func (m *modelled) open(t *rapid.T) {
	s, err := Open("store", Options{FS: m.fs, MemTableBytes: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	m.s = s
}

// writeOne draws a value for a key, or its deletion, and applies it to both.
func writeOne(
	t *rapid.T, model map[string]string, key string,
	set func(k, v []byte) error, del func(k []byte) error,
) error {
	if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
		delete(model, key)
		return del([]byte(key))
	}
	model[key] = rapid.String().Draw(t, "value")
	return set([]byte(key), []byte(model[key]))
}

func (m *modelled) apply(t *rapid.T) {
	err := m.s.Apply(func(b *Batch) error {
		for range rapid.IntRange(0, 5).Draw(t, "writes") {
			r := rapid.SampledFrom(modelRanges).Draw(t, "range")
			err := writeOne(t, m.model[r], modelKey.Draw(t, "key"),
				func(k, v []byte) error { return b.Set(r, k, v) }, func(k []byte) error { return b.Delete(r, k) })
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (m *modelled) ingest(t *rapid.T) {
	in := m.s.NewIngestion()
	defer in.Abort()
	next := map[Range]map[string]string{}
	large := rapid.IntRange(0, 2*len(modelRanges)).Draw(t, "large") // from which range on; mostly never
	for i, r := range modelRanges {
		if i == large {
			in.large.Store(true)
		}
		next[r] = maps.Clone(m.model[r])
		if rapid.IntRange(0, 4).Draw(t, "drop") == 0 {
			if err := in.DeleteRange(r); err != nil {
				t.Fatal(err)
			}
			clear(next[r]) // later operations may write it again
		}
		keys := rapid.SliceOfDistinct(modelKey, rapid.ID[string]).Draw(t, "keys")
		slices.Sort(keys)
		w := in.Table(r)
		for _, k := range keys {
			if err := writeOne(t, next[r], k, w.Set, w.Delete); err != nil {
				t.Fatal(err)
			}
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "abort") == 0 {
		return
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	m.model = next
}

func (m *modelled) compare(t *rapid.T) {
	for r, want := range m.model {
		got := map[string]string{}
		sc := m.s.Scan(r, nil, nil)
		for sc.Next() {
			got[string(sc.Key())] = string(sc.Value())
		}
		if err := sc.Close(); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("%s: scanned %v, want %v", r, got, want)
		}
		k := modelKey.Draw(t, "get")
		v, ok, err := m.s.Get(r, []byte(k), nil)
		if w, there := want[k]; err != nil || ok != there || string(v) != w {
			t.Fatalf("%s: Get %q is %q %v %v, want %q %v", r, k, v, ok, err, w, there)
		}
	}
}

// TestMergeJoinModel joins runs of random density with a range and compares with a map.
func TestMergeJoinModel(t *testing.T) {
	s := openTest(t)
	in := s.NewIngestion()
	stored := map[string]bool{}
	for i := range 3000 {
		k := fmt.Sprintf("%05d", i*i%7919*2) // gaps and clusters
		stored[k] = true
	}
	for _, k := range slices.Sorted(maps.Keys(stored)) {
		if err := in.Table(Crawldb()).Set([]byte(k), []byte("v"+k)); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		var pairs []Pair
		for at := 0; at < 16000; {
			at += rapid.SampledFrom([]int{0, 1, 1, 2, 3, 40, 5000}).Draw(t, "gap")
			pairs = append(pairs, Pair{fmt.Appendf(nil, "%05d", at), fmt.Appendf(nil, "%d", len(pairs))})
		}
		var last []byte
		seen := 0
		run := NewSliceRun(pairs)
		err := MergeJoin(context.Background(), s, Crawldb(), run, func(key []byte, values [][]byte, old []byte) error {
			if last != nil && bytes.Compare(last, key) >= 0 {
				t.Fatalf("%s after %s", key, last)
			}
			last = append(last[:0], key...)
			for _, v := range values {
				if want := fmt.Sprint(seen); string(v) != want || !bytes.Equal(key, pairs[seen].Key) {
					t.Fatalf("%s has value %s, want %s", key, v, want)
				}
				seen++
			}
			if stored[string(key)] != (old != nil) || old != nil && string(old) != "v"+string(key) {
				t.Fatalf("%s: old %q, stored %v", key, old, stored[string(key)])
			}
			return nil
		})
		if err != nil || seen != len(pairs) {
			t.Fatalf("%d of %d pairs, %v", seen, len(pairs), err)
		}
	})
}

func TestMergeJoinStops(t *testing.T) {
	s := openTest(t)
	pairs := make([]Pair, 3*ctxCheckKeys)
	for i := range pairs {
		pairs[i].Key = fmt.Appendf(nil, "%08d", i)
	}
	mine := errors.New("mine")
	fail := func([]byte, [][]byte, []byte) error { return mine }
	if err := MergeJoin(context.Background(), s, Crawldb(), NewSliceRun(pairs), fail); err != mine {
		t.Errorf("fn's error came back as %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	err := MergeJoin(ctx, s, Crawldb(), NewSliceRun(pairs), func([]byte, [][]byte, []byte) error {
		calls++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || calls > ctxCheckKeys {
		t.Errorf("%d calls after cancel, %v", calls, err)
	}
	broken := &Run{src: brokenSource{}}
	err = MergeJoin(context.Background(), s, Crawldb(), broken, func([]byte, [][]byte, []byte) error {
		t.Error("fn received an incomplete group")
		return nil
	})
	if !errors.Is(err, errBroken) {
		t.Errorf("a broken run ended with %v", err)
	}
}

var errBroken = errors.New("broken")

// brokenSource returns the same key until it fails.
type brokenSource struct{}

func (brokenSource) next() ([]byte, []byte, bool, error) { return nil, nil, false, errBroken }
func (brokenSource) close() error                        { return nil }
