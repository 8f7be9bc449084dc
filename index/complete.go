// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seine-crawler/seine/index/analysis"
)

// Completion is one way to end what somebody types.
type Completion struct {
	Text      string `json:"text"`      // all that was typed, with its last word completed
	Word      string `json:"word"`      // the last word, as the index has it
	Documents uint64 `json:"documents"` // with the word; deleted ones count until a merge
}

// Complete returns the words of the index that begin with the last word of text: those in most documents first, then by
// alphabet. The last word of a name with signs, such as pg_hb, is its last part; in C+ and C# the sign is of the word.
// limit 0 means 10, and at most 100 are returned. Text that ends in white space, in another sign, or in the value of a
// filter such as lang:, has no last word.
// What it has not found after 50 ms, or when ctx ends, it leaves out: with a vocabulary of a million words only the
// first call after a Refresh takes so long, because words are still being read into memory.
func (x *Index) Complete(ctx context.Context, text string, limit int) (_ []Completion, err error) {
	st, err := x.acquire()
	if err != nil {
		return nil, err
	}
	defer x.releaseAfter(st, &err)
	if limit <= 0 {
		limit = 10
	}
	limit = min(limit, 100)
	if len(text) > maxQuery {
		return nil, ctx.Err()
	}
	at := lastWord(text)
	prefix := foldPrefix(text[at:])
	if prefix == "" || endsInFilter(st, text) {
		return nil, ctx.Err()
	}
	v := &words{x: x, st: st, ctx: ctx, deadline: time.Now().Add(x.completes)}
	found, err := v.expandPrefix(prefix, limit)
	if err != nil {
		return nil, err
	}
	out := make([]Completion, len(found))
	for i, w := range found {
		out[i] = Completion{text[:at] + w.term, w.term, w.df}
	}
	return out, ctx.Err()
}

// endsInFilter reports whether what a text ends in is the value of a filter: no word of the index is meant by it.
func endsInFilter(st *state, text string) bool {
	lex := (&lexer{text: text, fail: func(int, string) {}, known: st.hasField}).run()
	return len(lex) > 0 && lex[len(lex)-1].filters()
}

// lastWord returns where the last word of a text begins: of a name with signs its last part, because names are indexed
// as their parts. Signs that end C++ and C# are of the word.
func lastWord(text string) int {
	end := len(text)
	for end > 0 && (text[end-1] == '+' || text[end-1] == '#') {
		end--
	}
	at := end
	for at > 0 {
		r, n := utf8.DecodeLastRuneInString(text[:at])
		if !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Cf) {
			break
		}
		at -= n
	}
	if at == end {
		return len(text) // signs alone
	}
	return at
}

// vocabularyDeadline ends a completion.
const vocabularyDeadline = 50 * time.Millisecond

// foldPrefix folds the beginning of a word as the analyzer folds words: with the marks that belong to its characters.
// The signs of C++ and C# stay, which may be the first of two.
func foldPrefix(s string) string {
	word := strings.TrimRight(s, "+#")
	a := analysis.Analyzer{Parts: true}
	var out []byte
	last := -1
	a.Walk([]byte(word), 0, func(t *analysis.Token) {
		if t.Position > last { // else it is a part at a capital, or the pair that begins with the character before it
			out, last = append(out, t.Term...), t.Position
		}
	})
	return string(out) + s[len(word):]
}

// Near returns the words of the index that are at most edits, 1 or 2, from a word, and begin with the same character:
// the nearest first, among equals those of most documents. An edit inserts, removes or replaces a character, or swaps
// two neighbours. limit and time are as for Complete. Text is the word that was found.
func (x *Index) Near(ctx context.Context, word string, edits, limit int) (_ []Completion, err error) {
	st, err := x.acquire()
	if err != nil {
		return nil, err
	}
	defer x.releaseAfter(st, &err)
	if limit <= 0 {
		limit = 10
	}
	v := &words{x: x, st: st, ctx: ctx, deadline: time.Now().Add(x.completes)}
	found, err := v.expandFuzzy(foldPrefix(word), edits, min(limit, 100))
	if err != nil {
		return nil, err
	}
	out := make([]Completion, len(found))
	for i, w := range found {
		out[i] = Completion{w.term, w.term, w.df}
	}
	return out, ctx.Err()
}
