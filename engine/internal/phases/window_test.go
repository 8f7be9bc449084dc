// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// offered is a source: what it took from windows and did not give back.
type offered struct {
	w     *world
	taken map[urlkey.Key]bool
}

func (o *offered) isTaken(key []byte) bool { return o.taken[urlkey.Key(key)] }

// wanted is what may be offered of a host, best first: a scan of crawldb.
func (o *offered) wanted(host urlkey.HostKey) (list []Choice) {
	for k, r := range o.w.records() {
		if k.HostKey() == host && r.FetchTime <= o.w.now && !o.taken[k] && o.w.p.admits(k, int(r.Depth)) {
			known, counted := r.Segment != 0, r.LastFetch != 0
			list = append(list, Choice{Key: k, Score: r.Score, Depth: r.Depth, Known: known, Counted: counted})
		}
	}
	slices.SortFunc(list, func(a, b Choice) int {
		if a.better(&b) {
			return -1
		}
		return 1
	})
	return list
}

// take takes a window as a source does, and checks it against what is wanted.
func (o *offered) take(t tester, host urlkey.HostKey, limit, room int) (more bool) {
	return o.takeOf(t, host, limit, room, false)
}

// takeOf is take; again: only what was requested before.
func (o *offered) takeOf(t tester, host urlkey.HostKey, limit, room int, again bool) (more bool) {
	t.Helper()
	want, fresh := o.wanted(host), o.w.p.places.get(host) == reach{}
	if again {
		want = slices.DeleteFunc(want, func(c Choice) bool { return !c.Counted })
	}
	list, sel, err := o.w.p.window(o.w.store, host, o.w.now, limit, room, again, o.isTaken, o.w.p.Mark())
	if err != nil || len(list) > limit {
		t.Fatalf("%d of %d, %v", len(list), limit, err)
	}
	if len(list) < min(limit, len(want)) {
		t.Fatalf("%d of %s, want %d of %d", len(list), host, limit, len(want))
	}
	if fresh && len(want) <= room && !slices.Equal(list, want[:len(list)]) {
		t.Fatalf("%+v, want %+v", list, want)
	}
	if more = len(want) > len(list); more && !sel.More {
		t.Fatalf("%+v, %d are left", sel, len(want)-len(list))
	}
	for _, c := range list {
		if !slices.Contains(want, c) {
			t.Fatalf("%+v is not due, refused or taken", c)
		}
		o.taken[c.Key] = true
	}
	return more
}

// TestWindow: whatever phases, filters and the source do between windows, these offer nothing twice, nothing that is
// not due, and in the end everything. What is in the first part of a host comes in the order of Choice.better.
func TestWindow(t *testing.T) {
	checkFew(t, func(t *rapid.T) {
		filter := &liveDeny{}
		w := newWorld(t, admission.Options{
			Scope: policy.ScopeAny, Live: []policy.LiveFilter{filter},
			MaxDepth: rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "max depth"),
		})
		defer w.close()
		h := newHistory(w)
		w.inject(h.urls[:30]...)
		o := &offered{w, map[urlkey.Key]bool{}}
		hosts := []urlkey.HostKey{w.key(hostA).HostKey(), w.key(hostB).HostKey()}
		host := rapid.SampledFrom(hosts)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{
				"window", "window", "window", "phase", "phase", "filter", "give back", "later", "old snapshot",
			}).Draw(t, "step") {
			case "window":
				room := rapid.SampledFrom([]int{1, 3, 100}).Draw(t, "room")
				again := rapid.IntRange(0, 3).Draw(t, "again") == 0
				o.takeOf(t, host.Draw(t, "host"), rapid.IntRange(1, 10).Draw(t, "limit"), room, again)
			case "phase":
				h.change(t)
				if rapid.Bool().Draw(t, "forget") {
					clear(o.taken)
					w.p.Reoffer("")
					w.p.Reoffer(hosts[0])
					w.p.Reoffer(hosts[1])
				}
			case "filter":
				filter.set(rapid.Uint64().Draw(t, "version"), hosts[:rapid.IntRange(0, 1).Draw(t, "denied")]...)
				w.adm.Refresh()
			case "give back":
				keys := slices.Sorted(maps.Keys(o.taken))
				if len(keys) > 0 {
					key := rapid.SampledFrom(keys).Draw(t, "given back")
					delete(o.taken, key)
					w.p.Reoffer(key.HostKey())
				}
			case "later":
				w.now += rapid.SampledFrom([]int64{20, 86_400_000, 30 * 86_400_000}).Draw(t, "later")
			case "old snapshot": // a refill that began before a phase ended
				mark, snap := w.p.Mark(), w.store.Snapshot()
				h.change(t)
				list, _, err := w.p.window(snap, host.Draw(t, "host"), w.now, 3, 2, false, o.isTaken, mark)
				snap.Close()
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range list {
					o.taken[c.Key] = true
				}
			}
		}
		for _, host := range hosts {
			for range 100 {
				if !o.take(t, host, 7, 2) {
					break
				}
			}
			if left := o.wanted(host); len(left) > 0 {
				t.Fatalf("never offered: %+v", left)
			}
		}
	})
}

// TestWindowForgets: after a segment's URLs are forgotten, those that are due again at once are offered, and so is one
// that was deleted and found again while it was handed out.
func TestWindowForgets(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	var urls []string
	for i := range 20 {
		urls = append(urls, fmt.Sprintf("%sp%02d", hostA, i))
	}
	w.inject(urls...)
	host := w.key(hostA).HostKey()
	o := &offered{w, map[urlkey.Key]bool{}}
	o.take(t, host, 10, 1)
	w.remove(urls[3])
	w.inject(urls[3])
	o.take(t, host, 5, 1)
	w.update(page{url: urls[0], at: 1})
	if _, err := w.p.Recrawl(context.Background(), w.targets(urls[0])); err != nil {
		t.Fatal(err)
	}
	o.take(t, host, 2, 1)
	for _, u := range []string{urls[0], urls[3]} {
		delete(o.taken, w.key(u))
	}
	w.p.Reoffer("")
	for o.take(t, host, 1, 1) {
	}
	if !o.taken[w.key(urls[0])] || !o.taken[w.key(urls[3])] || len(o.taken) != len(urls) {
		t.Errorf("%d of %d: %v", len(o.taken), len(urls), o.taken)
	}
}

// TestWindowReadsOnce: a host of which everything was handed out, or is refused, is not read again from its beginning,
// and one window reads no more than a bound.
func TestWindowReadsOnce(t *testing.T) {
	const n = 3 * keysReadMax
	filter := &liveDeny{denied: map[urlkey.HostKey]bool{"test,a,)": true}}
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny, Live: []policy.LiveFilter{filter}})
	defer w.close()
	w.fill(n, func(i int) ([]byte, storage.Record) {
		return []byte(manyKey(i)), storage.Record{Status: storage.StatusUnfetched, FetchTime: w.now, Score: 1}
	})
	filter.set(1)
	w.adm.Refresh()
	looked := 0
	look := func(all bool) func(key []byte) bool {
		return func([]byte) bool { looked++; return all }
	}
	const limit, room = 16, 32
	for round := range 4 { // the first keysReadMax are taken, three times
		looked = 0
		list, sel, err := w.p.window(w.store, "test,a,)", w.now, limit, room, false, look(true), w.p.Mark())
		if err != nil || len(list) > 0 || looked > keysReadMax+4*limit+limit+room || sel.More != (round < 2) {
			t.Fatalf("round %d: %d looked at, %d, %+v, %v", round, looked, len(list), sel, err)
		}
		if round == 2 {
			break
		}
	}
	w.p.Anew()
	for range 2 {
		looked = 0
		list, sel, err := w.p.window(w.store, "test,a,)", w.now, limit, room, false, look(false), w.p.Mark())
		if err != nil || len(list) != limit || looked > limit+room || !sel.More {
			t.Fatalf("%d looked at, %d, %+v, %v", looked, len(list), sel, err)
		}
	}
}

// TestSelectMany: of a host with more due URLs than are read, the best score classes are chosen, and the report says
// that there are more.
func TestSelectMany(t *testing.T) {
	const n = 3 * selectRoom
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	score := func(i int) float64 { return float64(1 + i*7919%n) }
	w.fill(n, func(i int) ([]byte, storage.Record) {
		return []byte(manyKey(i)), storage.Record{Status: storage.StatusUnfetched, FetchTime: w.now, Score: score(i)}
	})
	g, err := w.p.Generate(context.Background(), GenerateOptions{MaxPerHost: 10, IgnoreMarked: true})
	if err != nil || g.Selected != 10 || g.Due < 10 || g.Due >= n || !g.More {
		t.Errorf("%+v %v", g, err)
	}
	best := NewBest(n / 2)
	sel, err := w.p.SelectHost(w.store, "test,a,)", w.now, func([]byte) bool { return false }, best)
	if err != nil || best.Len() != n/2 {
		t.Fatalf("%+v %v", sel, err)
	}
	worst := uint8(0)
	chosen := map[urlkey.Key]bool{}
	for _, c := range best.Sorted() {
		worst = max(worst, storage.ScoreClass(c.Score))
		chosen[c.Key] = true
	}
	for i := range n {
		if key := urlkey.Key(manyKey(i)); !chosen[key] && storage.ScoreClass(score(i)) < worst {
			t.Errorf("%s of score %g was left out", key, score(i))
		}
	}
	g, err = w.p.Generate(context.Background(), GenerateOptions{IgnoreMarked: true})
	if err != nil || g.Selected != n || g.Due != n || g.More {
		t.Errorf("%+v %v", g, err)
	}
}
