// SPDX-License-Identifier: Apache-2.0

package index

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// TestBudgetOfContext: a search ends at its context's deadline by the clock, before the context's timer has run.
func TestBudgetOfContext(t *testing.T) {
	at := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(context.Background(), at)
	defer cancel()
	b := newBudget(ctx, at.Add(time.Hour))
	b.now = func() time.Time { return at.Add(-1) }
	if !b.spend(clockUnits+1) || b.ended() != nil {
		t.Error("it ended before the deadline")
	}
	b.now = func() time.Time { return at.Add(1) }
	if b.spend(clockUnits + 1); !b.over || !errors.Is(b.ended(), context.DeadlineExceeded) {
		t.Errorf("over %v, %v after the deadline", b.over, b.ended())
	}
	own := newBudget(ctx, at.Add(-time.Minute))
	if own.now = func() time.Time { return at.Add(-time.Second) }; own.spend(clockUnits+1) || own.ended() != nil {
		t.Error("the search's own deadline, which is sooner, did not end it alone")
	}
}

// TestCountOverdue: in how many documents a word occurs is kept for later searches only if the time sufficed to count
// it.
func TestCountOverdue(t *testing.T) {
	w, n := newSparseWorld(1, 3000), &node{kind: nodeTerm, term: "d"}
	known := newFreqCache()
	count := func(late bool) uint64 {
		x := w.execution(10)
		x.known, x.freqs = known, map[string]uint64{}
		x.lists = []map[string]list{{}}
		x.list(x.parts[0], n.term)
		if late {
			x.work.deadline, x.work.left = time.Time{}, 0
		}
		if x.count(n); x.work.over != late {
			t.Errorf("over: %t, want %t", x.work.over, late)
		}
		return x.freqs[n.term]
	}
	before := count(true)
	want := uint64(0)
	for _, p := range w.parts {
		for _, d := range p.texts {
			if !d.dead && slices.Contains(d.fields[fieldBody], n.term) {
				want++
			}
		}
	}
	if got := count(false); got != want || before >= want {
		t.Errorf("%d documents, want %d; %d of them in no time", got, want, before)
	}
}

// TestEndsAtDeadline: when the time of a search of many words is over, it looks at the clock few times more, wherever
// it was: while it makes words that later searches are to have, opens lists or ranks.
func TestEndsAtDeadline(t *testing.T) {
	const lookedAtMost = 4
	w := newSparseWorld(1, 5000)
	root := &node{kind: nodeBool}
	for i := range 40 {
		n := &node{kind: nodeAny, children: []*node{{kind: nodeTerm, term: string("abcdz"[i%5])}}}
		for j := range 4 {
			n.children = append(n.children, &node{
				kind: nodeTerm, term: string("abcdz"[(i+j+1)%5]), weight: 1 / float64(i+2),
			})
		}
		root.should = append(root.should, n)
	}
	for _, hold := range []int64{0, 1 << 30} {
		ended := 0
		for deadline := time.Duration(1); ; deadline += 1 + deadline/4 {
			w.hold(hold)
			var x *execution
			var looks time.Duration
			for range 3 { // the second use makes words, the third has them
				x, looks = w.execution(10), 0
				start := x.work.deadline
				x.work.now = func() time.Time {
					looks++
					return start.Add(looks)
				}
				x.work.deadline = start.Add(deadline)
				x.run(root)
				if looks > deadline+lookedAtMost {
					t.Fatalf("with %d bytes of words the clock was read %d times behind the deadline of %d", hold,
						looks-deadline, deadline)
				}
			}
			if !x.work.over {
				break
			}
			ended++
		}
		if ended < 10 {
			t.Errorf("with %d bytes of words only %d deadlines ended a search", hold, ended)
		}
	}
}

// TestOpeningIsPaidFor: lists that are known already are opened for the search's time, too, and not any more when it is
// over.
func TestOpeningIsPaidFor(t *testing.T) {
	w := newSparseWorld(1, 1000)
	x := w.execution(10)
	x.lists, x.freqs = []map[string]list{{}}, map[string]uint64{}
	looks := 0
	x.work.now = func() time.Time {
		looks++
		return time.Time{}
	}
	n := &node{kind: nodeTerm, term: "d"}
	for range 10 * clockUnits {
		if x.open(x.parts[0], n, 1) == nil {
			t.Fatal("the word is not found")
		}
	}
	if looks < 5 {
		t.Errorf("the clock was read %d times", looks)
	}
	if x.work.over = true; x.open(x.parts[0], n, 1) != nil {
		t.Error("a list was opened when the time was over")
	}
}

// TestRelaxedEnds: a search that the deadline ends while it looks for what it did not find as requested says so.
func TestRelaxedEnds(t *testing.T) {
	s, x := memoryIndex(t)
	var docs []Document
	for i := range 3*normDocs + 1 { // so that the one that matches is behind what can be read in no time
		d := numbered(t, i, "net")
		if d.Type = "text/plain"; i == 3*normDocs {
			d.Type = "text/html"
		}
		docs = append(docs, d)
	}
	slices.SortFunc(docs, func(a, b Document) int { return cmp.Compare(a.Key, b.Key) })
	addDocuments(t, s, x, docs)
	x.Hold(0) // what searches hold takes no time to read
	for _, text := range []string{"+absent net type:html", `"absent net" type:html`} {
		find := func(deadline time.Duration) Result {
			t.Helper()
			r, err := x.Search(context.Background(), text, SearchOptions{Deadline: deadline})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := find(time.Minute); r.Total != 1 || !r.Relaxed || r.Partial {
			t.Errorf("%s: %d found, relaxed %v, partial %v", text, r.Total, r.Relaxed, r.Partial)
		}
		if r := find(1); r.Total != 0 || !r.Partial || !r.AtLeast {
			t.Errorf("%s, in no time: %d found, partial %v, at least %v", text, r.Total, r.Partial, r.AtLeast)
		}
	}
}

// TestSparseFilter: a walk through documents that do not fit a filter reads each block of its column once, though the
// one that fits is blocks away.
func TestSparseFilter(t *testing.T) {
	const docs = 3*normDocs + 1
	reads := 0
	p := &part{docs: docs, column: func(_ byte, block uint32, into *columnBlock) error {
		reads++
		into.texts = []string{"", "text/html"}
		into.numbers = make([]uint64, min(normDocs, docs-block*normDocs))
		if block == 3 {
			into.numbers[0] = 1
		}
		return nil
	}}
	n := &node{kind: nodeValue, value: valueType, texts: []string{"text/html"}}
	it := newValueIter(n, p, newBudget(context.Background(), time.Now().Add(time.Hour)))
	for doc := range uint32(docs) {
		if got := it.seek(doc); got != docs-1 {
			t.Fatalf("from %d on, %d fits", doc, got)
		}
	}
	if got := it.seek(docs); got != end || reads > 4 {
		t.Errorf("after the last one, %d fits; %d blocks were read", got, reads)
	}
	if got := it.seek(0); got != docs-1 {
		t.Errorf("from the begin on, %d fits", got)
	}
}
