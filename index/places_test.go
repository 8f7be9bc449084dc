// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestDenseLists: over lists of many blocks, some of them bitmaps, a search that counts all matches window by window
// finds what one finds that looks at one document after the other.
func TestDenseLists(t *testing.T) {
	s, err := storage.Open("store", storage.Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x, err := Open(s, Options{FS: storage.NewMemFS(), MemoryBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	in := s.NewIngestion()
	b := x.NewBuilder(in)
	rng := rand.New(rand.NewPCG(1, 2))
	words := []string{"net", "nets", "boat", "tar", "rope", "sail"}
	for i := range 6000 {
		u, err := urlkey.Parse(fmt.Sprintf("http://a.test/%06d", i))
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for range rng.IntN(9) {
			text = append(text, words[min(rng.IntN(8), rng.IntN(len(words)))])
		}
		if err := b.Add(&Document{
			Key: u.Key(), URL: u.String(), Text: strings.Join(text, " "), Language: "en", Stamp: uint64(i),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := x.Refresh(); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		`"net boat"`, `"boat tar"`, `"net boat tar"`, `"net net"`, `+net +boat`, `boat tar`, `net`,
	} {
		o := SearchOptions{Deadline: time.Hour, Limit: 50}
		all, err := x.Search(context.Background(), q, o)
		o.TotalAtLeast = math.MaxInt32 // counts all too, by the other way
		each, err2 := x.Search(context.Background(), q, o)
		if err != nil || err2 != nil || all.Total < 100 {
			t.Fatalf("%s: %d matches, %v, %v", q, all.Total, err, err2)
		}
		if all.Total != each.Total || !reflect.DeepEqual(all.Hits, each.Hits) {
			t.Errorf("%s: %d matches window by window, %d one by one", q, all.Total, each.Total)
		}
	}
}

func (l *memoryList) gaps(block, i, field int, _ *blockFreqs) (gaps []uint32, _ error) {
	before := uint32(0)
	for _, at := range l.blocks[block].pos[i][field] {
		gaps, before = append(gaps, at-before), at
	}
	return gaps, nil
}
