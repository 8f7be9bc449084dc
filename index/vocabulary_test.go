// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// osa is the optimal string alignment distance by its definition.
func osa(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j-1], d[i-1][j], d[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// indexWords makes an index with a document for each row of words, in segments of some documents.
func indexWords(t testing.TB, each int, texts ...string) *Index {
	t.Helper()
	s, err := storage.Open("/index", storage.Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	x, err := Open(s, Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	x.completes = time.Minute
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for n := 0; n < len(texts); n += each {
		in := s.NewIngestion()
		b := x.NewBuilder(in)
		for i, text := range texts[n:min(n+each, len(texts))] {
			u, err := urlkey.Parse(fmt.Sprintf("http://h.example/%07d", n+i))
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Add(&Document{Key: u.Key(), URL: "http://h.example/", Text: text, Stamp: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.Finish(); err != nil {
			t.Fatal(err)
		}
		if err := in.Commit(); err != nil {
			t.Fatal(err)
		}
		b.Abort()
		in.Abort()
		if err := x.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// inMemory waits until the words of all index segments are in memory.
func inMemory(t testing.TB, x *Index) {
	t.Helper()
	st, err := x.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer x.release(st)
	st.better = recent[string]{most: betterBytes} // what was found without them is looked for again
	for _, seg := range st.segments {
		for until := time.Now().Add(time.Minute); x.lexicon(st, seg) == nil; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatal("the words are not in memory after a minute")
			}
		}
	}
}

// TestFuzzyIsBruteForce: the words found by prefix and by edits are those of a search through all words, from the store
// and from memory, in one index segment and in several.
func TestFuzzyIsBruteForce(t *testing.T) {
	letter := rapid.RuneFrom([]rune("abcdn3é京"))
	word := rapid.StringOfN(letter, 1, 9, -1)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		texts := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(word, 1, 30), func(w []string) string {
			return strings.Join(w, " ")
		}), 1, 8).Draw(rt, "texts")
		t.Run(fmt.Sprint(n), func(t *testing.T) { // for the end of its index
			n++
			x := indexWords(t, rapid.IntRange(1, 8).Draw(rt, "each"), texts...)
			st, err := x.acquire()
			if err != nil {
				t.Fatal(err)
			}
			defer x.release(st)
			dfs := map[string]uint64{}
			for _, seg := range st.segments {
				sc := seg.vocabulary(st.snap, nil, nil)
				for sc.Next() {
					dfs[string(sc.Term())] += sc.DF()
				}
				if err := sc.Close(); err != nil {
					t.Fatal(err)
				}
			}
			v := &words{x: x, st: st, ctx: context.Background(), deadline: time.Now().Add(time.Hour)}
			for range 20 {
				from := rapid.StringOfN(letter, 1, 8, -1).Draw(rt, "from")
				edits := rapid.IntRange(0, 2).Draw(rt, "edits")
				var near, prefixed []foundWord
				first, _ := utf8.DecodeRuneInString(from)
				for w, df := range dfs {
					if d := osa([]rune(from), []rune(w)); d <= edits && strings.HasPrefix(w, string(first)) {
						near = append(near, foundWord{w, df, d})
					}
					if strings.HasPrefix(w, from) {
						prefixed = append(prefixed, foundWord{w, df, 0})
					}
				}
				for _, list := range [][]foundWord{near, prefixed} {
					slices.SortFunc(list, func(a, b foundWord) int {
						return cmp.Or(a.edits-b.edits, cmp.Compare(b.df, a.df), cmp.Compare(a.term, b.term))
					})
				}
				got, err := v.expandFuzzy(from, edits, 1000)
				if err != nil || !slices.Equal(got, near) {
					rt.Fatalf("%d edits from %q: %v, want %v: %v", edits, from, got, near, err)
				}
				got, err = v.expandPrefix(from, 1000)
				if err != nil || !slices.Equal(got, prefixed) {
					rt.Fatalf("words from %q: %v, want %v: %v", from, got, prefixed, err)
				}
				df, err := v.df(from)
				if err != nil || df != dfs[from] {
					rt.Fatalf("%q is in %d documents, want %d: %v", from, df, dfs[from], err)
				}
			}
		})
	})
}

// TestLexicon: a lexicon holds what was added, finds its place, skips what it must, and leaves out rare terms.
func TestLexicon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		terms := rapid.SliceOfNDistinct(rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 1, 8, -1), 1, 400,
			func(s string) string { return s }).Draw(t, "terms")
		slices.Sort(terms)
		l := &lexicon{}
		for i, w := range terms {
			l.add([]byte(w), uint64(i)*37%1000+1)
		}
		near := newNearWalk(rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 1, 8, -1).Draw(t, "word"), 2)
		from := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 8, -1).Draw(t, "from")
		c := lexiconCursor{l: l}
		c.seek([]byte(from))
		i, _ := slices.BinarySearch(terms, from)
		var got, want []string
		for _, w := range terms[i:] {
			if osa(near.word, []rune(w)) <= 2 {
				want = append(want, w)
			}
		}
		for n, dead, d := 0, 256, 0; c.next(dead); n++ {
			if n == 0 {
				c.shared = 0
			}
			if d, dead = near.step(c.term, c.shared); d <= 2 {
				got = append(got, string(c.term))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("near %q from %q: %q, want %q", string(near.word), from, got, want)
		}
		l.thin(500)
		c = lexiconCursor{l: l}
		for i, w := range terms {
			if df := uint64(i)*37%1000 + 1; df >= 500 && (!c.next(256) || string(c.term) != w || c.df != df) {
				t.Fatalf("%q is %q in %d documents", w, c.term, c.df)
			}
		}
		if c.next(256) {
			t.Fatalf("%q is too many", c.term)
		}
	})
}

// TestLexiconSkip: a walk for terms of more than some documents passes blocks that have none, and misses no term.
func TestLexiconSkip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.SampledFrom([]uint64{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 1 << 40})
		dfs := rapid.SliceOfN(few, 1, 1000).Draw(t, "dfs")
		more := rapid.SampledFrom([]uint64{0, 1, 2, 3, 1 << 40}).Draw(t, "more")
		start := rapid.IntRange(0, len(dfs)-1).Draw(t, "start")
		term := func(i int) []byte { return fmt.Appendf(nil, "%04d", i) }
		l := &lexicon{}
		for i, df := range dfs {
			l.add(term(i), df)
		}
		c := lexiconCursor{l: l}
		c.seek(term(start))
		for i := start; i < len(dfs); i++ {
			block := dfs[i/lexiconBlock*lexiconBlock : min(len(dfs), (i/lexiconBlock+1)*lexiconBlock)]
			if (start%lexiconBlock == 0 || i/lexiconBlock > start/lexiconBlock) && slices.Max(block) <= more &&
				more < math.MaxUint32 {
				continue
			}
			if c.skip(more); !c.next(256) || !bytes.Equal(c.term, term(i)) || c.df != dfs[i] {
				t.Fatalf("more than %d from %d: %q in %d, want %q in %d", more, start, c.term, c.df, term(i), dfs[i])
			}
		}
		if c.skip(more); c.next(256) {
			t.Fatalf("more than %d from %d: %q is too many", more, start, c.term)
		}
	})
}

func TestComplete(t *testing.T) {
	x := indexWords(t, 2, "cat car", "car cart bücher", "car dog", "cat dog", "Care")
	f := func(text string, limit int, want ...string) {
		t.Helper()
		got, err := x.Complete(context.Background(), text, limit)
		var texts []string
		for _, c := range got {
			texts = append(texts, fmt.Sprint(c.Text, " ", c.Documents))
		}
		if err != nil || !slices.Equal(texts, want) {
			t.Errorf("%q: %q, want %q: %v", text, texts, want, err)
		}
	}
	for range 2 { // from the store, from memory
		f("ca", 0, "car 3", "cat 2", "care 1", "cart 1")
		f("the CA", 2, "the car 3", "the cat 2")
		f("BÜ", 0, "bucher 1")
		f("+(ca", 1, "+(car 3")
		f("cat ", 0)
		f("", 0)
		f("x", 0)
		inMemory(t, x)
	}
	names := indexWords(t, 1, "pg_hba.conf", "O'Reilly", "dict.setdefault hba C++",
		"C# and c, mobile.max_connections well-known")
	for text, want := range map[string]string{
		"pg_hb": "pg_hba 2", "see pg_hba.c": "see pg_hba.c 1, see pg_hba.c# 1, see pg_hba.c++ 1, see pg_hba.conf 1, " +
			"see pg_hba.connections 1",
		"dict.se": "dict.setdefault 1", "dict.SetD": "dict.setdefault 1", "C+": "c++ 1", "the c++": "the c++ 1",
		"C#": "c# 1", "O'Re": "O'reilly 1", "max_co": "max_conf 1, max_connections 1", "well-kn": "well-known 1",
		"+re": "+reilly 1", "a+re": "a+reilly 1", "title:Re": "title:reilly 1", "“re": "“reilly 1",
		"std::max": "std::max 1", "lang:co": "", "net -type:co": "", "site:h.co": "", "lang:en co": "lang:en conf 1, " +
			"lang:en connections 1",
		"pg_": "", "+": "", "C+++": "", "c++ ": "", "re?": "", "co\u0301n": "conf 1, connections 1",
	} {
		got, err := names.Complete(context.Background(), text, 0)
		var list []string
		for _, c := range got {
			list = append(list, fmt.Sprint(c.Text, " ", c.Documents))
		}
		if strings.Join(list, ", ") != want || err != nil {
			t.Errorf("%s: %s, want %s: %v", text, strings.Join(list, ", "), want, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := x.Complete(ctx, "ca", 0); err != context.Canceled {
		t.Errorf("canceled: %v", err)
	}
	if _, err := x.Suggest(ctx, "caz", 0); err != context.Canceled {
		t.Errorf("canceled: %v", err)
	}
}

// TestCompleteMarks: marks are of their characters, however these are written.
func TestCompleteMarks(t *testing.T) {
	x := indexWords(t, 1, "йод", "игра", "น้ำ", "が か", "ﾊﾟ", "ភា")
	for typed, want := range map[string]string{
		"й": "йод", "и\u0306": "йод", "и": "игра", "น้": "น้ํ", "น้ำ": "น้ํา", "か\u3099": "が", "ﾊﾟ": "パ", "ភា": "ភា",
	} {
		got, err := x.Complete(context.Background(), typed, 1)
		if err != nil || len(got) != 1 || got[0].Word != want {
			t.Errorf("%s: %v, want %s: %v", typed, got, want, err)
		}
	}
}

// TestSuggest: corrections over the texts of the Debian packages that are installed.
func TestSuggest(t *testing.T) {
	texts := packageTexts(t, 400)
	x := indexWords(t, 150, texts...)
	for range 2 {
		for query, want := range map[string]string{
			"linx":             "linux",
			"softwrae":         "software",
			"pakcage":          "package",
			"software":         "",
			"kernel software":  "",
			"softwrae OR linx": "software OR linux",
			`"softwrae"`:       "",
			// The phrase is nowhere, so it is only preferred.
			`"the softwrae" linx`:               `"the softwrae" linux`,
			`"the software" linx`:               `"the software" linux`,
			"-softwrae linux":                   "",
			"+softwrae +license":                "+software +license", // finds less than the relaxed query does
			"softwrae license":                  "software license",
			"site:softwrae.org":                 "",
			"license ?softwrae":                 "license ?software",
			"license ,softwrae!?":               "license ,software!?",
			"(linx) |softwrae":                  "(linux) |softwrae",
			"„the softwrae“ linx":               "„the softwrae“ linux",
			"linx „softwrae":                    "linux „software",
			"license\xff softwrae":              "license  software",
			"-(linx softwrae) linx AND license": "-(linx softwrae) linux AND license",
			"NOT (linx (linx) linx) softwrae":   "NOT (linx (linx) linx) software",
			"?title:(linx softwrae) softwrae":   "?title:(linx softwrae) software",
			"zzzqqqxxx":                         "",
			"x86_64":                            "",
			"京都":                                "",
			"":                                  "",
		} {
			got, err := x.Suggest(context.Background(), query, time.Minute)
			if err != nil || got.Query != want {
				t.Errorf("%q: %q, want %q: %v", query, got.Query, want, err)
			}
			if got.Query == "" {
				continue
			}
			found, err := x.Search(context.Background(), got.Query, SearchOptions{Deadline: time.Minute})
			if err != nil || found.Total != got.Total || found.Total == 0 {
				t.Errorf("%q finds %d, Suggest said %d: %v", got.Query, found.Total, got.Total, err)
			}
			// It is the same where somebody has searched before, and so both totals are known.
			x.state.totals = recent[total]{most: totalsBytes}
			before, err := x.Search(context.Background(), query, SearchOptions{Deadline: time.Minute})
			if known, ok := x.state.totals.get(query); err != nil || !ok || known.docs != before.Total {
				t.Errorf("%q finds %d, %v, %d are kept: %v", query, before.Total, ok, known.docs, err)
			}
			if again, err := x.Suggest(context.Background(), query, time.Minute); err != nil || again != got {
				t.Errorf("%q: %v after a search for it, %v before: %v", query, again, got, err)
			}
		}
		inMemory(t, x)
	}
	// A search says where a suggestion is worth its time.
	for query, want := range map[string]bool{
		"softwrae license": true, "software license": false, "+softwrae +license": true, `"the software"`: false,
	} {
		r, err := x.Search(context.Background(), query, SearchOptions{Deadline: time.Minute})
		if err != nil || r.Doubtful != want || r.Total == 0 {
			t.Errorf("%q: doubtful %v, %d found: %v", query, r.Doubtful, r.Total, err)
		}
	}
	// No time: no suggestion, and no error. That is not kept.
	x.state.better = recent[string]{most: betterBytes}
	if got, err := x.Suggest(context.Background(), "softwrae", 1); err != nil || got.Query != "" {
		t.Errorf("without time: %q: %v", got.Query, err)
	}
	for _, step := range []string{"looked for", "kept"} {
		got, err := x.Suggest(context.Background(), "softwrae", time.Minute)
		if err != nil || got.Query != "software" {
			t.Errorf("%s after there was no time: %q: %v", step, got.Query, err)
		}
		if best, ok := x.state.better.get("softwrae"); !ok || best != "software" {
			t.Errorf("%s: %q, %v is kept", step, best, ok)
		}
	}
}

// TestSuggestForms: another form of a word is no better word, because the search finds it anyway.
func TestSuggestForms(t *testing.T) {
	s := memoryStore(t)
	defer s.Close()
	x, err := Open(s, Options{FS: storage.NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var docs []Document
	for n := range 30 {
		docs = append(docs, numbered(t, n, "the crew installed nets"))
		docs[n].Language = "en"
	}
	addDocuments(t, s, x, docs)
	for query, want := range map[string]string{
		"installs": "", "installs nest": "installs nets", "instaled": "installed",
	} {
		got, err := x.Suggest(context.Background(), query, time.Minute)
		if err != nil || got.Query != want {
			t.Errorf("%q: %q, want %q: %v", query, got.Query, want, err)
		}
	}
}

func packageTexts(t testing.TB, most int) (texts []string) {
	paths, _ := filepath.Glob("/usr/share/doc/*/copyright")
	for _, p := range paths[:min(most, len(paths))] {
		if text, err := os.ReadFile(p); err == nil {
			texts = append(texts, string(text))
		}
	}
	if len(texts) < 100 {
		t.Fatalf("%d texts of Debian packages, want 100", len(texts))
	}
	return texts
}

// TestExpansion: a prefix and a fuzzy word stand for the words of most documents, whether the vocabulary is in memory,
// partly there, or in the store.
func TestExpansion(t *testing.T) {
	var texts []string
	for n := range 200 { // words of 1 to 200 documents; late ones in the alphabet are frequent
		var words []string
		for w := n; w < 200; w++ {
			words = append(words, fmt.Sprintf("net%c%c", 'a'+w/26, 'a'+w%26))
		}
		texts = append(texts, strings.Join(words, " ")+" rarest"[:min(7, 7*(n/199))])
	}
	x := indexWords(t, 80, texts...)
	f := func(q string, total int) {
		t.Helper()
		r, err := x.Search(context.Background(), q, SearchOptions{Deadline: time.Minute})
		if err != nil || r.Total != total {
			t.Errorf("%q finds %d, want %d: %v", q, r.Total, total, err)
		}
	}
	check := func() {
		t.Helper()
		f("net*", 200) // the frequent ones; the 64 first in the alphabet have 64 documents
		f("neta*", 26)
		f("rarst~1", 1)
		f("netab~1", 184) // nethb
		f("rare*", 1)
		f("rust*", 0)
	}
	check()
	inMemory(t, x)
	check()
	for _, seg := range x.state.segments {
		seg.lexicons.lexicon.thin(50)
	}
	check()
}

// TestLexiconShares: the words of all index segments need no more memory than they may, however many segments come
// after the first ones were read.
func TestLexiconShares(t *testing.T) {
	s := memoryStore(t)
	x, err := Open(s, Options{FS: storage.NewMemFS(), MemoryBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for part := range 7 {
		var docs []Document
		for n := range 8 {
			var b strings.Builder
			for i := range 6000 {
				if n <= i%8 {
					fmt.Fprintf(&b, "w%07d ", (6000*part+i)*7919%9_999_991)
				}
			}
			docs = append(docs, numbered(t, 8*part+n, b.String()))
		}
		slices.SortFunc(docs, func(a, b Document) int { return cmp.Compare(a.Key, b.Key) })
		addDocuments(t, s, x, docs)
		inMemory(t, x)
		most, size := x.o.MemoryBytes/lexiconShare, int64(-1)
		for until := time.Now().Add(time.Minute); size < 0 || size > most; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%d index segments: the words need %d bytes of %d", part+1, size, most)
			}
			size = 0
			for _, seg := range x.state.segments {
				if l := x.lexicon(x.state, seg); l != nil {
					size += int64(l.size())
				}
			}
		}
		if part == 0 && size == 0 || part > 3 && size < most/16 {
			t.Errorf("%d index segments: the words need %d bytes only of %d", part+1, size, most)
		}
	}
	if err := errors.Join(x.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestVocabularyEnds: words that are looked for behind the deadline are not looked up in every index segment: they have
// the frequency of one.
func TestVocabularyEnds(t *testing.T) {
	const segments = 40
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "w%d ", i)
	}
	x := indexWords(t, 1, slices.Repeat([]string{b.String()}, segments)...)
	st, err := x.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer x.release(st)
	for deadline, want := range map[time.Duration]uint64{time.Hour: segments, -1: 1} {
		v := &words{x: x, st: st, ctx: context.Background(), deadline: time.Now().Add(deadline), rare: true}
		found, err := v.expandPrefix("w", maxForms)
		if err != nil || len(found) == 0 || v.partial != (deadline < 0) {
			t.Fatal(len(found), v.partial, err)
		}
		for _, w := range found {
			if w.df != want {
				t.Fatalf("deadline in %s: %s is in %d documents, want %d", deadline, w.term, w.df, want)
			}
		}
	}
}
