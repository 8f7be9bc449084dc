// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seine-crawler/seine/engine/parse/content"
)

// plainSimHash is simHash of lines of prose, read byte by byte, with a counter for each bit.
func plainSimHash(lines ...[]byte) (out uint64) {
	seen, counts, n := map[uint64]bool{}, [64]int{}, 0
	for _, line := range lines {
		words := plainHashes(line)
		switch len(words) {
		case 1:
			words = []uint64{0, words[0], 0}
		case 2:
			words = append(words, 0)
		}
		for i := 2; i < len(words); i++ {
			a, b := words[i-2], words[i-1]
			h := mix((a<<21 | a>>43) + (b<<42 | b>>22) + words[i])
			if seen[h] {
				continue
			}
			seen[h] = true
			n++
			for bit := range counts {
				counts[bit] += int(h >> bit & 1)
			}
		}
	}
	for bit, count := range counts {
		if 2*count > n {
			out |= 1 << bit
		}
	}
	return max(out, 1)
}

// plainHashes returns the hashes of a text's words.
func plainHashes(text []byte) (words []uint64) {
	var word []byte
	end := func() {
		for h := uint64(0); len(word) > 0; word = word[min(8, len(word)):] {
			if h = wordHash(h, eight(word[:min(8, len(word))], 0)); len(word) <= 8 {
				words = append(words, h)
			}
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case 'A' <= c && c <= 'Z':
			word = append(word, c|0x20)
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', c >= 0x80 && (c < 0xe3 || c > 0xed):
			word = append(word, c)
		case c >= 0xe3 && c <= 0xed && i+2 < len(text):
			end()
			words = append(words, uint64(c)<<16|uint64(text[i+1])<<8|uint64(text[i+2]))
			i += 2
		default:
			end()
		}
	}
	end()
	return words
}

// TestSimHashPlainly: read by eight bytes and counted by planes, a text has the fingerprint that it has read one by
// one, as a whole and in lines, whatever the page before left in the set.
func TestSimHashPlainly(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const others = "abyzABYZ0189 .,-@[`{/:\x80\xbf\xc3\xe2\xe3\xe8\xed\xee\xff"
	var seen shingleSet
	for n := range 1000 {
		text := make([]byte, shortContent+rng.IntN(40)+n%50/49*100_000)
		for i := range text {
			if text[i] = others[rng.IntN(len(others))]; rng.IntN(3) > 0 {
				text[i] = 'a' + byte(rng.IntN(26))
			}
		}
		if got, want := simHash(text, nil, &seen), plainSimHash(text); got != want {
			t.Fatalf("fingerprint %x, read by bytes %x: %q", got, want, text)
		}
		var lines [][]byte
		for rest := text; len(rest) > 0; {
			n := shortLine + rng.IntN(300)
			if len(rest) < n+shortLine {
				n = len(rest)
			}
			lines, rest = append(lines, rest[:n]), rest[n:]
		}
		text = bytes.Join(lines, []byte{'\n'})
		blocks := []content.Block{{To: len(text), Content: true}}
		if got, want := simHash(text, blocks, &seen), plainSimHash(lines...); got != want {
			t.Fatalf("fingerprint %x, read by lines %x: %q", got, want, text)
		}
	}
}

// BenchmarkSimHash reads words of different lengths, in an order that the processor cannot predict.
func BenchmarkSimHash(b *testing.B) {
	rng := rand.New(rand.NewPCG(9, 10))
	var text []byte
	for len(text) < 6<<10 {
		text = fmt.Appendf(text, "%.*s ", 1+rng.IntN(12), "electroencephalogram")
		text = append(text, byte('a'+rng.IntN(26)))
	}
	b.SetBytes(int64(len(text)))
	var seen shingleSet
	for b.Loop() {
		simHash(text, nil, &seen)
	}
}
