// SPDX-License-Identifier: Apache-2.0

package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/index/analysis"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// randomWords have forms of each other, beginnings in common and near words.
var randomWords = strings.Fields(
	"net nets netting boat boats bolt mend mended mending crew crow tide salt fog rope gull")

// randomIndex is an index under random builders, deletes, merges and refreshes, and the documents that it must have.
type randomIndex struct {
	s           *storage.Store
	x           *Index
	live, shown map[urlkey.Key]Document // after the last commit; as of the last Refresh
}

// step changes the index, or what is seen of it.
func (r *randomIndex) step(t *rapid.T) {
	ctx := context.Background()
	var err error
	switch rapid.SampledFrom([]string{"build", "build", "build", "refresh", "merge", "drop", "one"}).Draw(t, "step") {
	case "build":
		r.build(t)
		return
	case "refresh":
		err = r.x.Refresh()
	case "merge":
		err = r.x.Refresh()
		if err == nil {
			_, err = r.x.Merge(ctx)
		}
	case "drop":
		err = r.x.Refresh()
		if err == nil {
			_, err = r.x.DropDeleted(ctx)
		}
	case "one":
		err = r.x.Refresh()
		if err == nil {
			_, err = r.x.MergeTo(ctx, 1)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	r.shown = maps.Clone(r.live)
}

// build commits an index segment of new documents, new versions and deletions. It refreshes nothing.
func (r *randomIndex) build(t *rapid.T) {
	changes := map[urlkey.Key]*Document{}
	for range rapid.SampledFrom([]int{1, 3, 10, 60}).Draw(t, "changes") {
		d := drawDocument(t)
		changes[d.Key] = &d
		if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
			changes[d.Key] = nil
		}
	}
	in := r.s.NewIngestion()
	defer in.Abort()
	b := r.x.NewBuilder(in)
	defer b.Abort()
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		var err error
		if d := changes[key]; d != nil {
			err = b.Add(d)
			r.live[key] = *d
		} else {
			err = b.Delete(key)
			delete(r.live, key)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.Finish()
	if err = errors.Join(err, in.Commit()); err != nil {
		t.Fatal(err)
	}
}

func drawDocument(t *rapid.T) Document {
	seed := rapid.Uint32().Draw(t, "document")
	pick := func(n uint32) uint32 { // by a small generator: drawing each word would take most of the time
		seed = seed*1664525 + 1013904223
		return (seed >> 16) % n
	}
	words := func(most uint32) string {
		var w []string
		for range pick(most + 1) {
			w = append(w, randomWords[min(pick(16), pick(16))])
		}
		return strings.Join(w, " ")
	}
	d := numbered(t, int(pick(120)*20), words(14))
	d.URL, d.Stamp = "http://"+randomWords[pick(3)], uint64(seed)
	if pick(2) == 0 {
		d.Title = words(3)
	}
	if pick(3) == 0 {
		d.Anchors = []string{words(3) + " rope"}
	}
	if pick(3) == 0 {
		d.Headings = []string{words(2) + " fog"}
	}
	if pick(5) == 0 {
		d.Boost = []float64{0.5, 2, 3.3}[pick(3)]
	}
	d.Language, d.Type = []string{"", "en"}[pick(2)], []string{"", "text/html", "application/pdf"}[pick(3)]
	d.Size, d.Group = int64(pick(3))*1024, uint64(pick(7))
	if pick(2) == 0 {
		d.Date = time.Date(2020+int(pick(4)), 3, 1, 0, 0, 0, 0, time.UTC)
	}
	if pick(4) > 0 {
		d.Fetched = time.Date(2023, 5, 1+int(pick(4)), 23, 59, 59, 999e6, time.UTC)
	}
	return d
}

// drawText draws a query of every operator.
func drawText(t *rapid.T, depth int) string {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	word := func() string { return rapid.SampledFrom(randomWords).Draw(t, "word") }
	boost := func() string { return pick("boost", "", "", "", "^2", "^0.3") }
	var b strings.Builder
	for i := range rapid.IntRange(1, 4).Draw(t, "parts") {
		if i > 0 {
			b.WriteString(pick("between", " ", " ", " ", " OR ", " AND ", " NOT "))
		}
		b.WriteString(pick("sign", "", "", "", "+", "-", "?"))
		field := pick("field", "", "", "", "title:", "body:", "anchor:", "url:", "headings:")
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			if depth < 3 {
				b.WriteString(field + "(" + drawText(t, depth+1) + ")" + boost())
			} else {
				b.WriteString(word())
			}
		case 1, 2:
			quote := word() + " " + word()
			if rapid.Bool().Draw(t, "three") {
				quote += " " + word()
			}
			b.WriteString(field + `"` + quote + `"` + pick("slop", "", "", "~1", "~3", "~8") + boost())
		case 3:
			b.WriteString(field + pick("prefix", "n", "net", "bo", "mend", "r", "x") + "*" + boost())
		case 4:
			b.WriteString(field + pick("fuzzy", "nett", "bout", "cruw", "tyde", "mended"))
			b.WriteString(pick("edits", "~1", "~2") + boost())
		case 5:
			b.WriteString(pick("filter", "site:h0.example", "host:h1.example", "site:example", "lang:en",
				"type:pdf", "type:html", "date:2021", "date:>2021", "date:2020..2022", "size:>1k", "size:1024",
				"fetched:2023-05-02", "fetched:>2023-05-03", "site:h0.example/0004"))
		case 6:
			b.WriteString(`"` + word() + " " + pick("prefix", "n", "bo", "m") + `*"`)
		default:
			b.WriteString(field + word() + boost())
		}
	}
	return b.String()
}

// naiveOf makes the naive searcher of documents, and their words in order.
func naiveOf(docs map[urlkey.Key]Document) (*naive, []string) {
	w := &world{}
	var texts []memoryDoc
	var names []string
	seen := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(docs)) {
		d := docs[key]
		m := memoryDoc{boost: d.boost(), doc: &d}
		for f, text := range [fieldCount]string{
			fieldBody: d.Text, fieldTitle: d.Title, fieldAnchor: strings.Join(d.Anchors, " "),
			fieldURL: urlWords(d.URL), fieldHeadings: strings.Join(d.Headings, " "),
		} {
			m.fields[f] = strings.Fields(text)
			w.all.totals[f] += uint64(normLength[normOf(len(m.fields[f]))])
			for _, word := range m.fields[f] {
				seen[word] = true
			}
		}
		texts, names = append(texts, m), append(names, string(key))
		w.all.docs++
	}
	w.table = w.all.weights()
	w.parts = []*memoryPart{newMemoryPart(0, texts, names, blockDocs, true, w.table)}
	return &naive{w, map[string]uint64{}}, slices.Sorted(maps.Keys(seen))
}

// naiveValue reports whether a document has a value that a filter asks for.
func naiveValue(n *node, d *Document) bool {
	is := func(value string) bool {
		return value != "" && slices.ContainsFunc(n.texts, func(want string) bool {
			return value == want || strings.HasSuffix(want, "/") && strings.HasPrefix(value, want)
		})
	}
	switch n.value {
	case valueLanguage:
		return is(d.Language)
	case valueType:
		return is(d.Type)
	case valueDate:
		return !d.Date.IsZero() && n.lo <= d.Date.Unix() && d.Date.Unix() <= n.hi
	case valueFetched:
		return !d.Fetched.IsZero() && n.lo <= d.Fetched.Unix() && d.Fetched.Unix() <= n.hi
	}
	return d.Size > 0 && n.lo <= d.Size && d.Size <= n.hi
}

// naiveExpand puts all words that match in place of those of a query, by looking at each.
func naiveExpand(n *node, words []string) *node {
	if n == nil {
		return nil
	}
	out := *n
	for _, list := range []*[]*node{&out.must, &out.should, &out.not, &out.children} {
		*list = slices.Clone(*list)
		for i, c := range *list {
			(*list)[i] = naiveExpand(c, words)
		}
	}
	form := func(term string, weight float64) {
		out.kind = nodeAny
		out.children = append(out.children, &node{kind: nodeTerm, term: term, fields: n.fields, weight: weight})
	}
	switch n.kind {
	case nodeTerm:
		var stemmer analysis.Stemmer
		stem := stemmer.Stem(nil, analysis.English, []byte(n.term))
		form(n.term, 1)
		for _, w := range words {
			same := string(stem) == w || bytes.Equal(stemmer.Stem(nil, analysis.English, []byte(w)), stem)
			if w != n.term && same && analysis.Related(analysis.English, n.term, w) {
				form(w, otherForm)
			}
		}
		if len(out.children) == 1 {
			return n
		}
	case nodePrefix:
		out.kind = nodeAny
		for _, w := range words {
			if strings.HasPrefix(w, n.term) {
				form(w, 1)
			}
		}
	case nodeFuzzy:
		out.kind = nodeAny
		for d := range n.edits + 1 {
			for _, w := range words {
				if w[0] == n.term[0] && osa([]rune(n.term), []rune(w)) == d {
					form(w, []float64{1, otherForm, otherForm}[d])
				}
			}
		}
	}
	return &out
}

// check compares a search with the naive one: documents, order and scores of the first phase, and the total and what
// was relaxed of the whole search.
func (r *randomIndex) check(t *rapid.T, text string, s *naive, words []string) {
	root := naiveExpand(ParseQuery(text).root, words)
	var best []candidate
	total, relaxed := 0, false
	if root != nil {
		best, total = s.search(root, math.MaxInt)
	}
	if again := naiveExpand(relaxQuery(nil, text).root, words); total == 0 && again != nil {
		if best, total = s.search(again, math.MaxInt); total > 0 {
			root, relaxed = again, true
		}
	}
	o := SearchOptions{
		Limit: rapid.SampledFrom([]int{1, 3, 10, 1000}).Draw(t, "limit"), Deadline: time.Hour,
		Offset: rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "offset"),
	}
	if rapid.IntRange(0, 3).Draw(t, "enough") == 0 {
		o.TotalAtLeast = rapid.IntRange(1, 30).Draw(t, "at least")
	}
	got, err := r.x.Search(context.Background(), text, o)
	if err != nil || got.Partial {
		t.Fatalf("%q: %v, partial %v", text, err, got.Partial)
	}
	low := total
	if o.TotalAtLeast > 0 {
		low = min(total, o.TotalAtLeast)
	}
	if got.Total > total || got.Total < low || got.Total < total && !got.AtLeast || got.Relaxed != relaxed {
		t.Fatalf("%q (%s) finds %d, relaxed %v, want %d, %v", text, got.Query, got.Total, got.Relaxed, total, relaxed)
	}
	if want := min(max(total-o.Offset, 0), o.Limit); len(got.Hits) != want {
		t.Fatalf("%q (%s): %d hits, want %d", text, got.Query, len(got.Hits), want)
	}
	r.checkFirstPhase(t, got.Query, o.Limit+o.Offset, best)
}

// checkFirstPhase compares the ranking of a query before its best documents are looked at again.
func (r *randomIndex) checkFirstPhase(t *rapid.T, q Query, k int, want []candidate) {
	st, err := r.x.acquire()
	if err != nil {
		t.Fatal(err)
	}
	defer r.x.release(st)
	work := newBudget(context.Background(), time.Now().Add(time.Hour))
	root, err := (&expander{st: st, work: work}).expand(q.root)
	if err != nil || root == nil {
		if err != nil || len(want) > 0 {
			t.Fatalf("%s: %v", q, err)
		}
		return
	}
	x := st.execution(work, SearchOptions{Limit: k})
	x.onePhase = true
	x.few = rapid.SampledFrom([]uint64{0, fewCandidates}).Draw(t, "few")
	got := x.run(root)
	if work.err != nil || work.over {
		t.Fatal(work.err, work.over)
	}
	if x.total != uint64(len(want)) {
		t.Fatalf("%s: %d matches, want %d", q, x.total, len(want))
	}
	if want = want[:min(k, len(want))]; len(got) != len(want) {
		t.Fatalf("%s: %d candidates, want %d", q, len(got), len(want))
	}
	for i := range got {
		key, err := got[i].part.key(got[i].doc)
		if err != nil || key != want[i].key || got[i].score != want[i].score {
			t.Fatalf("%s: %s: place %d is %s with %v, want %s with %v: %v",
				q, root, i, key, got[i].score, want[i].key, want[i].score, err)
		}
	}
}

// rebuilt builds an index of one segment of documents.
func rebuilt(t *rapid.T, docs map[urlkey.Key]Document) *randomIndex {
	r := newRandomIndex(t)
	list := make([]Document, 0, len(docs))
	for _, key := range slices.Sorted(maps.Keys(docs)) {
		list = append(list, docs[key])
	}
	addDocuments(t, r.s, r.x, list)
	return r
}

func newRandomIndex(t *rapid.T) *randomIndex {
	s := memoryStore(t)
	x, err := Open(s, Options{FS: storage.NewMemFS(), MemoryBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return &randomIndex{s: s, x: x, live: map[urlkey.Key]Document{}, shown: map[urlkey.Key]Document{}}
}

func (r *randomIndex) close(t *rapid.T) {
	if err := errors.Join(r.x.Close(), r.s.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestRandomIndex: under random builders, new versions, deletes, merges and refreshes, at any moment, random queries of
// every operator find what the naive searcher finds in the documents as of the last refresh: documents, order, scores,
// totals and what is relaxed. In the end hits, scores included, are those of an index built at once.
func TestRandomIndex(t *testing.T) {
	queries := 0
	rapid.Check(t, func(t *rapid.T) {
		r := newRandomIndex(t)
		defer r.close(t)
		for range rapid.IntRange(1, 16).Draw(t, "steps") {
			r.step(t)
			s, words := naiveOf(r.shown)
			for range 4 {
				queries++
				r.check(t, drawText(t, 0), s, words)
			}
		}
		if err := r.x.Refresh(); err != nil {
			t.Fatal(err)
		}
		once := rebuilt(t, r.live)
		defer once.close(t)
		for range 8 {
			queries++
			text := drawText(t, 0)
			o := SearchOptions{Limit: 200, Deadline: time.Hour}
			a, err1 := r.x.Search(context.Background(), text, o)
			b, err2 := once.x.Search(context.Background(), text, o)
			if err := errors.Join(err1, err2); err != nil || fmt.Sprint(a.Hits) != fmt.Sprint(b.Hits) {
				t.Fatalf("%q finds %v, in an index built at once %v: %v", text, a.Hits, b.Hits, err)
			}
		}
	})
	t.Logf("%d queries", queries)
}
