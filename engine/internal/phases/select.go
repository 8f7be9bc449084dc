// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"container/heap"
	"context"
	"fmt"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Choice is one URL chosen to be fetched.
type Choice struct {
	Key   urlkey.Key
	Score float64
	Depth uint16 // links from a seed
	Known bool   // crawldb holds an outcome of an earlier fetch
	// Counted: it was requested before, so it takes nothing of a budget of pages.
	Counted bool
}

// better is the one order in which URLs of a host are fetched: higher score first, then fewer
// links from a seed, then key order, so that the choice never depends on chance.
func (c *Choice) better(d *Choice) bool {
	if c.Score != d.Score {
		return c.Score > d.Score
	}
	if c.Depth != d.Depth {
		return c.Depth < d.Depth
	}
	return c.Key < d.Key
}

// worstFirst is a heap whose top is the choice to give up next.
type worstFirst []Choice

func (h worstFirst) Len() int           { return len(h) }
func (h worstFirst) Less(i, j int) bool { return h[j].better(&h[i]) }
func (h worstFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *worstFirst) Push(x any)        { *h = append(*h, x.(Choice)) }
func (h *worstFirst) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// Best keeps the best choices that it is offered. One goroutine.
type Best struct {
	limit int
	heap  worstFirst
}

// NewBest returns a Best that keeps up to limit choices; 0 keeps none.
func NewBest(limit int) *Best { return &Best{limit: limit} }

// Len is the number of choices kept.
func (b *Best) Len() int { return len(b.heap) }

// Wants reports whether a choice would be kept, without making its key a string.
func (b *Best) Wants(key []byte, score float64, depth uint16) bool {
	if len(b.heap) < b.limit {
		return true
	}
	if b.limit <= 0 {
		return false
	}
	worst := &b.heap[0]
	if score != worst.Score {
		return score > worst.Score
	}
	if depth != worst.Depth {
		return depth < worst.Depth
	}
	return string(key) < string(worst.Key)
}

// Add keeps a choice, which Wants must have accepted, in place of the worst one if there are too many.
func (b *Best) Add(c Choice) {
	if len(b.heap) < b.limit {
		heap.Push(&b.heap, c)
		return
	}
	b.heap[0] = c
	heap.Fix(&b.heap, 0)
}

// Sorted empties b and returns its choices, best first.
func (b *Best) Sorted() []Choice {
	out := make([]Choice, len(b.heap))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = heap.Pop(&b.heap).(Choice)
	}
	return out
}

// Selection is what a look at one host's due URLs finds.
type Selection struct {
	Due     uint64 // URLs that are due and admitted, of those that were read
	More    bool   // there may be more: not all that is due was read
	NextDue int64  // the least fetch time of records that are not due yet, in ms, as far as was read; 0: none
	whole   bool   // all that is due was read, but for what is too deep
	deeper  bool   // URLs were passed that are too deep, without being counted
	worse   bool   // URLs were passed that are worse than dueReader.least, without being counted
	// Spent: due URLs that were never requested were passed, because no budget allows them. passed counts those that
	// were read; they are in Due.
	Spent  bool
	passed uint64
}

// DueHosts calls each with hosts that have a URL due at now (in ms) and of which some URL may be in scope, in key
// order, from a host on (that included; "" is the first), up to limit (0: all). An error of each ends it and
// is returned as it is.
func (p *Phases) DueHosts(
	ctx context.Context, rd storage.Reader, from urlkey.HostKey, now int64, limit int, each func(urlkey.HostKey) error,
) error {
	of := func(h urlkey.HostKey, _ *storage.HostCounts) error { return each(h) }
	return p.dueHosts(ctx, rd, from, now, limit, of, func(urlkey.HostKey) {})
}

// dueHosts is DueHosts, and tells the counts of each host too; they are valid until each returns. passed is called with
// hosts that have something due, none of which may be crawled.
func (p *Phases) dueHosts(
	ctx context.Context, rd storage.Reader, from urlkey.HostKey, now int64, limit int,
	each func(h urlkey.HostKey, counts *storage.HostCounts) error, passed func(urlkey.HostKey),
) error {
	sc := rd.Scan(storage.HostCountsRange(), []byte(from), nil)
	defer sc.Close()
	var counts storage.HostCounts
	found := 0
	for n := 0; (limit == 0 || found < limit) && sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := storage.DecodeHostCounts(sc.Value(), &counts); err != nil {
			return fmt.Errorf("looking for due hosts: hostdb counts of %s: %w", sc.Key(), err)
		}
		if counts.NextDue == 0 || counts.NextDue > now {
			continue
		}
		h := urlkey.HostKey(sc.Key())
		if !p.env.Admission.HasHost(h) {
			passed(h)
			continue
		}
		found++
		if err := each(h, &counts); err != nil {
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("looking for due hosts: %w", err)
	}
	return nil
}

// FetchlistHosts lists the hosts of a segment's fetchlist in key order, from a host on (that included; "" is the
// first), up to limit (0: all).
func FetchlistHosts(
	ctx context.Context, rd storage.Reader, segment uint32, from urlkey.HostKey, limit int,
) (hosts []urlkey.HostKey, err error) {
	sc := rd.Scan(storage.Fetchlist(segment), []byte(from), nil)
	defer sc.Close()
	for ok := sc.Next(); ok && (limit == 0 || len(hosts) < limit); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		host := urlkey.HostKey(urlkey.HostKeyOf(sc.Key()))
		hosts = append(hosts, host)
		ok = sc.SeekGE(PrefixEnd([]byte(host)))
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("listing the hosts of a fetchlist: %w", err)
	}
	return hosts, nil
}

// PrefixEnd returns the least key above all that begin with a prefix, which must not be empty. Keys are ASCII, so
// the last byte can always be raised.
func PrefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	end[len(end)-1]++
	return end
}

// SelectFetchlist offers to keep every URL of a host that is in a segment's fetchlist and not taken. taken is as in
// SelectHost. With pages, Choice.Counted is told, which takes a look into crawldb for each; again: only URLs are
// offered of which it is true.
func SelectFetchlist(
	rd storage.Reader, segment uint32, host urlkey.HostKey, pages, again bool, taken func(key []byte) bool, keep *Best,
) (sel Selection, err error) {
	sc := rd.Scan(storage.Fetchlist(segment), []byte(host), PrefixEnd([]byte(host)))
	defer sc.Close()
	var records *storage.Finder
	if pages || again {
		records = storage.NewFinder(rd, storage.Crawldb())
		defer records.Close()
	}
	for sc.Next() {
		if taken(sc.Key()) {
			continue
		}
		entry, err := storage.DecodeFetchlistEntry(sc.Value())
		if err != nil {
			return sel, fmt.Errorf("selecting URLs of %s: fetchlist entry %s: %w", host, sc.Key(), err)
		}
		c := Choice{Score: entry.Score, Depth: entry.Depth, Known: true}
		if records != nil {
			if c.Counted, err = requested(records, sc.Key()); err != nil {
				return sel, fmt.Errorf("selecting URLs of %s: %w", host, err)
			}
		}
		if again && !c.Counted {
			sel.passed++
			continue
		}
		sel.Due++ // of those that are wanted: see More
		if keep.Wants(sc.Key(), entry.Score, entry.Depth) {
			c.Key = urlkey.Key(sc.Key())
			keep.Add(c)
		}
	}
	sel.More, sel.Spent = sel.Due > uint64(keep.Len()), sel.passed > 0
	if err := sc.Err(); err != nil {
		return sel, fmt.Errorf("selecting URLs of %s: %w", host, err)
	}
	return sel, nil
}

// requested reports whether a URL was requested before, by its record.
func requested(records *storage.Finder, key []byte) (bool, error) {
	value, err := records.Find(key)
	if err != nil || value == nil {
		return false, err
	}
	var r storage.Record
	if err := storage.DecodeRecord(value, &r); err != nil {
		return false, fmt.Errorf("crawldb record %s: %w", key, err)
	}
	return !r.IsNew(), nil
}
