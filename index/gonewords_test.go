// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage"
)

// forms returns the keys of the forms of all index segments, as segmentBuilder.eachForm has them.
func (r *randomIndex) forms(t *rapid.T) []string {
	st, err := r.x.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer r.x.release(st)
	all := map[string]bool{}
	for _, seg := range st.segments {
		sc := st.snap.Scan(storage.IndexSegmentRange(seg.number, kindForms), nil, nil)
		defer sc.Close()
		for sc.Next() {
			if err := eachForm(sc.Key(), sc.Value(), func(form []byte) {
				all[string(sc.Key())+string(form)] = true
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := sc.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// rare adds a document with words of its own, or deletes it if it is there.
func (r *randomIndex) rare(t *rapid.T) {
	n := rapid.IntRange(0, 9).Draw(t, "rare")
	own := strings.Repeat(string(rune('b'+n)), 3)
	d := numbered(t, 20*n+7, own+"ots "+own+"oted")
	d.Title, d.Anchors = own+"oks", []string{own + "oked"}
	in := r.s.NewIngestion()
	defer in.Abort()
	b := r.x.NewBuilder(in)
	defer b.Abort()
	var err error
	if _, there := r.live[d.Key]; there {
		delete(r.live, d.Key)
		err = b.Delete(d.Key)
	} else {
		r.live[d.Key] = d
		err = b.Add(&d)
	}
	if err == nil {
		_, err = b.Finish()
	}
	if err == nil {
		err = in.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestGoneWords: what is deleted, and anchors that are no more, leave none of their words behind: once no document is
// deleted, the forms of words are those of an index that is built at once, however many words are looked for at once.
func TestGoneWords(t *testing.T) {
	before := goneAtOnce
	defer func() { goneAtOnce = before }()
	rapid.Check(t, func(t *rapid.T) {
		goneAtOnce = rapid.IntRange(1, 5).Draw(t, "at once")
		r := newRandomIndex(t)
		defer r.close(t)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				r.step(t)
			case 1:
				r.reanchor(t)
			default:
				r.rare(t)
			}
		}
		if err := r.x.Refresh(); err != nil {
			t.Fatal(err)
		}
		if _, err := r.x.DropDeleted(context.Background()); err != nil {
			t.Fatal(err)
		}
		once := rebuilt(t, r.live)
		defer once.close(t)
		if got, want := r.forms(t), once.forms(t); !slices.Equal(got, want) {
			t.Fatalf("forms %q, want %q", got, want)
		}
	})
}
