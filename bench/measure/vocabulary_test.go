// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: building an index of text with many different words. Words of the text are drawn by Zipf's law, but
// each twentieth is the next one of the vocabulary, so that every word occurs and new ones come until the end. The
// texts are made before: drawing words by Zipf's law took a quarter of the processor time. How to run:
//
//	go test -run '^$' -bench Vocabulary -benchtime 1x ./bench/measure -vocabulary.words 1000000

var vocabularyWords = flag.Int("vocabulary.words", 100_000, "different words of the text of BenchmarkVocabulary")

const (
	vocabularyEach     = 20  // words of the text for each word of the vocabulary
	vocabularyDocument = 200 // words of a document
)

// syllables returns a word of letters for a number, another for each number.
func syllables(dst []byte, n uint64) []byte {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	for n++; n > 0; n /= uint64(len(consonants) * len(vowels)) {
		at := n % uint64(len(consonants)*len(vowels))
		dst = append(dst, consonants[at/uint64(len(vowels))], vowels[at%uint64(len(vowels))])
	}
	return append(dst, 'n')
}

// vocabularyTexts makes the texts.
func vocabularyTexts(words int) (texts []string, total int) {
	rng := rand.New(rand.NewPCG(11, 12))
	zipf := rand.NewZipf(rng, 1.05, 2, uint64(words-1))
	var text []byte
	next := uint64(0)
	for range words * vocabularyEach / vocabularyDocument {
		text = text[:0]
		for i := range vocabularyDocument {
			n := zipf.Uint64()
			if i%vocabularyEach == 0 {
				n = next
				next++
			}
			text = append(syllables(text, n), ' ')
		}
		texts = append(texts, string(text))
		total += len(text)
	}
	return texts, total
}

// processTime is the processor time that the process has used.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("BUG: getrusage of the process itself: " + err.Error())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkVocabulary(b *testing.B) {
	words := *vocabularyWords
	texts, total := vocabularyTexts(words)
	b.Run(fmt.Sprintf("words=%d/seine", words), func(b *testing.B) {
		b.SetBytes(int64(total))
		for b.Loop() {
			buildVocabulary(b, texts, words, total)
		}
	})
}

// buildVocabulary builds one index and reports its rates.
func buildVocabulary(b *testing.B, texts []string, words, total int) {
	s, err := storage.Open(b.TempDir(), storage.Options{})
	must(b, err)
	x, err := index.Open(s, index.Options{})
	must(b, err)
	in := s.NewIngestion()
	defer in.Abort()
	builder := x.NewBuilder(in)
	defer builder.Abort()
	begin, used := time.Now(), processTime()
	var half time.Time
	done := 0
	for n, text := range texts {
		u, err := urlkey.Parse(fmt.Sprintf("http://words.example/%08d", n))
		must(b, err)
		if done += len(text); half.IsZero() && done >= total/2 {
			half = time.Now()
		}
		must(b, builder.Add(&index.Document{Key: u.Key(), URL: u.String(), Text: text, Stamp: uint64(n + 1)}))
	}
	_, err = builder.Finish()
	must(b, err, in.Commit(), x.Refresh())
	end, cpu := time.Now(), processTime()-used
	built := &builtIndex{store: s, index: x}
	if terms := int(x.Stats().Terms); terms < words {
		b.Fatalf("the index has %d terms, the text has %d different words", terms, words)
	}
	b.ReportMetric(float64(total)/1e6/cpu.Seconds(), "text-MB/cpu-s")
	b.ReportMetric(float64(total)/2e6/half.Sub(begin).Seconds(), "1st-half-MB/s")
	b.ReportMetric(float64(total)/2e6/end.Sub(half).Seconds(), "2nd-half-MB/s")
	b.ReportMetric(built.bytes(b)/float64(total), "index-B/text-B")
	b.ReportMetric(float64(x.Stats().Terms), "terms")
	b.ReportMetric(float64(x.Stats().Documents), "documents")
	built.close(b)
}
