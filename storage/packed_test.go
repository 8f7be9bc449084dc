// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPackedText: texts of all sizes are compressed where that makes them smaller, by many goroutines at once, and each
// is what it was.
func TestPackedText(t *testing.T) {
	var words strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&words, "word%d ", i*i%1013)
	}
	noise := make([]byte, 1<<20)
	for i, rng := 0, rand.New(rand.NewPCG(1, 2)); i < len(noise); i++ {
		noise[i] = byte(rng.Uint32())
	}
	type page struct {
		ParseText
		smaller bool // than what it is made of
	}
	var pages []page
	for _, size := range []int{0, 1, packedLeast - 1, packedLeast, 1 << 10, packedBlock, packedBlock + 1, 3 << 20} {
		pages = append(pages, page{ParseText{Title: "Net", Text: words.String()[:size]}, size >= packedLeast})
	}
	pages = append(pages, page{ParseText{Title: words.String()[:5000], Text: string(noise)}, false},
		page{ParseText{Description: strings.Repeat("long ", 1000), Text: "short"}, true})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			var memory []byte
			for i := range pages {
				p := &pages[i]
				memory = AppendParseText(append(memory[:0], "before"...), &p.ParseText)
				b, ok := bytes.CutPrefix(memory, []byte("before"))
				if plain := len(p.Title) + len(p.Text) + len(p.Description); !ok || p.smaller != (len(b) < plain) {
					t.Errorf("page %d: %d bytes became %d", i, plain, len(b))
				}
				var got ParseText
				if err := DecodeParseText(b, &got); err != nil || !cmp.Equal(got, p.ParseText) {
					t.Errorf("page %d: decoded another text, %v", i, err)
				}
				if title, err := ReadParseTitle(b); err != nil || string(title) != p.Title {
					t.Errorf("page %d: title %.20q, %v", i, title, err)
				}
			}
		})
	}
	group.Wait()
}

// TestDamagedText: a frame that is cut, or that has more or less in it than the record says, is damage. No memory is
// taken for what a frame of its size cannot hold.
func TestDamagedText(t *testing.T) {
	text := ParseText{Title: "T", Text: strings.Repeat("some text ", 1000)}
	b := AppendParseText(nil, &text)
	damaged := map[string][]byte{}
	for n := range b {
		damaged[fmt.Sprintf("cut at %d", n)] = b[:n]
	}
	for at, name := range map[int]string{7: "lengths", 16: "magic", 20: "size"} {
		other := slices.Clone(b)
		other[at]++
		damaged[name] = other
	}
	huge := []byte("\x04\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff\x07\x00\x00\x00T\x28\xb5\x2f\xfd\xa0\xff\xff\xff\x7f")
	damaged["two gigabytes in 9 bytes"] = huge
	for name, b := range damaged {
		var got ParseText
		if err := DecodeParseText(b, &got); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
