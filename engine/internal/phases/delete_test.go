// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"slices"
	"testing"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestDeleteFetchlist: a URL that waits in the fetchlist of an open segment is deleted from it.
func TestDeleteFetchlist(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	w.inject(hostA, hostA+"1", hostB)
	g, err := w.p.Generate(t.Context(), GenerateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r := w.remove(hostA + "1"); r.Records != 1 {
		t.Errorf("%+v", r)
	}
	got := w.fetchlist(g.Segment)
	slices.Sort(got)
	if want := []string{hostA, hostB}; !slices.Equal(got, want) {
		t.Errorf("the fetchlist has %v, want %v", got, want)
	}
}

// TestDeleteCaptures: a purge is told of every segment with a capture of what was deleted, also if nothing else of the
// segment is left.
func TestDeleteCaptures(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	w.update(page{url: hostA})
	w.update(page{url: hostA, at: 1}, page{url: hostB})
	w.update(page{url: hostB, at: 1})
	err := w.store.Apply(func(b *storage.Batch) error { return b.Delete(storage.ParseLinks(1), []byte(w.key(hostA))) })
	if err != nil {
		t.Fatal(err)
	}
	if r := w.remove(hostA); r.Captures != 2 || r.Parsed != 1 {
		t.Errorf("%+v", r)
	}
	got, err := w.store.DeletedIn()
	if err != nil || len(got) != 2 || !got[1] || !got[2] {
		t.Errorf("to purge: segments %v, %v", got, err)
	}
}

// TestDeleteForeign: the links of a deleted page go, also where another directory has fetched it: before they were
// taken over from there, or since it was moved there.
func TestDeleteForeign(t *testing.T) {
	there, w := newWorld(t, admission.Options{Scope: policy.ScopeAny}), newWorld(t, admission.Options{
		Scope: policy.ScopeAny,
	})
	defer there.close()
	defer w.close()
	ctx := context.Background()
	linked := func(w *world, pages ...page) {
		w.update(pages...)
		if _, err := w.p.InvertLinks(ctx, w.segment); err != nil {
			t.Fatal(err)
		}
	}
	linked(there, page{url: "http://there.example/", links: []string{hostA, hostB}})
	linked(w, page{url: "http://moved.example/", links: []string{hostA}}, page{url: hostB, links: []string{hostA}})
	if _, err := w.p.ImportLinks(ctx, there.store, ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.p.MergeLinks(ctx, 0, nil); err != nil {
		t.Fatal(err)
	}
	part, err := DomainPart("moved.example")
	if err == nil {
		_, err = w.p.Excise(ctx, part)
	}
	if links, _ := w.linkdb(); err != nil || len(links) != 4 {
		t.Fatalf("%v: linkdb has %v", err, links)
	}
	if r := w.remove("there.example", "moved.example"); r.Inlinks != 3 {
		t.Errorf("%+v", r)
	}
	w.check()
	want := storedLink{w.key(hostA), w.key(hostB), w.segment}
	if links, _ := w.linkdb(); len(links) != 1 || !links[want] {
		t.Errorf("linkdb has %v, want %v", links, want)
	}
}

// TestJoinSignatures: the signatures of a deletion in many parts are bounded as those of one part are.
func TestJoinSignatures(t *testing.T) {
	part := make([]storage.Signature, deletedSignatures/4)
	all := []storage.Signature{}
	for n := 1; n <= 4; n++ {
		if all = JoinSignatures(all, part); len(all) != n*len(part) {
			t.Fatalf("%d signatures of %d parts", len(all), n)
		}
	}
	if some := JoinSignatures(all, []storage.Signature{}); len(some) != len(all) {
		t.Errorf("%d signatures after a part without any", len(some))
	}
	for name, some := range map[string][]storage.Signature{
		"one more":      JoinSignatures(all, part[:1]),
		"too many":      JoinSignatures(part, nil),
		"too many once": JoinSignatures(nil, part),
	} {
		if some != nil {
			t.Errorf("%s: %d signatures", name, len(some))
		}
	}
}
