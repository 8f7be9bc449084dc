// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seine-crawler/seine/storage"
)

// TestWalksAhead reads pages in order, some of them ahead, and compares each with what a search finds. What is kept of
// pages read ahead is more than fits, at times.
func TestWalksAhead(t *testing.T) {
	t.Parallel()
	s, err := storage.Open(t.TempDir(), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	const pages, segments = 300, 3
	key := func(i int) []byte { return fmt.Appendf(nil, "key %04d", i) }
	draw := rand.New(rand.NewPCG(1, 2))
	for seg := range uint32(segments) {
		in := s.NewIngestion()
		w := in.Table(storage.ParseTextRange(seg + 1))
		for i := range pages {
			if draw.IntN(3) > 0 {
				if err := w.Set(key(i), bytes.Repeat(key(i), 1+draw.IntN(200))); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := in.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	for _, most := range []int{0, 1, segments} { // segments that are walked, not searched
		w := newWalks(most, storage.ParseTextRange)
		w.room = 8 << 10
		rd := s.Snapshot()
		compare := func(i int, read func(storage.Reader, uint32, []byte) ([]byte, error)) {
			seg := 1 + uint32(i*i%segments)
			got, err := read(rd, seg, key(i))
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := rd.Get(storage.ParseTextRange(seg), key(i), nil)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d walks, page %d of segment %d: %.20q…, want %.20q…, %v", most, i, seg, got, want, err)
			}
		}
		for from := 0; from < pages; from += 50 { // as many hosts
			w.pass(key(from))
			for i := from; i < from+30; i++ {
				if i%5 > 0 { // of may read pages that ahead did not
					compare(i, w.ahead)
				}
			}
			for i := from; i < from+50; i++ {
				if i%4 > 0 && from != 100 { // nor need of read all that ahead did
					compare(i, w.of)
				}
			}
			if len(w.bytes) > w.room+8*201 {
				t.Fatalf("%d bytes are kept", len(w.bytes))
			}
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
		rd.Close()
	}
}
