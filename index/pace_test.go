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

// TestPaceBalance: what was worked while nothing searched, up to a bound, may be waited for at once, then as much as
// was worked since. What one wait took too long the next ones do not take.
func TestPaceBalance(t *testing.T) {
	const credit = 200 * time.Millisecond
	_, x := newStore(t)
	c := &paceClock{}
	c.use(x)
	p := x.NewPace()
	p.Worked(time.Hour)
	if c.slept > 0 {
		t.Errorf("waited for %v although nothing searches", c.slept)
	}
	defer x.Answering()()
	p.Worked(time.Millisecond)
	if c.slept < credit-2*time.Millisecond || c.slept > credit+paceTimer {
		t.Errorf("waited for %v at first, of a credit of %v", c.slept, credit)
	}
	worked := credit + time.Millisecond
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

// TestPaceEnds: a wait ends with the search, whatever credit is left.
func TestPaceEnds(t *testing.T) {
	_, x := newStore(t)
	p := x.NewPace()
	over, slept := x.Answering(), 0
	x.SetClock(func() time.Time { return time.Unix(0, int64(slept)*int64(time.Millisecond)) }, func(time.Duration) {
		if slept++; slept == 5 {
			over()
		}
	})
	p.Worked(time.Hour)
	if slept != 5 {
		t.Errorf("slept %d times; the search ended in the fifth", slept)
	}
}

// TestYield: a merge that yields works for a quarter of the time, and makes what it makes anyway. It yields to nobody
// once there is nothing to yield to, nor while there are many index segments.
func TestYield(t *testing.T) {
	for _, c := range []struct {
		name           string
		yield          bool
		segments, left int
		waits          bool
	}{
		{"nothing is behind", false, 8, 1, false},
		{"others are behind", true, 8, 1, true},
		{"many index segments", true, 72, 65, false},
	} {
		s, x := newStore(t)
		for i := range c.segments * 250 {
			if i%250 == 0 {
				var docs []index.Document
				for n := range 250 {
					docs = append(docs, doc(i+n, "", "net of the crew"))
				}
				put(t, s, x, docs)
			}
		}
		clock := &paceClock{look: 500 * time.Microsecond}
		clock.use(x)
		x.Yield(true)
		x.Yield(c.yield)
		if r, err := x.MergeSmallest(context.Background(), c.left); err != nil || r.Merged < 8 {
			t.Fatalf("%s: %v %v", c.name, r, err)
		}
		worked := clock.now - clock.slept
		if !c.waits && clock.slept > 0 || c.waits && (clock.slept < worked || clock.slept > 5*worked) {
			t.Errorf("%s: a merge waited for %v after %v of work", c.name, clock.slept, worked)
		}
		r, err := x.Search(context.Background(), "crew", index.SearchOptions{Deadline: slow})
		if err != nil || r.Total != c.segments*250 {
			t.Errorf("%s: found %d of %d documents: %v", c.name, r.Total, c.segments*250, err)
		}
	}
}
