// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: completions, near words and corrections over an index segment of a million different words. Words
// are of two to five syllables, made at random; each is in one document, and 901 of them are in more. Completions are
// of one to four letters, so that the shortest have tens of thousands of words to choose from; near words are of words
// with one and two random edits, corrections of words with one. p50 and p99 are over all calls of the run, with the
// words in memory; p99-cpu is over their processor time, which other work on the machine disturbs less; cold is the
// time from the first call until calls are answered from memory. How to run:
//
//	go test -run '^$' -bench Suggest ./bench/measure

const (
	suggestWords = 1_000_000
	suggestDocs  = 2000 // of 500 words, and 50 of the frequent ones
)

// syllableWords makes different words.
func syllableWords(n int) []string {
	onsets := strings.Fields("b c d f g h j k l m n p r s t v w z bl br ch cl cr dr fl fr gr pl pr sh sl st str th tr")
	vowels := strings.Fields("a e i o u ai ea ee ou")
	codas := strings.Fields("_ _ _ n r s t l m nd st ck ng")
	rng := rand.New(rand.NewPCG(3, 4))
	seen := make(map[string]bool, n)
	words := make([]string, 0, n)
	for len(words) < n {
		var w []byte
		for range 2 + rng.IntN(4) {
			w = append(w, onsets[rng.IntN(len(onsets))]...)
			w = append(w, vowels[rng.IntN(len(vowels))]...)
			w = append(w, strings.TrimPrefix(codas[rng.IntN(len(codas))], "_")...)
		}
		if !seen[string(w)] {
			seen[string(w)] = true
			words = append(words, string(w))
		}
	}
	return words
}

func vocabularyDocuments(words []string) (docs []index.Document) {
	rng := rand.New(rand.NewPCG(9, 9))
	each := len(words) / suggestDocs
	for i := range suggestDocs {
		text := slices.Clone(words[i*each : (i+1)*each])
		for range 50 {
			text = append(text, words[rng.IntN(100)*rng.IntN(10)])
		}
		u, err := urlkey.Parse(fmt.Sprintf("http://www.words.example/%06d.html", i))
		if err != nil {
			panic(err)
		}
		docs = append(docs, index.Document{
			Key: u.Key(), URL: u.String(), Text: strings.Join(text, " "), Stamp: uint64(i + 1),
		})
	}
	return docs
}

// misspelt edits a word at random places behind its first letter.
func misspelt(rng *rand.Rand, word string, edits int) string {
	w := []byte(word)
	for range edits {
		i := 1 + rng.IntN(len(w)-2)
		switch rng.IntN(4) {
		case 0:
			w = slices.Delete(w, i, i+1)
		case 1:
			w = slices.Insert(w, i, byte('a'+rng.IntN(26)))
		case 2:
			w[i] = byte('a' + rng.IntN(26))
		default:
			w[i], w[i+1] = w[i+1], w[i]
		}
	}
	return string(w)
}

// threadTime is the processor time of this thread.
func threadTime(b *testing.B) time.Duration {
	var t unix.Timespec
	must(b, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t))
	return time.Duration(t.Nano())
}

func BenchmarkSuggest(b *testing.B) {
	words := syllableWords(suggestWords)
	x := buildIndex(b, vocabularyDocuments(words))
	defer x.close(b)
	if n := x.index.Stats().Terms; n < suggestWords*6/10 {
		b.Fatalf("%d terms, want about %d", n, suggestWords)
	}
	ctx := context.Background()
	start := time.Now()
	for fast := 0; fast < 3; fast++ {
		call := time.Now()
		_, err := x.index.Near(ctx, "strandeerlou", 2, 10)
		must(b, err)
		if time.Since(call) > 20*time.Millisecond {
			fast = 0
		}
		time.Sleep(10 * time.Millisecond)
	}
	cold := time.Since(start)
	calls := []struct {
		name string
		call func(rng *rand.Rand, word string) (int, error)
	}{
		{"complete", func(rng *rand.Rand, word string) (int, error) {
			list, err := x.index.Complete(ctx, word[:1+rng.IntN(4)], 10)
			return len(list), err
		}},
		{"near1", func(rng *rand.Rand, word string) (int, error) {
			list, err := x.index.Near(ctx, misspelt(rng, word, 1), 1, 10)
			return len(list), err
		}},
		{"near2", func(rng *rand.Rand, word string) (int, error) {
			list, err := x.index.Near(ctx, misspelt(rng, word, 2), 2, 10)
			return len(list), err
		}},
		{"suggest", func(rng *rand.Rand, word string) (int, error) {
			s, err := x.index.Suggest(ctx, misspelt(rng, word, 1), time.Second)
			return len(s.Query), err
		}},
	}
	for _, c := range calls {
		b.Run(c.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			runtime.LockOSThread() // for the time of one thread
			defer runtime.UnlockOSThread()
			var took, busy []time.Duration
			found := 0
			b.ReportAllocs()
			for b.Loop() {
				word := words[rng.IntN(len(words))]
				start, work := time.Now(), threadTime(b)
				n, err := c.call(rng, word)
				busy = append(busy, threadTime(b)-work)
				took = append(took, time.Since(start))
				must(b, err)
				found += boolInt(n > 0)
			}
			if len(took) > 100 && found < len(took)/3 {
				b.Fatalf("%d of %d calls found something", found, len(took))
			}
			slices.Sort(took)
			slices.Sort(busy)
			b.ReportMetric(float64(busy[len(busy)*99/100].Nanoseconds()), "p99-cpu-ns")
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
			b.ReportMetric(100*float64(found)/float64(len(took)), "%found")
			b.ReportMetric(cold.Seconds(), "cold-s")
		})
	}
}
