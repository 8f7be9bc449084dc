// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// memoryDoc is a document of a test: words by field, the index being the position.
type memoryDoc struct {
	fields [fieldCount][]string
	dead   bool
	boost  float64
	doc    *Document // with the values that filters ask for; may be nil
}

// memoryList is a list in memory, in blocks of any size.
type memoryList struct {
	blocks []memoryBlock
	last   []uint32
	codes  []uint16
	read   *atomic.Int64 // blocks decoded
}

type memoryBlock struct {
	docs  []uint32
	freqs blockFreqs
	pos   [][fieldCount][]uint32
}

func (l *memoryList) df() (n uint64) {
	for _, b := range l.blocks {
		n += uint64(len(b.docs))
	}
	return n
}
func (l *memoryList) lastDocs() []uint32 { return l.last }
func (l *memoryList) impacts() []uint16  { return l.codes }

func (l *memoryList) docs(block int, dst *[blockDocs]uint32) (int, error) {
	l.read.Add(1)
	return copy(dst[:], l.blocks[block].docs), nil
}

func (l *memoryList) freqs(block int, dst *blockFreqs) error {
	l.read.Add(1)
	*dst = l.blocks[block].freqs
	return nil
}

func (l *memoryList) positions(block, i, field int, _ *blockFreqs, dst []uint32) ([]uint32, error) {
	return append(dst, l.blocks[block].pos[i][field]...), nil
}

// memoryPart is an index segment in memory.
type memoryPart struct {
	part
	texts []memoryDoc
	names []string     // keys
	read  atomic.Int64 // blocks decoded
}

// newMemoryPart indexes documents; blocks have up to blockLen documents. Impacts are exact, or absent.
func newMemoryPart(
	number int, texts []memoryDoc, names []string, blockLen int, bounds bool, ref *impactTable,
) *memoryPart {
	p := &memoryPart{texts: texts, names: names}
	p.part = part{number: number, docs: uint32(len(texts)), norms: &[fieldCount][]byte{}, most: 1, ratio: 1}
	lists := map[string]*memoryList{}
	for doc, d := range texts {
		if d.dead {
			if p.dead == nil {
				p.dead, p.freqs = make([]uint64, (len(texts)+63)/64), newFreqCache()
			}
			p.dead[doc>>6] |= 1 << (doc & 63)
		}
		if d.boost != 0 {
			if p.boosts == nil {
				p.boosts = make(boosts, (len(texts)+normDocs-1)/normDocs)
			}
			block := &p.boosts[doc/normDocs]
			if *block == nil {
				*block = &boostBlock{codes: make([]uint16, normDocs)}
			}
			(*block).factors = append((*block).factors, d.boost)
			(*block).codes[doc%normDocs] = uint16(len((*block).factors))
			p.most = max(p.most, d.boost)
		}
		for f, words := range d.fields {
			p.norms[f] = append(p.norms[f], normOf(len(words)))
			for at, w := range words {
				if lists[w] == nil {
					lists[w] = &memoryList{read: &p.read}
				}
				lists[w].add(uint32(doc), f, uint32(at), blockLen)
			}
		}
	}
	for _, l := range lists {
		l.close(p, bounds, ref)
	}
	p.open = func(term string) (list, error) {
		if l := lists[term]; l != nil {
			return l, nil
		}
		return nil, nil
	}
	p.key = func(doc uint32) (urlkey.Key, error) { return urlkey.Key(names[doc]), nil }
	p.keys = func(from, to string) (uint32, uint32, error) {
		a, _ := slices.BinarySearch(names, from)
		b, _ := slices.BinarySearch(names, to)
		return uint32(a), uint32(b), nil
	}
	return p
}

func (l *memoryList) add(doc uint32, field int, at uint32, blockLen int) {
	if n := len(l.blocks); n == 0 || len(l.blocks[n-1].docs) == blockLen && l.blocks[n-1].docs[blockLen-1] != doc {
		l.blocks = append(l.blocks, memoryBlock{})
	}
	b := &l.blocks[len(l.blocks)-1]
	if n := len(b.docs); n == 0 || b.docs[n-1] != doc {
		b.docs = append(b.docs, doc)
		b.pos = append(b.pos, [fieldCount][]uint32{})
	}
	i := len(b.docs) - 1
	b.freqs.mask[i] |= 1 << field
	b.freqs.all |= 1 << field
	b.freqs.n[field][i]++
	b.pos[i][field] = append(b.pos[i][field], at)
}

func (l *memoryList) close(p *memoryPart, bounds bool, ref *impactTable) {
	for _, b := range l.blocks {
		l.last = append(l.last, b.docs[len(b.docs)-1])
		most := 0.0
		for i, doc := range b.docs {
			tf := 0.0
			for f := range fieldCount {
				tf += float64(b.freqs.n[f][i]) * ref[f][p.norms[f][doc]]
			}
			most = max(most, tf)
		}
		if bounds {
			code := uint16(1)
			for impactBound(code) < most {
				code++
			}
			l.codes = append(l.codes, code)
		}
	}
}

// world is an index in memory.
type world struct {
	parts []*memoryPart
	all   collection
	table *impactTable
}

// newWorld makes up to 4 parts of documents of a few words: frequent ones, rare ones, and runs of one word.
func newWorld(seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &world{}
	words := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	pick := func() string { return words[min(int(rng.ExpFloat64()*1.7), len(words)-1)] }
	boosts, deletes := rng.IntN(4) == 0, []int{0, 0, 5, 40}[rng.IntN(4)]
	var parts [][]memoryDoc
	for range 1 + rng.IntN(4) {
		var docs []memoryDoc
		for range 1 + rng.IntN([]int{5, 60, 600}[rng.IntN(3)]) {
			d := memoryDoc{dead: rng.IntN(100) < deletes}
			if boosts && rng.IntN(5) == 0 {
				d.boost = []float64{0.5, 2, 3.3, math.MaxFloat64}[min(rng.IntN(40), 3)]
			}
			for range rng.IntN(12) {
				d.fields[fieldBody] = append(d.fields[fieldBody], pick())
			}
			if rng.IntN(3) == 0 {
				d.fields[rng.IntN(fieldCount)] = []string{pick(), pick()}
			}
			if rng.IntN(9) == 0 {
				d.fields[fieldBody] = slices.Repeat(d.fields[fieldBody], 1+rng.IntN(6))
			}
			docs = append(docs, d)
			if !d.dead {
				w.all.docs++
				for f := range d.fields {
					w.all.totals[f] += uint64(len(d.fields[f]))
				}
			}
		}
		parts = append(parts, docs)
	}
	w.table = w.all.weights()
	names := 0
	for i, docs := range parts {
		var keys []string
		for range docs {
			keys = append(keys, fmt.Sprintf("%06d.%d", rng.IntN(1000), names))
			names++
		}
		slices.Sort(keys)
		bounds := rng.IntN(5) > 0
		w.parts = append(w.parts, newMemoryPart(i, docs, keys, 1+rng.IntN(20), bounds, w.table))
	}
	return w
}

func (w *world) execution(k int) *execution {
	x := &execution{
		all: w.all, table: w.table, wanted: k, onePhase: true, enough: math.MaxUint64,
		work: newBudget(context.Background(), time.Now().Add(time.Hour)),
	}
	for _, p := range w.parts {
		x.parts = append(x.parts, &p.part)
	}
	return x
}

// drawTree draws a query.
func drawTree(t *rapid.T, depth int) *node {
	word := func(label string) *node {
		return &node{kind: nodeTerm, term: string(rapid.SampledFrom([]byte("abcdefghx")).Draw(t, label))}
	}
	fields := func() fieldMask { return rapid.SampledFrom([]fieldMask{0, 0, 0, 1, 2, 3, 8}).Draw(t, "fields") }
	boost := func() float64 { return rapid.SampledFrom([]float64{0, 0, 1, 2.5, 0.125}).Draw(t, "boost") }
	forms := func() *node {
		n := &node{kind: nodeAny, boost: boost(), fields: fields()}
		for i := range rapid.IntRange(1, 4).Draw(t, "forms") {
			f := &node{kind: nodeTerm, term: string("abcdefghx"[(int(word("form").term[0])+i)%9])}
			if slices.ContainsFunc(n.children, func(c *node) bool { return c.term == f.term }) {
				continue
			}
			if i > 0 {
				f.weight = 0.7
			}
			n.children = append(n.children, f)
		}
		return n
	}
	list := func(label string, least, most int) (nodes []*node) {
		for range rapid.IntRange(least, most).Draw(t, label) {
			nodes = append(nodes, drawTree(t, depth-1))
		}
		return nodes
	}
	kinds := []nodeKind{
		nodeTerm, nodeTerm, nodeAny, nodePhrase, nodeKeys, nodeBool, nodeBool, nodeBool, nodeBool, nodeNone,
	}
	if depth == 0 {
		kinds = kinds[:5]
	}
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case nodeTerm:
		n := word("term")
		n.fields, n.boost = fields(), boost()
		return n
	case nodeAny:
		return forms()
	case nodePhrase:
		n := &node{kind: nodePhrase, fields: fields(), boost: boost()}
		at := 0
		n.slop = rapid.SampledFrom([]int{0, 0, 1, 2, 5}).Draw(t, "slop")
		for range rapid.IntRange(1, 4).Draw(t, "words") {
			if c := forms(); n.slop == 0 && rapid.Bool().Draw(t, "any") {
				c.fields = 0
				n.children = append(n.children, c)
			} else {
				n.children = append(n.children, word("word"))
			}
			n.at = append(n.at, at)
			at += rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "gap")
		}
		return n
	case nodeKeys:
		from := rapid.IntRange(0, 999).Draw(t, "from")
		to := from + rapid.IntRange(0, 999).Draw(t, "span")
		return &node{kind: nodeKeys, from: fmt.Sprintf("%06d", from), to: fmt.Sprintf("%06d", to)}
	case nodeBool:
		switch rapid.IntRange(0, 3).Draw(t, "shape") {
		case 0:
			return &node{kind: kind, should: list("should", 1, 5), not: list("not", 0, 1), boost: boost()}
		case 1:
			return &node{kind: kind, must: list("must", 1, 3), should: list("should", 0, 2), not: list("not", 0, 1)}
		case 2:
			keys := &node{kind: nodeKeys, from: "000100", to: "000800"}
			words := &node{kind: nodeBool, should: list("should", 1, 4), boost: boost()}
			return &node{kind: kind, must: []*node{keys, words}, not: list("not", 0, 1), boost: boost()}
		}
		return &node{kind: kind, must: list("must", 0, 2), should: list("should", 0, 2), not: list("not", 0, 2)}
	default:
		return &node{kind: kind}
	}
}

// naive is the naive searcher: it looks at every word of every document.
type naive struct {
	*world
	df map[string]uint64
}

func (s *naive) frequency(term string) uint64 {
	if n, ok := s.df[term]; ok {
		return n
	}
	n := uint64(0)
	for _, p := range s.parts {
		for _, d := range p.texts {
			if !d.dead && slices.ContainsFunc(d.fields[:], func(f []string) bool { return slices.Contains(f, term) }) {
				n++
			}
		}
	}
	s.df[term] = n
	return n
}

// weight returns the weighted frequency of a term, and whether the document has it in the fields.
func (s *naive) weight(p *memoryPart, doc int, term string, fields fieldMask) (tf float64, has bool) {
	for f, words := range p.texts[doc].fields {
		n := 0
		for _, w := range words {
			if w == term && fields.allows(1<<f) {
				n++
			}
		}
		if n > 0 {
			tf, has = tf+float64(float64(n)*s.table[f][p.norms[f][doc]]), true
		}
	}
	return tf, has
}

// word evaluates a term or its forms.
func (s *naive) word(p *memoryPart, doc int, n *node, boost float64) (sum points, has bool) {
	forms, fields, df, tf := []*node{n}, n.fields, uint64(0), 0.0
	if n.kind == nodeAny {
		forms = n.children
	}
	for _, c := range forms {
		v, ok := s.weight(p, doc, c.term, fields)
		tf += float64(cmp.Or(c.weight, 1) * v)
		has, df = has || ok, df+s.frequency(c.term)
	}
	return newGain(&s.all, df, boost*n.factor()).points(tf), has
}

// phrase tries every way to place the words.
func (s *naive) phrase(p *memoryPart, doc int, n *node) bool {
	fits := func(field, i, at int) bool {
		words := p.texts[doc].fields[field]
		if at < 0 || at >= len(words) {
			return false
		}
		c := n.children[i]
		if c.kind == nodeAny {
			return slices.ContainsFunc(c.children, func(f *node) bool { return f.term == words[at] })
		}
		return c.term == words[at]
	}
	for f, words := range p.texts[doc].fields {
		if !n.fields.allows(1 << f) {
			continue
		}
		var place func(i, low int, taken []int) bool
		place = func(i, low int, taken []int) bool {
			if i == len(n.children) {
				return true
			}
			for off := range n.slop + 1 {
				at := low + n.at[i] + off
				if fits(f, i, at) && !slices.Contains(taken, at) && place(i+1, low, append(taken, at)) {
					return true
				}
			}
			return false
		}
		for low := -n.at[len(n.at)-1] - n.slop; low < len(words); low++ {
			if place(0, low, nil) {
				return true
			}
		}
	}
	return false
}

func (s *naive) eval(p *memoryPart, doc int, n *node, boost float64) (sum points, ok bool) {
	all := func(nodes []*node, boost float64) (sum points, n int) {
		for _, c := range nodes {
			if v, ok := s.eval(p, doc, c, boost); ok {
				sum += v
				n++
			}
		}
		return sum, n
	}
	switch n.kind {
	case nodeTerm, nodeAny:
		return s.word(p, doc, n, boost)
	case nodePhrase:
		for _, c := range n.children {
			word := *c
			word.fields = cmp.Or(c.fields, n.fields)
			v, _ := s.word(p, doc, &word, boost*n.factor())
			sum += v
		}
		return sum, s.phrase(p, doc, n)
	case nodeKeys:
		return 0, n.from <= p.names[doc] && p.names[doc] < n.to
	case nodeValue:
		return 0, naiveValue(n, p.texts[doc].doc)
	case nodeBool:
		boost *= n.factor()
		if _, excluded := all(n.not, 1); excluded > 0 {
			return 0, false
		}
		must, found := all(n.must, boost)
		should, some := all(n.should, boost)
		if len(n.must) == 0 {
			return should, some > 0 || len(n.should) == 0 && len(n.not) > 0
		}
		return must + should, found == len(n.must)
	}
	return 0, false
}

// search returns the best k and the number of matches.
func (s *naive) search(root *node, k int) (best []candidate, total int) {
	for _, p := range s.parts {
		for doc, d := range p.texts {
			if sum, ok := s.eval(p, doc, root, 1); ok && !d.dead {
				score := float64(sum) / pointScale
				score = min(score*cmp.Or(d.boost, 1), math.MaxFloat64)
				key := urlkey.Key(p.names[doc])
				best = append(best, candidate{score: score, part: &p.part, doc: uint32(doc), key: key})
			}
		}
	}
	slices.SortFunc(best, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.key, b.key))
	})
	return best[:min(k, len(best))], len(best)
}

// TestExecution: random queries over random documents find what the naive searcher finds: documents, order, scores and
// total, with pruning and without it, with words that are held and without them, with deleted and boosted documents, in
// any number of segments.
func TestExecution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.Uint64Range(0, 5000).Draw(t, "world"))
		w.hold(rapid.SampledFrom([]int64{0, 5000, 1 << 20}).Draw(t, "hold"))
		for range 12 {
			root := drawTree(t, 3)
			k := rapid.SampledFrom([]int{0, 1, 3, 10, 2000}).Draw(t, "k")
			few := rapid.SampledFrom([]uint64{0, 40, fewCandidates}).Draw(t, "few")
			s := naive{w, map[string]uint64{}}
			want, total := s.search(root, k)
			for _, exhaustive := range []bool{false, true} {
				x := w.execution(k)
				x.exhaustive, x.few = exhaustive, few
				got := x.run(root)
				if x.work.over || x.work.err != nil {
					t.Fatalf("over: %v, error: %v", x.work.over, x.work.err)
				}
				sameCandidates(t, got, want)
				if x.total != uint64(total) {
					t.Fatalf("exhaustive %v: total %d, want %d", exhaustive, x.total, total)
				}
			}
			x := w.execution(k)
			x.countOnly = true
			if got := x.run(root); len(got) > 0 || x.total != uint64(total) {
				t.Fatalf("%d candidates, want 0, total %d counted only, want %d", len(got), x.total, total)
			}
			x = w.execution(k)
			x.few = few
			x.enough = uint64(rapid.IntRange(1, 50).Draw(t, "enough"))
			sameCandidates(t, x.run(root), want)
			if x.total > uint64(total) || x.total < min(uint64(total), x.enough) {
				t.Fatalf("total %d of %d with %d enough", x.total, total, x.enough)
			}
		}
	})
}

// TestExecutionEnds: whatever the query, a search that sees its deadline passed decodes next to nothing more, and a
// clock is looked at every few blocks.
func TestExecutionEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.Uint64Range(0, 5000).Draw(t, "world"))
		root := drawTree(t, 3)
		looks, allowed := 0, rapid.IntRange(0, 20).Draw(t, "looks")
		x := w.execution(10)
		start := x.work.deadline.Add(-time.Minute)
		x.work.now = func() time.Time {
			if looks++; looks > allowed {
				return x.work.deadline.Add(1)
			}
			return start
		}
		x.run(root)
		read := 0
		for _, p := range w.parts {
			read += int(p.read.Load())
		}
		if most := (allowed + 1) * (clockUnits + 1); read > most || looks > allowed+1 {
			t.Fatalf("%d blocks read with %d looks at the clock, %d allowed", read, looks, allowed)
		}
		if !x.work.over && looks > allowed {
			t.Fatal("the deadline was seen and ignored")
		}
	})
}

// TestExecutionCanceled: a canceled context ends a search before it reads much.
func TestExecutionCanceled(t *testing.T) {
	w := newWorld(7)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	x := w.execution(10)
	x.work.ctx = ctx
	x.run(&node{kind: nodeBool, should: []*node{{kind: nodeTerm, term: "a"}, {kind: nodeTerm, term: "b"}}})
	for _, p := range w.parts {
		if p.read.Load() > clockUnits {
			t.Errorf("%d blocks read", p.read.Load())
		}
	}
}

// TestSecondPhase: of documents with the same words as often, the one where they are close comes first; one with all
// words comes before one that repeats some; and neither depends on pruning.
func TestSecondPhase(t *testing.T) {
	text := func(words string) memoryDoc {
		return memoryDoc{fields: [fieldCount][]string{fieldBody: strings.Fields(words)}}
	}
	w := &world{}
	docs := []memoryDoc{
		text("x a x x x x x x b x"), text("x x x x a b x x x x"), text("x a x x x x x x a x"),
		text("x b x x x x x x b x"),
	}
	keys := []string{"0", "1", "2", "3"}
	for range 20 {
		docs, keys = append(docs, text("x y z")), append(keys, fmt.Sprint("4", len(keys)))
	}
	for _, d := range docs {
		w.all.docs++
		w.all.totals[fieldBody] += uint64(len(d.fields[fieldBody]))
	}
	slices.Sort(keys)
	w.table = w.all.weights()
	w.parts = []*memoryPart{newMemoryPart(0, docs, keys, 2, true, w.table)}
	root := &node{kind: nodeBool, should: []*node{{kind: nodeTerm, term: "a"}, {kind: nodeTerm, term: "b"}}}
	var first []candidate
	for _, exhaustive := range []bool{false, true} {
		x := w.execution(3)
		x.onePhase, x.exhaustive = false, exhaustive
		best := x.run(root)
		if len(best) != 3 || best[0].doc != 1 || best[1].doc != 0 || best[0].score <= best[1].score {
			t.Fatalf("exhaustive %v: %v", exhaustive, best)
		}
		if first = append(first, best...); !slices.Equal(first[:3], best) {
			t.Errorf("pruned %v, not pruned %v", first[:3], best)
		}
	}
}

// TestPagesFit: the pages of a search, of whatever size, are the parts of one order, whether words are held or not.
func TestPagesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapid.Uint64Range(0, 5000).Draw(t, "world"))
		w.hold(rapid.SampledFrom([]int64{0, 1 << 20}).Draw(t, "bytes held")) // from the second search on
		root := drawTree(t, 2)
		all := w.execution(2000)
		all.onePhase = false
		want := all.run(root)
		x := w.execution(rapid.IntRange(1, 300).Draw(t, "k"))
		x.onePhase = false
		sameCandidates(t, x.run(root), want[:min(x.wanted, len(want))])
		for i := 1; i < len(want); i++ {
			if want[i].score > want[i-1].score {
				t.Fatalf("place %d has %v after %v", i, want[i].score, want[i-1].score)
			}
		}
	})
}
