// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// reanchor gives some documents other anchors, and those that are left are added anew.
func (r *randomIndex) reanchor(t *rapid.T) {
	ctx := context.Background()
	if err := r.x.Refresh(); err != nil {
		t.Fatal(err)
	}
	r.x.Writing().Lock()
	defer r.x.Writing().Unlock()
	a, ok, err := r.x.NewReanchoring(ctx)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer a.Abort()
	part := rapid.SampledFrom([]int{1, 2, 4, 20}).Draw(t, "one in")
	seed := rapid.Uint32().Draw(t, "anchors")
	for _, key := range slices.Sorted(maps.Keys(r.live)) {
		seed = seed*1664525 + 1013904223
		if int(seed>>16)%part != 0 {
			continue
		}
		d := r.live[key]
		d.Anchors, d.Stamp = nil, uint64(seed)
		for i := range seed >> 20 % 4 {
			d.Anchors = append(d.Anchors, randomWords[(seed>>8+i)%16]+" "+randomWords[seed>>12%16])
		}
		d.Boost = []float64{0, 1, 2, 3.3}[seed>>24%4]
		r.live[key] = d
		value, found, err := r.s.Get(Located(), []byte(key), nil)
		if err != nil || !found {
			t.Fatalf("%q: %v, %v", key, found, err)
		}
		at, err := DecodeLocated(value)
		if err == nil {
			err = a.Add(at, &Anchors{Texts: d.Anchors, Boost: d.Boost, Stamp: d.Stamp})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var left []Document
	var meter storage.CPUMeter
	a.Meter = &meter
	measured := true
	report, err := a.Finish(ctx, func(key urlkey.Key) error {
		left = append(left, r.live[key])
		measured = measured && meter.Spent() > 0 // while its goroutines run
		return nil
	})
	if !measured {
		t.Fatal("no processor time while documents are looked at")
	}
	if err != nil || int(report.Left) != len(left) {
		t.Fatalf("%+v, %d left: %v", report, len(left), err)
	}
	slices.SortFunc(left, func(a, b Document) int { return strings.Compare(string(a.Key), string(b.Key)) })
	in := r.s.NewIngestion()
	defer in.Abort()
	b := r.x.NewBuilder(in)
	defer b.Abort()
	for i := range left {
		if err := b.Add(&left[i]); err != nil {
			t.Fatal(err)
		}
	}
	_, err = b.Finish()
	if err = errors.Join(err, in.Commit(), r.x.Refresh()); err != nil {
		t.Fatal(err)
	}
}

// checkStamps checks that the index directory has the stamps of the live documents.
func (r *randomIndex) checkStamps(t *rapid.T) {
	for key, d := range r.live {
		value, _, err := r.s.Get(Located(), []byte(key), nil)
		if err != nil {
			t.Fatal(err)
		}
		if at, err := DecodeLocated(value); err != nil || at.Stamp != d.Stamp {
			t.Fatalf("%q has stamp %d, want %d: %v", key, at.Stamp, d.Stamp, err)
		}
	}
}

// TestReanchoring: documents that get other anchors, boosts and stamps are those that an index built at once has, also
// between new versions, deletes and merges.
func TestReanchoring(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRandomIndex(t)
		defer r.close(t)
		r.build(t)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			r.step(t)
			r.reanchor(t)
			r.checkStamps(t)
		}
		once := rebuilt(t, r.live)
		defer once.close(t)
		a, err1 := r.x.Digest(context.Background())
		b, err2 := once.x.Digest(context.Background())
		if err := errors.Join(err1, err2); err != nil || a != b {
			t.Fatalf("digests %x and %x: %v", a, b, err)
		}
	})
}

// TestReanchoringLanguages: the words of new anchors are taken apart and have their forms by the language of the page,
// and lists are whole, however often the memory of the anchors is full.
func TestReanchoringLanguages(t *testing.T) {
	anchors := map[string][]string{
		"en": {"boats mending nets", "std::vector and pg_hba.conf"}, "de": {"Donaudampfschifffahrt", "Häuser am Fluß"},
		"fr": {"les chevaux qui couraient"}, "ja": {"東京の天気予報"}, "th": {"สวัสดีชาวโลก"}, "": {"untold boats"},
	}
	languages := slices.Sorted(maps.Keys(anchors))
	document := func(n int, anchored bool) Document {
		d := numbered(t, n, "a page of its own words "+fmt.Sprint(n))
		d.Language = languages[n%len(languages)]
		d.Anchors = []string{"old words of the boat"}
		if anchored {
			d.Anchors = append(slices.Clone(anchors[d.Language]), fmt.Sprintf("anchor%d shared", n))
			d.Stamp, d.Boost = uint64(n)+1e6, 2
		}
		return d
	}
	for _, memory := range []int64{1 << 12, 1 << 20, 64 << 20} {
		var before, after []Document
		for n := range 300 {
			before, after = append(before, document(n, false)), append(after, document(n, n%4 > 0))
		}
		s, x := openMemory(t, Options{MemoryBytes: memory})
		addDocuments(t, s, x, before)
		want, other := openMemory(t, Options{MemoryBytes: 64 << 20})
		addDocuments(t, want, other, after)
		r, ok, err := x.NewReanchoring(t.Context())
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		defer r.Abort()
		for i := range after {
			if d := &after[i]; d.Boost > 0 {
				value, _, err := s.Get(Located(), []byte(d.Key), nil)
				at, err2 := DecodeLocated(value)
				err = errors.Join(err, err2)
				if err == nil {
					err = r.Add(at, &Anchors{d.Anchors, d.Boost, d.Stamp})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		report, err := r.Finish(t.Context(), func(key urlkey.Key) error { return fmt.Errorf("%q is left", key) })
		if err != nil || report.Changed != 225 {
			t.Fatal(report, err)
		}
		a, err1 := x.Digest(t.Context())
		b, err2 := other.Digest(t.Context())
		if err := errors.Join(err1, err2); err != nil || a != b {
			t.Errorf("with %d bytes: digests %x and %x: %v", memory, a, b, err)
		}
		for _, text := range []string{
			"boat", "mended net", "donaudampfschifffahrt", "haus", "chevaux", "天気", "สวัสดี", "vector", "hba",
			"anchor7", "old", "share",
		} {
			o := SearchOptions{Limit: 400, Deadline: time.Hour}
			a, err1 := x.Search(t.Context(), text, o)
			b, err2 := other.Search(t.Context(), text, o)
			err := errors.Join(err1, err2)
			if err != nil || a.Total != b.Total || b.Total == 0 || fmt.Sprint(a.Hits) != fmt.Sprint(b.Hits) {
				t.Errorf("with %d bytes, %q finds %d, want %d: %v", memory, text, a.Total, b.Total, err)
			}
		}
	}
}

// TestReanchoringCut: what a merge left that was cut short after its exchange does not keep documents from their new
// anchors.
func TestReanchoringCut(t *testing.T) {
	s, x := openMemory(t, Options{})
	var docs []Document
	for n := range 100 {
		docs = append(docs, numbered(t, n, "text"))
		if n%50 == 49 {
			addDocuments(t, s, x, docs[n-49:])
		}
	}
	cut := errors.New("cut")
	x.onMerge = func(at string) error {
		if at == "exchanged" {
			return cut
		}
		return nil
	}
	if _, err := x.MergeTo(t.Context(), 1); !errors.Is(err, cut) {
		t.Fatal(err)
	}
	x.onMerge = nil
	r, ok, err := x.NewReanchoring(t.Context())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer r.Abort()
	for _, d := range docs {
		value, _, err := s.Get(Located(), []byte(d.Key), nil)
		at, err2 := DecodeLocated(value)
		err = errors.Join(err, err2)
		if err == nil {
			err = r.Add(at, &Anchors{Texts: []string{"new"}, Stamp: 7})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	report, err := r.Finish(t.Context(), func(key urlkey.Key) error { return fmt.Errorf("%q is left", key) })
	if err != nil || report.Changed != 100 {
		t.Fatal(report, err)
	}
	got, err := x.Search(t.Context(), "anchor:new", SearchOptions{Deadline: time.Hour})
	if err != nil || got.Total != 100 {
		t.Fatal(got.Total, err)
	}
}

// TestReanchoringKilled: a crash or an error before the last step of a copy leaves the old index or the new one.
func TestReanchoringKilled(t *testing.T) {
	for _, step := range []string{"written", "redirected"} {
		fs := storage.NewMemFS()
		s, err := storage.Open("/s", storage.Options{FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		x, err := Open(s, Options{FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		var docs []Document
		for n := range 100 {
			docs = append(docs, numbered(t, n, "text"))
		}
		addDocuments(t, s, x, docs)
		r, _, err := x.NewReanchoring(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for n := range docs {
			err := r.Add(Location{Segment: 1, Doc: uint32(n)}, &Anchors{Texts: []string{"new"}, Stamp: 7})
			if err != nil {
				t.Fatal(err)
			}
		}
		killed := errors.New("killed")
		x.onMerge = func(at string) error {
			if at == step {
				return killed
			}
			return nil
		}
		if _, err := r.Finish(t.Context(), nil); !errors.Is(err, killed) {
			t.Fatalf("%s: %v", step, err)
		}
		x.onMerge = nil
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		if x, err = Open(s, Options{FS: fs}); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Merge(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := x.Search(t.Context(), "anchor:new", SearchOptions{Deadline: time.Hour})
		want := map[string]int{"written": 0, "redirected": len(docs)}[step]
		if err != nil || got.Total != want {
			t.Errorf("%s: %d found, want %d: %v", step, got.Total, want, err)
		}
		value, _, err := s.Get(Located(), []byte(docs[99].Key), nil)
		at, err2 := DecodeLocated(value)
		if err := errors.Join(err, err2); err != nil || (at.Stamp == 7) != (want > 0) {
			t.Errorf("%s: %+v: %v", step, at, err)
		}
		if err := errors.Join(x.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func openMemory(t *testing.T, o Options) (*storage.Store, *Index) {
	t.Helper()
	s := memoryStore(t)
	o.FS = storage.NewMemFS()
	x, err := Open(s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(x.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return s, x
}
