// SPDX-License-Identifier: Apache-2.0

package index

import (
	"math/rand/v2"
	"testing"

	"github.com/seine-crawler/seine/storage"
)

// BenchmarkMillionWords builds an index of texts with 10^6 different words, whose frequencies follow Zipf's law: the
// table of terms and its memory are what such texts try. MB/s are of text.
func BenchmarkMillionWords(b *testing.B) {
	const documents, words = 2000, 1250
	rng := rand.New(rand.NewPCG(7, 8))
	z := rand.NewZipf(rng, 1.05, 2.7, 1_000_000-1)
	word := func(dst []byte, n uint64) []byte {
		for n++; n > 0; n /= 70 {
			dst = append(dst, "bdfgklmnprstvz"[n%70/5], "aeiou"[n%5])
		}
		return append(dst, "n "...)
	}
	docs := make([]Document, documents)
	bytes := 0
	for i := range docs {
		var text []byte
		for range words {
			text = word(text, z.Uint64())
		}
		docs[i] = numbered(b, i, string(text))
		docs[i].Language = "en"
		bytes += len(text)
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		s := memoryStore(b)
		x, err := Open(s, Options{FS: storage.NewMemFS()})
		if err != nil {
			b.Fatal(err)
		}
		addDocuments(b, s, x, docs)
		b.ReportMetric(float64(x.Stats().Terms), "terms")
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
