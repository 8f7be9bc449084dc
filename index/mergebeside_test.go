// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// crowd is the documents that an index should have.
type crowd struct {
	docs map[urlkey.Key]index.Document
}

// change indexes new and changed documents and deletes some, as one index segment.
func (c *crowd) change(t *testing.T, s *storage.Store, x *index.Index, rng *rand.Rand, n int) {
	t.Helper()
	var docs []index.Document
	var gone []urlkey.Key
	for _, i := range rng.Perm(4 * n)[:n] {
		d := doc(i, "", fmt.Sprintf("net of version %d crew%d", rng.IntN(1000), i%7))
		if rng.IntN(5) == 0 {
			d.Date = time.UnixMilli(int64(rng.IntN(1_000_000)) * 1000)
		}
		if rng.IntN(4) == 0 {
			gone = append(gone, d.Key)
			delete(c.docs, d.Key)
			continue
		}
		c.docs[d.Key] = d
		docs = append(docs, d)
	}
	x.Writing().Lock()
	defer x.Writing().Unlock()
	put(t, s, x, docs, gone...)
}

// check compares an index with one that is built of the documents at once.
func (c *crowd) check(t *testing.T, x *index.Index, when string) {
	t.Helper()
	s, y := newStore(t)
	var docs []index.Document
	for _, d := range c.docs {
		docs = append(docs, d)
	}
	put(t, s, y, docs)
	if got, want := mustDigest(t, x), mustDigest(t, y); got != want {
		t.Fatalf("%s: digest %x of %+v, want %x of %+v", when, got, x.Stats(), want, y.Stats())
	}
}

// TestMergeBeside: documents that are replaced and deleted at any step of a merge are so in what it makes, and a merge
// that ends at any step is finished by the next, also after the index was opened again.
func TestMergeBeside(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 9))
			s, x := newStore(t)
			index.RedirectDocs(t, 100)
			c := &crowd{docs: map[urlkey.Key]index.Document{}}
			for range 9 {
				c.change(t, s, x, rng, 300)
			}
			end := errors.New("the end of the merge")
			var steps []string
			x.OnMerge(func(step string) error {
				steps = append(steps, step)
				if len(steps) <= 12 { // each change is an index segment, which is merged in turn
					c.change(t, s, x, rng, 1+rng.IntN(60))
				}
				if !slices.Contains(steps[:len(steps)-1], step) && rng.IntN(2) == 0 {
					return end
				}
				return nil
			})
			for tries := 0; ; tries++ {
				merge := x.Merge
				if seed%2 == 1 {
					merge = func(ctx context.Context) (index.MergeReport, error) { return x.MergeTo(ctx, 1) }
				}
				_, err := merge(context.Background())
				if err == nil {
					break
				}
				if !errors.Is(err, end) || tries > 20 {
					t.Fatal(err)
				}
				c.check(t, x, fmt.Sprintf("after the steps %v", steps))
				y, err := index.Open(s, index.Options{FS: storage.NewMemFS()})
				if err != nil {
					t.Fatal(err)
				}
				if mustDigest(t, x) != mustDigest(t, y) {
					t.Fatal("opened again, the index is another")
				}
				if err := y.Close(); err != nil {
					t.Fatal(err)
				}
			}
			for _, step := range []string{"written", "exchanged", "redirected"} {
				if !slices.Contains(steps, step) {
					t.Errorf("no step %q in %v", step, steps)
				}
			}
			x.OnMerge(nil)
			c.check(t, x, "after the merge")
			c.change(t, s, x, rng, 500)
			c.check(t, x, "replaced after the merge")
			if _, err := x.DropDeleted(context.Background()); err != nil {
				t.Fatal(err)
			}
			c.check(t, x, "after DropDeleted")
			if st := x.Stats(); st.Deleted != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestMergeBytes: merges make no index segment of more documents than Options.MergeBytes allows.
func TestMergeBytes(t *testing.T) {
	s, _ := newStore(t)
	x, err := index.Open(s, index.Options{FS: storage.NewMemFS(), MergeBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for i := range 16 { // of 20 documents
		var docs []index.Document
		for n := range 20 {
			docs = append(docs, doc(i*20+n, "", "net"))
		}
		put(t, s, x, docs)
	}
	r, err := x.Merge(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	// 16 of 20 become 5 of 60 or 100, while a class has eight.
	if st := x.Stats(); st.Documents != 320 || st.Segments >= 16 || r.Merged == 0 {
		t.Errorf("%+v, %+v", st, r)
	}
	if most := x.LargestSegment(); most > 100 || most < 50 {
		t.Errorf("an index segment has %d documents", most)
	}
}

// TestMergeTo: a few index segments are left, no more than MergeTo names, without deleted documents and with the same
// answers. Once more, it does nothing.
func TestMergeTo(t *testing.T) {
	s, x := newStore(t)
	rng := rand.New(rand.NewPCG(3, 9))
	c := &crowd{docs: map[urlkey.Key]index.Document{}}
	for range 7 {
		c.change(t, s, x, rng, 200)
	}
	queries := []string{"net", "crew3 version", `"net of"`, "version OR crew1 -crew2"}
	var want []index.Result
	for _, q := range queries {
		want = append(want, search(t, x, q))
	}
	before := x.Stats()
	if before.Segments != 7 || before.Deleted == 0 {
		t.Fatalf("%+v", before)
	}
	for _, most := range []int{9, 4, 1, 0} {
		r, err := x.MergeTo(context.Background(), most)
		if err != nil {
			t.Fatal(err)
		}
		st := x.Stats()
		if st.Segments > max(most, 1) || st.Deleted > 0 || st.Documents != before.Documents {
			t.Errorf("merged to %d: %+v, want %d documents", most, st, before.Documents)
		}
		if most == 0 && r != (index.MergeReport{}) {
			t.Errorf("merged %+v again", r)
		}
		for i, q := range queries {
			got := search(t, x, q)
			if got.Total != want[i].Total || !slices.EqualFunc(got.Hits, want[i].Hits, sameHit) {
				t.Errorf("merged to %d: %s finds %v, want %v", most, q, got.Hits, want[i].Hits)
			}
		}
		c.check(t, x, fmt.Sprintf("merged to %d", most))
	}
}

func sameHit(a, b index.Hit) bool { return a.Key == b.Key && a.Score == b.Score }

// TestMergeSmallest: the smallest index segments become one, what is found stays, and where little was added or deleted
// nothing is written again.
func TestMergeSmallest(t *testing.T) {
	s, x := newStore(t)
	rng := rand.New(rand.NewPCG(4, 9))
	c := &crowd{docs: map[urlkey.Key]index.Document{}}
	for range 7 {
		c.change(t, s, x, rng, 200)
	}
	r, err := x.MergeSmallest(context.Background(), 2)
	if err != nil || r.Merged < 6 || x.Stats().Segments != 2 {
		t.Fatalf("%+v, %v; %+v", r, err, x.Stats())
	}
	c.check(t, x, "merged")
	r, err = x.MergeSmallest(context.Background(), 1)
	if err != nil || r.Merged != 2 || x.Stats().Segments != 1 {
		t.Fatalf("%+v, %v; %+v", r, err, x.Stats())
	}
	c.change(t, s, x, rng, 20) // replaces some
	if st := x.Stats(); st.Segments != 2 || st.Deleted == 0 {
		t.Fatalf("%+v", st)
	}
	r, err = x.MergeSmallest(context.Background(), 2)
	if err != nil || r != (index.MergeReport{}) || x.Stats().Deleted == 0 {
		t.Errorf("with little to do: %+v, %v; %+v", r, err, x.Stats())
	}
	c.check(t, x, "with deleted documents")
}

// TestMergeToBytes: index segments that together have more documents than Options.MergeBytes allows stay apart.
func TestMergeToBytes(t *testing.T) {
	s, _ := newStore(t)
	x, err := index.Open(s, index.Options{FS: storage.NewMemFS(), MergeBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for i := range 6 { // of 30 documents
		var docs []index.Document
		for n := range 30 {
			docs = append(docs, doc(i*30+n, "", "net"))
		}
		put(t, s, x, docs)
	}
	if _, err := x.MergeTo(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	if st := x.Stats(); st.Segments != 2 || st.Documents != 180 || x.LargestSegment() != 90 {
		t.Errorf("%+v, the largest of %d", st, x.LargestSegment())
	}
}

// TestSearchableBesideMerge: what is committed while a merge writes is searchable before the merge goes on.
func TestSearchableBesideMerge(t *testing.T) {
	s, x := newStore(t)
	for i := range 8 {
		put(t, s, x, []index.Document{doc(i, "", "net")})
	}
	g := newGate(t)
	x.OnMerge(func(step string) error {
		if step == "written" {
			g.pass()
		}
		return nil
	})
	merged := begin(func() error { _, err := x.Merge(context.Background()); return err })
	await(t, "writing the merge", g.arrived)
	await(t, "indexing beside the merge", begin(func() error {
		x.Writing().Lock()
		defer x.Writing().Unlock()
		put(t, s, x, []index.Document{doc(20, "", "net"), doc(3, "", "boat")})
		return nil
	}))
	if n, m := search(t, x, "net").Total, search(t, x, "boat").Total; n != 8 || m != 1 {
		t.Errorf("%d and %d found beside the merge, want 8 and 1", n, m)
	}
	select {
	case err := <-merged:
		t.Fatalf("the merge went on: %v", err)
	default:
	}
	g.open()
	if err := await(t, "the merge", merged); err != nil {
		t.Fatal(err)
	}
	if n, m := search(t, x, "net").Total, search(t, x, "boat").Total; n != 8 || m != 1 {
		t.Errorf("%d and %d found after the merge, want 8 and 1", n, m)
	}
}

// TestMergeUnseen: a merge that is committed, and that no Refresh could show, is known to Builders and to the next
// merge.
func TestMergeUnseen(t *testing.T) {
	for _, next := range []string{"Builder", "Merge", "both"} {
		t.Run(next, func(t *testing.T) {
			s, x := newStore(t)
			index.RedirectDocs(t, 100)
			rng := rand.New(rand.NewPCG(1, 9))
			c := &crowd{docs: map[urlkey.Key]index.Document{}}
			for range 9 {
				c.change(t, s, x, rng, 300)
			}
			broken := errors.New("the disk cannot be read")
			x.OnLoad(func() error { return broken })
			for range 2 { // the second cannot begin
				if _, err := x.Merge(context.Background()); !errors.Is(err, broken) {
					t.Fatalf("Merge: %v", err)
				}
			}
			if before := x.Stats(); before.Segments != 9 {
				t.Fatalf("the state is another: %+v", before)
			}
			x.OnLoad(nil)
			if next != "Merge" {
				c.change(t, s, x, rng, 300)
				c.check(t, x, "replaced after the merge")
			}
			if next != "Builder" {
				if _, err := x.Merge(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			if err := x.Refresh(); err != nil {
				t.Fatal(err)
			}
			c.check(t, x, "at the end")
		})
	}
}
