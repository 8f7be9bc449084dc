// SPDX-License-Identifier: Apache-2.0

package index_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/seine-crawler/seine/index"
)

// paceClock moves by look whenever it is looked at, which stands for work, and by each sleep, which takes longer than
// it was to.
type paceClock struct{ look, now, slept, longest time.Duration }

// paceTimer is what a sleep takes beyond its time.
const paceTimer = 960 * time.Microsecond

func (c *paceClock) use(x *index.Index) {
	x.SetClock(func() time.Time {
		c.now += c.look
		return time.Unix(0, int64(c.now))
	}, func(d time.Duration) {
		c.now += d + paceTimer
		c.slept += d + paceTimer
		c.longest = max(c.longest, d)
	})
}

// TestGiveWay: Builders and merges wait for a search that runs, and go on at half of their speed at least although the
// search does not end. They wait for no search that ended.
func TestGiveWay(t *testing.T) {
	s, x := newStore(t)
	var docs []index.Document
	for i := range 4000 {
		docs = append(docs, doc(i, "", "net of the crew"))
	}
	put(t, s, x, docs[:1])
	c := &paceClock{look: 40 * time.Microsecond}
	c.use(x)
	for part := range slices.Chunk(docs[:2000], 250) {
		put(t, s, x, part)
	}
	if c.now == 0 || c.slept > 0 {
		t.Fatalf("without a search, Builders waited for %v of %v", c.slept, c.now)
	}
	g := newGate(t)
	searched := begin(func() error {
		_, err := x.Search(gatedContext{context.Background(), g}, "net", index.SearchOptions{})
		return err
	})
	await(t, "the search", g.arrived)
	check := func(what string, look time.Duration, work func()) {
		t.Helper()
		*c = paceClock{look: look}
		work()
		worked := c.now - c.slept
		if c.slept > worked+paceTimer || c.slept < worked/8 || c.longest > 500*time.Microsecond {
			t.Errorf("%s waited for %v after %v of work, %v at once", what, c.slept, worked, c.longest)
		}
	}
	check("a Builder", 40*time.Microsecond, func() { put(t, s, x, docs[2000:]) })
	check("a merge", 500*time.Microsecond, func() {
		if r, err := x.Merge(context.Background()); err != nil || r.Merged < 8 {
			t.Fatal(r, err)
		}
	})
	g.open()
	if err := await(t, "the search", searched); err != nil {
		t.Fatal(err)
	}
}

// TestPaceBalance: a wait is 2 ms at most, and what one took too long the next ones do not take.
func TestPaceBalance(t *testing.T) {
	_, x := newStore(t)
	c := &paceClock{}
	c.use(x)
	p := x.NewPace()
	p.Worked(time.Hour) // while nothing searches
	defer x.Searching()()
	if p.Worked(time.Millisecond); c.slept > 0 {
		t.Errorf("waited for %v after a millisecond of work", c.slept)
	}
	worked := time.Millisecond
	for range 1000 {
		before := c.slept
		p.Worked(time.Millisecond)
		worked += time.Millisecond
		if took := c.slept - before; took > 2*time.Millisecond+paceTimer {
			t.Fatalf("waited for %v at once", took)
		}
		if c.slept > worked+paceTimer {
			t.Fatalf("waited for %v after %v of work", c.slept, worked)
		}
	}
	if c.slept < worked*9/10 {
		t.Errorf("waited for %v after %v of work", c.slept, worked)
	}
}
