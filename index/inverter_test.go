// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestInverter: occurrences of rare and very common terms, in documents near and far apart, come back in order, and
// terms come sorted. A second index segment does not see the first.
func TestInverter(t *testing.T) {
	var inv inverter
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2 {
		inv.reset()
		want := map[string][]string{}
		doc := uint32(0)
		for range 20_000 {
			doc += 1 + rng.Uint32N(3)*rng.Uint32N(1000)
			seen := map[string]*[fieldCount][]uint32{}
			at := uint32(0)
			for range 1 + rng.IntN(40) {
				term := fmt.Sprint("t", min(rng.ExpFloat64()*3, 1e6)*rng.ExpFloat64())
				if rng.IntN(4) > 0 {
					term = fmt.Sprint("often", rng.IntN(3))
				}
				field := rng.IntN(fieldCount)
				at += rng.Uint32N(300)
				inv.add(inv.entry(inv.find([]byte(term))), doc, field, at)
				p := seen[term]
				if p == nil {
					p = new([fieldCount][]uint32)
					seen[term] = p
				}
				p[field] = append(p[field], at)
			}
			for term, p := range seen {
				want[term] = append(want[term], fmt.Sprint(doc, *p))
			}
		}
		if inv.count != len(want) {
			t.Fatalf("%d terms, want %d", inv.count, len(want))
		}
		var r occurrenceReader
		var last []byte
		for _, place := range inv.sorted() {
			e := inv.entry(place)
			term := bytes.Clone(inv.term(e))
			if bytes.Compare(last, term) >= 0 {
				t.Fatalf("%q after %q", term, last)
			}
			last = term
			var got []string
			for r.reset(inv.occurrences(e, nil)); r.next(); {
				var p [fieldCount][]uint32
				numbers := r.numbers
				for f := range p {
					at := uint32(0)
					for _, gap := range numbers[:r.freqs[f]] {
						at += gap
						p[f] = append(p[f], at)
					}
					numbers = numbers[r.freqs[f]:]
				}
				got = append(got, fmt.Sprint(r.doc, p))
			}
			if !slices.Equal(got, want[string(term)]) {
				t.Fatalf("%q: %d documents, want %d", term, len(got), len(want[string(term)]))
			}
		}
		if r := inv.bytes(); r < 1<<20 {
			t.Errorf("%d bytes", r)
		}
	}
}

// BenchmarkInverter adds words of which most are new: 10^6 different ones.
func BenchmarkInverter(b *testing.B) {
	var inv inverter
	word := make([]byte, 8)
	rng := rand.New(rand.NewPCG(1, 1))
	inv.reset()
	for i := 0; b.Loop(); i++ {
		if i%4_000_000 == 0 {
			inv.reset()
		}
		binary.BigEndian.PutUint64(word, rng.Uint64N(1_000_000))
		inv.add(inv.entry(inv.find(word)), uint32(i/1000), 0, uint32(i%1000))
	}
}
