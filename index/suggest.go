// SPDX-License-Identifier: Apache-2.0

package index

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seine-crawler/seine/index/analysis"
)

// Suggestion is a query that somebody may have meant.
type Suggestion struct {
	Query string `json:"query"` // the query with words replaced; "" if there is nothing better
	Total int    `json:"total"` // documents that Query finds; a lower bound if the deadline came first
}

// rareTimes is how many times more documents a word must have than the one it replaces. A misspelling is rare beside
// the word that was meant; two words of one language that look alike seldom differ so much.
const rareTimes = 20

// Suggest returns a query like the given one with words that pages have, for "did you mean". It replaces words that no
// document has, or few, by near words (one edit, from six characters on two; see nearWalk) that many more documents
// have than it or any other form of it. Of several near ones it takes that with the most documents, an edit counting as
// much as a factor of 20; it knows no keyboard. Words in quotes or of a field, operators, excluded words and words with
// digits stay. The new query is tried: it must find something, and no less than the old one; what the old one found
// only because it was relaxed does not count if the new one needs no relaxing. deadline 0 means 50 ms: after it there
// is no suggestion, and none is an error.
func (x *Index) Suggest(ctx context.Context, query string, deadline time.Duration) (_ Suggestion, err error) {
	if deadline <= 0 {
		deadline = vocabularyDeadline
	}
	until := time.Now().Add(deadline)
	corrected, err := x.correct(ctx, query, until)
	if err != nil || corrected == "" {
		return Suggestion{}, err
	}
	before, err := x.totalOf(ctx, query, until)
	if err != nil || before.partial {
		return Suggestion{}, err
	}
	after, err := x.totalOf(ctx, corrected, until)
	least := max(before.docs, 1)
	if before.relaxed && !after.relaxed {
		least = 1 // what was requested had none
	}
	if err != nil || after.docs < least {
		return Suggestion{}, err
	}
	return Suggestion{corrected, after.docs}, nil
}

// total says what a query finds.
type total struct {
	docs    int
	relaxed bool // only because it was relaxed
	partial bool // until the deadline
}

// totalOf returns what a query finds. Whoever asks what else may be meant has usually searched for it just before.
func (x *Index) totalOf(ctx context.Context, query string, until time.Time) (_ total, err error) {
	st, err := x.acquire()
	if err != nil {
		return total{}, err
	}
	known, ok := st.totals.get(query)
	if err := x.release(st); ok || err != nil {
		return known, err
	}
	r, err := x.Search(ctx, query, SearchOptions{countOnly: true, Deadline: max(time.Until(until), 1)})
	return total{r.Total, r.Relaxed, r.Partial}, err
}

// keepTotal keeps what a query found, if all was counted.
func (st *state) keepTotal(query string, o *SearchOptions, r *Result) {
	if !o.Strict && !r.Partial && !r.AtLeast {
		st.totals.add(query, total{docs: r.Total, relaxed: r.Relaxed}, int64(len(query)+recentBytes))
	}
}

// doubtful reports whether a tree of terms has a word that so few documents have, one in rarePart, that another one may
// be meant. freqs are the documents of its terms.
func (n *node) doubtful(freqs map[string]uint64, docs uint64) bool {
	switch n.kind {
	case nodeTerm, nodeAny:
		df := freqs[n.term]
		for _, c := range n.children {
			df = max(df, freqs[c.term])
		}
		return df <= max(docs/rarePart, 2)
	case nodeBool:
		rare := func(c *node) bool { return c.doubtful(freqs, docs) }
		return slices.ContainsFunc(n.must, rare) || slices.ContainsFunc(n.should, rare)
	}
	return false
}

// rarePart is how many documents there are for each that a doubtful word has, at most.
const rarePart = 1000

// correct returns the query with near words in place of rare ones, "" if none is better.
func (x *Index) correct(ctx context.Context, query string, until time.Time) (_ string, err error) {
	st, err := x.acquire()
	if err != nil {
		return "", err
	}
	defer x.releaseAfter(st, &err)
	if len(query) > maxQuery {
		return "", ctx.Err()
	}
	query = forgiven(query)
	v := &words{x: x, st: st, ctx: ctx, deadline: until}
	var out strings.Builder
	last := 0
	for _, w := range plainWords(st.hasField, query) {
		better, err := v.better(w.term)
		if err != nil {
			return "", err
		}
		if v.late() {
			return "", ctx.Err()
		}
		if better == "" || better == w.term {
			continue
		}
		out.WriteString(query[last:w.from])
		out.WriteString(better)
		last = w.to
	}
	if last == 0 {
		return "", ctx.Err()
	}
	out.WriteString(query[last:])
	return out.String(), ctx.Err()
}

// plainWord is a word of a query that may be corrected, and its place there in bytes.
type plainWord struct {
	term     string
	from, to int
}

// plainWords returns the words of a query that are neither quoted nor excluded, have no operator nor field, and consist
// of three letters or more of a script that separates words. known says which stored fields there are.
func plainWords(known func(field string) bool, query string) (out []plainWord) {
	var a analysis.Analyzer
	lex := (&lexer{text: query, fail: func(int, string) {}, known: known}).run()
	depth, kept := 0, 0 // of parentheses, and of those around words that stay; 0: there are none
	for i := range lex {
		x := &lex[i]
		stays := kept > 0 || x.sign == '-' || x.field != nil || i > 0 && lex[i-1].kind == lexNot
		switch x.kind {
		case lexOpen:
			if depth++; stays && kept == 0 {
				kept = depth
			}
		case lexClose:
			if depth = max(depth-1, 0); depth < kept {
				kept = 0
			}
		}
		if stays || x.kind != lexWord || x.prefix || x.number >= 0 || x.boost != 0 {
			continue
		}
		from := x.at + len(x.text) - len(strings.TrimLeft(x.text, marks))
		word := strings.Trim(x.text, marks)
		if !allLetters(word) {
			continue
		}
		n, term := 0, ""
		a.Walk([]byte(word), 0, func(t *analysis.Token) {
			if n, term = n+1, string(t.Term); t.Single {
				n = 2
			}
		})
		if n == 1 && utf8.RuneCountInString(term) >= 3 && len(out) < maxTerms {
			out = append(out, plainWord{term, from, from + len(word)})
		}
	}
	return out
}

// marks may stand around a word that is corrected.
const marks = "?!,;"

func allLetters(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) < 0
}

// better returns a word that was probably meant by a term, "" if there is none. The state keeps what it found: people
// write the same words in many queries.
func (v *words) better(term string) (string, error) {
	if best, ok := v.st.better.get(term); ok {
		return best, nil
	}
	best, err := v.nearest(term)
	if err == nil && !v.late() { // else there may be a better one
		v.st.better.add(term, best, int64(len(term)+len(best)+recentBytes))
	}
	return best, err
}

// nearest looks for what better returns.
func (v *words) nearest(term string) (string, error) {
	df, err := v.dfOfForms(term)
	if err != nil {
		return "", err
	}
	edits := 1
	if utf8.RuneCountInString(term) >= 6 {
		edits = 2
	}
	if df > max(v.st.all.docs/rareTimes, 2) {
		return "", nil // no near word can be so much more frequent that this one is an error
	}
	near, err := v.expandFuzzy(term, edits, 64)
	if err != nil {
		return "", err
	}
	least := [...]uint64{1, 1, 5} // documents of a word by edits: what is that far away and rare is another word
	best, score := "", math.Inf(-1)
	for _, w := range near {
		if w.edits == 0 || w.df < max(least[w.edits], df*rareTimes) || !allLetters(w.term) {
			continue
		}
		if s := math.Log(float64(w.df)) - float64(w.edits)*math.Log(rareTimes); s > score {
			best, score = w.term, s
		}
	}
	return best, nil
}

// dfOfForms returns the number of documents of a term, or of the form of it that has the most: a search for the term
// finds these, so it is no misspelling of one.
func (v *words) dfOfForms(term string) (uint64, error) {
	s := expander{st: v.st, work: newBudget(v.ctx, v.deadline)}
	n, err := s.word(&node{kind: nodeTerm, term: term})
	if err != nil {
		return 0, err
	}
	most, err := v.df(term)
	for _, form := range n.children {
		if err != nil {
			break
		}
		var df uint64
		df, err = v.df(form.term)
		most = max(most, df)
	}
	return most, err
}
