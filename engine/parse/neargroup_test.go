// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestNearGroup: texts that differ in a word are mostly of one group, as often as their shingles say; other texts
// never, and short ones have none.
func TestNearGroup(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	words := make([]string, 400)
	const trials = 400
	same := map[int]int{} // by words changed
	for range trials {
		for i := range words {
			words[i] = fmt.Sprint("w", rng.IntN(5000))
		}
		group := NearGroup([]byte(strings.Join(words, " ")))
		if group == 0 || group >= 1<<48 {
			t.Fatalf("group %x", group)
		}
		for _, changed := range []int{0, 1, 4, 200} {
			other := append([]string(nil), words...)
			for i := range changed {
				other[(i*len(other)/max(changed, 1)+7)%len(other)] = "changed" // far from each other: 3 shingles each
			}
			if NearGroup([]byte(strings.Join(other, ",\n"))) == group {
				same[changed]++
			}
		}
	}
	for changed, n := range same {
		shared := 398 - 3*float64(changed)
		want := math.Pow(shared/(398+3*float64(changed)), nearBins)
		if got := float64(n) / trials; math.Abs(got-want) > 0.1 {
			t.Errorf("with %d words changed, %.2f are of one group, want %.2f", changed, got, want)
		}
	}
	if same[0] != trials || same[200] > 0 {
		t.Errorf("groups in common: %v", same)
	}
	if g := NearGroup([]byte(strings.Repeat("word ", 100))); g != 0 {
		t.Errorf("500 bytes have group %x", g)
	}
}

// TestNearGroupWords: read by eight bytes, a text has the words that it has read one by one, as simHash reads it.
func TestNearGroupWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const others = "abyzABYZ0189 .,-@[`{/:\x80\xbf\xc3\xe2\xe3\xe8\xed\xee\xff"
	for range 2000 {
		text := make([]byte, shortContent+rng.IntN(40))
		for i := range text {
			if text[i] = others[rng.IntN(len(others))]; rng.IntN(3) > 0 {
				text[i] = 'a' + byte(rng.IntN(26))
			}
		}
		if long := rng.IntN(len(text)); rng.IntN(2) > 0 { // without characters that are words, as most texts
			for i, c := range text {
				if c >= 0xe3 && c <= 0xed {
					text[i] = '.'
				}
			}
			for i := long; i < min(len(text), long+rng.IntN(150)); i++ {
				text[i] = 'L'
			}
		}
		if got, want := NearGroup(text), plainNearGroup(text); got != want {
			t.Fatalf("group %x, read by bytes %x: %q", got, want, text)
		}
	}
}

func plainNearGroup(text []byte) (group uint64) {
	var words []uint64
	var word []byte
	end := func() {
		for h := uint64(0); len(word) > 0; word = word[min(8, len(word)):] {
			if h = nearHash(h, eight(word[:min(8, len(word))], 0)); len(word) <= 8 {
				words = append(words, h)
			}
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case fold[c] != 0:
			word = append(word, fold[c])
		case c >= 0xe3 && c <= 0xed && i+2 < len(text):
			end()
			words = append(words, uint64(c)<<16|uint64(text[i+1])<<8|uint64(text[i+2]))
			i += 2
		default:
			end()
		}
	}
	end()
	s := nearShingles{}
	for i := range s.least {
		s.least[i] = math.MaxUint64
	}
	for i := 2; i < len(words); i++ {
		s.keep(words[i-2], words[i-1], words[i])
	}
	for _, h := range s.least {
		group = mix(group + h)
	}
	return max(group>>16, 1)
}

// BenchmarkNearGroup reads words of different lengths, in an order that the processor cannot predict.
func BenchmarkNearGroup(b *testing.B) {
	rng := rand.New(rand.NewPCG(9, 10))
	var text []byte
	for len(text) < 1<<20 {
		text = append(append(text, "seamanshipandallthat"[:1+rng.IntN(9)]...), ' ')
		if rng.IntN(8) == 0 {
			text = append(text, '\n')
		}
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		NearGroup(text)
	}
}
