// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/seine-crawler/seine/storage"
)

// workerDocuments are documents with texts of 6 KB.
func workerDocuments(t fataler, n int) (docs []Document) {
	rng := rand.New(rand.NewPCG(9, 9))
	for i := range n {
		var text []byte
		for range 800 {
			text = fmt.Appendf(text, "word%d ", int(rng.ExpFloat64()*200))
		}
		d := numbered(t, i, string(text))
		d.Language, d.Title = "en", "title"
		docs = append(docs, d)
	}
	return docs
}

// TestBuilders: with several goroutines the index is the same as with one, and the same segments at every time; each
// goroutine had about the same text; what is small makes one segment.
func TestBuilders(t *testing.T) {
	type built struct {
		digest   uint64
		segments []segmentInfo
		numbers  []uint32
	}
	build := func(builders int, memory int64, docs []Document) (r built) {
		s := memoryStore(t)
		defer s.Close()
		x, err := Open(s, Options{FS: storage.NewMemFS(), Builders: builders, MemoryBytes: memory})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		x.alone = 200 << 10
		addDocuments(t, s, x, docs)
		if r.digest, err = x.Digest(context.Background()); err != nil {
			t.Fatal(err)
		}
		st, err := x.acquire()
		if err != nil {
			t.Fatal(err)
		}
		for _, seg := range st.segments {
			r.segments, r.numbers = append(r.segments, seg.info), append(r.numbers, seg.number)
		}
		if err := x.release(st); err != nil {
			t.Fatal(err)
		}
		return r
	}
	docs := workerDocuments(t, 400)
	one := build(1, 0, docs)
	if len(one.segments) != 1 {
		t.Fatalf("%d segments with one builder", len(one.segments))
	}
	for _, builders := range []int{2, 3} {
		r := build(builders, 0, docs)
		if r.digest != one.digest || len(r.segments) != builders {
			t.Fatalf("%d builders: digest %x, want %x; %d segments", builders, r.digest, one.digest, len(r.segments))
		}
		for _, info := range r.segments {
			if part := int(info.Docs) * builders; part < len(docs)*8/10 || part > len(docs)*12/10 {
				t.Errorf("%d builders: one has %d of %d documents", builders, info.Docs, len(docs))
			}
		}
		if again := build(builders, 0, docs); !reflect.DeepEqual(again, r) {
			t.Errorf("%d builders: %+v, then %+v", builders, r, again)
		}
	}
	if r := build(2, 1<<20, docs); r.digest != one.digest || len(r.segments) < 4 || r.numbers[3] != 4 {
		t.Errorf("little memory: digest %x, want %x; segments %d", r.digest, one.digest, r.numbers)
	}
	if r := build(2, 0, docs[:30]); len(r.segments) != 1 {
		t.Errorf("%d segments of 200 KB of text", len(r.segments))
	}
}

// TestBuildersFail: an error of a goroutine reaches the caller, at the latest in Finish, and Abort waits for all.
func TestBuildersFail(t *testing.T) {
	docs := workerDocuments(t, 400)
	s := memoryStore(t)
	defer s.Close()
	x, err := Open(s, Options{FS: storage.NewMemFS(), Builders: 2, MemoryBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	x.alone = 200 << 10
	ing := s.NewIngestion()
	b := x.NewBuilder(ing)
	ing.Abort() // tables cannot be written any more
	for i := 0; err == nil && i < len(docs); i++ {
		err = b.Add(&docs[i])
	}
	if err == nil {
		_, err = b.Finish()
	}
	if !errors.Is(err, storage.ErrClosed) {
		t.Errorf("an ingestion that has ended: %v", err)
	}
	b.Abort()
	b.Abort()
	ing = s.NewIngestion()
	defer ing.Abort()
	b = x.NewBuilder(ing)
	for i := range docs {
		if err := b.Add(&docs[i]); err != nil {
			t.Fatal(err)
		}
	}
	b.Abort() // while goroutines work
	if st := x.Stats(); st.Documents != 0 {
		t.Errorf("%+v", st)
	}
}
