// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestSlots: however many fetchers there are, no more responses than there are slots are stored at the same time, those
// to requests for robots.txt included.
func TestSlots(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.env.Slots = 2
	urls := w.site(20, 10)
	var h *Hosts
	var now, most, gaveWay atomic.Int64
	w.env.GiveWay = func(worked time.Duration) {
		if worked > 0 && len(h.slots) < 2 { // it holds its slot
			gaveWay.Add(1)
		}
	}
	enter := func() {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
	}
	w.env.Page = func(*segment.Attempt, *segment.Scratch) {
		enter()
		now.Add(-1)
	}
	h = NewHosts(w.env)
	r := w.start(h, newList(w, urls...), 16, Limits{})
	if c := r.finished(); c.Fetched != 200 {
		t.Errorf("%+v", c)
	}
	if n := most.Load(); n > 2 || len(h.slots) != 2 {
		t.Errorf("%d pages at once, %d slots are left of 2", n, len(h.slots))
	}
	if n := gaveWay.Load(); n < 200 {
		t.Errorf("%d of 200 pages gave way", n)
	}
	held := []*segment.Scratch{h.slots.take(), h.slots.take()}
	answered := make(chan robotsAnswer)
	go func() {
		keep := func(urlkey.URL, *fetch.Response) error { return nil }
		answered <- h.answer(w.url("http://a.example/robots.txt"), robotsTxt("")(t.Context(), nil), keep)
	}()
	select {
	case <-answered:
		t.Error("a robots.txt is read without a slot")
	default:
	}
	h.slots.put(held[0])
	if a := <-answered; a.status != 200 {
		t.Errorf("%+v", a)
	}
}

// TestFactsBytes: what is in memory of hosts is bounded in bytes, and what left it is found again.
func TestFactsBytes(t *testing.T) {
	w := newWorld(t, admission.Options{})
	w.env.FactsBytes = 1 << 20
	h := NewHosts(w.env)
	const hosts = 60
	rules := "User-agent: *\nDisallow: /no\n" + strings.Repeat("# what nobody reads\n", 5_000)
	robots := func(i int) string { return fmt.Sprintf("http://h%d.example/robots.txt", i) }
	for i := range hosts {
		w.web.set(robots(i), robotsTxt(rules))
	}
	for range 2 {
		for i := range hosts {
			u := w.url(fmt.Sprintf("http://h%d.example/no", i))
			s, err := h.robots(t.Context(), u, noWays)
			if err != nil || s.rules.Allowed("/no") || !s.rules.Allowed("/yes") {
				t.Fatalf("%s: %+v, %v", u, s, err)
			}
			if held := h.bytes.Load(); held > h.most+2*int64(len(rules))+1<<10 {
				t.Fatalf("%d bytes in memory, %d are permitted", held, h.most)
			}
		}
	}
	sum := int64(0)
	for el := h.lru.Front(); el != nil; el = el.Next() {
		sum += el.Value.(*authority).weight
	}
	if sum != h.bytes.Load() || h.lru.Len() > 10 {
		t.Errorf("%d hosts with %d bytes in memory, %d are counted", h.lru.Len(), sum, h.bytes.Load())
	}
	for i := range hosts {
		if n := w.web.count(robots(i)); n != 1 {
			t.Errorf("%s was requested %d times", robots(i), n)
		}
	}
}
