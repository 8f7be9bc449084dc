// SPDX-License-Identifier: Apache-2.0

package index

import (
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
