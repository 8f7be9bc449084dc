// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"container/heap"
	"fmt"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// choice is one URL chosen to be fetched.
type choice struct {
	key   urlkey.Key
	score float64
	depth uint16
	tag   uint16
}

// better is the one order in which URLs of a host are fetched: higher score first, then fewer
// links from a seed, then key order, so that the choice never depends on chance.
func (c choice) better(d choice) bool {
	if c.score != d.score {
		return c.score > d.score
	}
	if c.depth != d.depth {
		return c.depth < d.depth
	}
	return c.key < d.key
}

// worstFirst is a heap whose top is the choice to give up next.
type worstFirst []choice

func (h worstFirst) Len() int           { return len(h) }
func (h worstFirst) Less(i, j int) bool { return h[j].better(h[i]) }
func (h worstFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *worstFirst) Push(x any)        { *h = append(*h, x.(choice)) }
func (h *worstFirst) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// bestOf keeps the best limit choices it is offered.
type bestOf struct {
	limit int
	heap  worstFirst
	more  bool // something was left out
}

// wants reports whether a choice would be kept, without making its key a string.
func (b *bestOf) wants(key []byte, score float64, depth uint16) bool {
	if len(b.heap) < b.limit {
		return true
	}
	b.more = true
	if b.limit == 0 {
		return false
	}
	worst := b.heap[0]
	if score != worst.score {
		return score > worst.score
	}
	if depth != worst.depth {
		return depth < worst.depth
	}
	return string(key) < string(worst.key)
}

func (b *bestOf) add(c choice) {
	if len(b.heap) < b.limit {
		heap.Push(&b.heap, c)
		return
	}
	b.heap[0] = c
	heap.Fix(&b.heap, 0)
}

// sorted empties the heap, best first.
func (b *bestOf) sorted() []choice {
	out := make([]choice, len(b.heap))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = heap.Pop(&b.heap).(choice)
	}
	return out
}

// selection is what a pass over one host's range of crawldb finds.
type selection struct {
	due     uint64 // records that are due and wanted
	nextDue int64  // the earliest fetch time among wanted records that are not due yet; 0: none
}

// selectHost offers to keep every record of a host that is due at now, belongs to the crawl and is
// not taken. Generate and the frontier's refill both choose URLs here and nowhere else.
func (e *Engine) selectHost(rd storage.Reader, host urlkey.HostKey, now int64, taken func(key []byte) bool, keep *bestOf) (selection, error) {
	var sel selection
	sc := rd.Scan(storage.Crawldb(), []byte(host), prefixEnd([]byte(host)))
	defer sc.Close()
	var r storage.Record
	for sc.Next() {
		if err := storage.DecodeRecord(sc.Value(), &r); err != nil {
			return sel, fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
		}
		if e.o.MaxDepth > 0 && int(r.Depth) > e.o.MaxDepth {
			continue
		}
		if !e.o.Schedule.Due(&r, now) {
			if sel.nextDue == 0 || r.FetchTime < sel.nextDue {
				sel.nextDue = r.FetchTime
			}
			continue
		}
		if taken(sc.Key()) || !e.wanted(sc.Key()) {
			continue
		}
		sel.due++
		if keep.wants(sc.Key(), r.Score, r.Depth) {
			c := choice{key: urlkey.Key(sc.Key()), score: r.Score, depth: r.Depth}
			if r.Segment != 0 {
				c.tag = tagKnown
			}
			keep.add(c)
		}
	}
	return sel, sc.Err()
}

// wanted asks the filters again, since they may be narrower than when the record was made.
func (e *Engine) wanted(key []byte) bool {
	u, err := urlkey.Key(key).URL()
	return err == nil && e.accept(u) == ""
}

// prefixEnd returns the least key above all that begin with prefix. Keys are ASCII, so the last
// byte can always be raised.
func prefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	end[len(end)-1]++
	return end
}
