// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// GenerateOptions bound a fetchlist. Zero means no bound.
type GenerateOptions struct {
	Top          int  // URLs in all; 0 means defaultTop, a million
	MaxPerHost   int  // URLs of one host, or of one domain with PerDomain
	PerDomain    bool // count MaxPerHost by registered domain
	AddDays      int  // choose what will be due that many days from now
	IgnoreMarked bool // also take URLs that wait in an earlier fetchlist
}

// Generated says what a fetchlist holds.
type Generated struct {
	Segment  uint32
	Selected uint64
	Hosts    uint64
	Due      uint64 // due and admitted, before Top and MaxPerHost, of what was read
	More     bool   // more are due: of hosts with more than could be chosen only the best are read
	Marked   uint64 // due, and left out because they wait in the fetchlist of an unfinished segment
}

// Generate chooses the due URLs with the best scores and writes them as the fetchlist of a new
// open segment. hostdb says which hosts have something due; all others are skipped, so the cost is that of
// the hosts with work, not of the whole crawldb. URLs that wait in the fetchlist of an unfinished
// segment are left out for a week (Nutch: crawl.gen.delay). If nothing is due the error is ErrNothingDue.
func (p *Phases) Generate(ctx context.Context, o GenerateOptions) (Generated, error) {
	if o.Top <= 0 {
		o.Top = defaultTop
	}
	g := generation{p: p, o: o, now: p.now() + int64(o.AddDays)*86_400_000}
	err := g.choose(ctx)
	if err == nil && g.best.Len() == 0 {
		err = ErrNothingDue
	}
	if err == nil {
		err = g.write()
	}
	if err != nil {
		return g.result, fmt.Errorf("generating: %w", err)
	}
	return g.result, nil
}

// generation is one run of Generate.
type generation struct {
	p      *Phases
	o      GenerateOptions
	now    int64 // ms
	result Generated
	best   *Best
	due    *dueReader
	group  []urlkey.HostKey // a host, or those of a domain so far

	domain string // the registered domain looked at last, and how many URLs its budget still allows
	left   int64
}

// choose fills best.
func (g *generation) choose(ctx context.Context) error {
	snap := g.p.env.Store.Snapshot()
	defer snap.Close()
	marked, err := g.p.marked(snap, g.o)
	if err != nil {
		return err
	}
	defer marked.close()
	g.best = NewBest(g.o.Top)
	g.due = g.p.newDueReader(snap)
	defer g.due.close()
	err = g.p.DueHosts(ctx, snap, "", g.now, 0, func(h urlkey.HostKey) error {
		if len(g.group) > 0 && !(g.o.PerDomain && g.group[0].DomainKey() == h.DomainKey()) {
			if err := g.chooseGroup(marked); err != nil {
				return err
			}
		}
		g.group = append(g.group, h)
		return ctx.Err()
	})
	if err == nil {
		err = g.chooseGroup(marked)
	}
	return errors.Join(err, marked.err())
}

// chooseGroup offers the best URLs of the group and empties it.
func (g *generation) chooseGroup(marked *markedSet) error {
	perGroup := NewBest(g.o.Top)
	if g.o.MaxPerHost > 0 {
		perGroup = NewBest(min(g.o.MaxPerHost, g.o.Top))
	}
	for _, h := range g.group {
		left, waiting, err := g.allowed(h, marked)
		if err != nil {
			return err
		}
		if left == 0 {
			g.result.Marked += uint64(waiting)
			continue
		}
		best := perGroup
		if left < int64(perGroup.limit) {
			best = NewBest(int(left))
		}
		sel, err := g.due.selectHost(h, g.now, func(key []byte) bool {
			has := marked.has(key)
			if has {
				g.result.Marked++
			}
			return has
		}, best)
		if err != nil {
			return err
		}
		g.result.Due += sel.Due
		g.result.More = g.result.More || sel.More
		if g.left != math.MaxInt64 {
			g.left -= int64(min(sel.Due, uint64(best.Len())))
		}
		if best == perGroup {
			continue
		}
		for _, c := range best.heap {
			if perGroup.Wants([]byte(c.Key), c.Score, c.Depth) {
				perGroup.Add(c)
			}
		}
	}
	for _, c := range perGroup.heap {
		if g.best.Wants([]byte(c.Key), c.Score, c.Depth) {
			g.best.Add(c)
		}
	}
	g.group = g.group[:0]
	return nil
}

// allowed returns how many URLs the budgets of a host and of its domain still allow. What fetch would not request is
// not chosen: the fetchlists would never come to an end. The URLs in unfinished fetchlists count, since they may be
// fetched before crawldb knows of it; waiting is how many of the host these are, if they leave nothing.
func (g *generation) allowed(h urlkey.HostKey, marked *markedSet) (left, waiting int64, err error) {
	if domain := h.DomainKey(); domain != g.domain {
		b, err := g.p.env.Admission.DomainBudgetNow(domain)
		if err != nil {
			return 0, 0, err
		}
		g.domain, g.left = domain, b.Left()
		if g.left > 0 && g.left != math.MaxInt64 {
			g.left -= marked.count([]byte(domain), PrefixEnd([]byte(domain)))
		}
	}
	b, err := g.p.env.Admission.HostBudget(h)
	if err != nil {
		return 0, 0, err
	}
	from, to := storage.HostBounds(h)
	ofHost := b.Left()
	if ofHost > 0 && ofHost != math.MaxInt64 {
		ofHost -= marked.count(from, to)
	}
	if left = max(min(g.left, ofHost), 0); left == 0 {
		waiting = marked.count(from, to)
	}
	return left, waiting, nil
}

// markedSet is the set of keys that wait in unfinished fetchlists, looked up in key order.
type markedSet struct{ lists []*storage.Scanner }

// marked opens the fetchlists of segments that were generated and are not updated yet.
func (p *Phases) marked(rd storage.Reader, o GenerateOptions) (*markedSet, error) {
	m := &markedSet{}
	if o.IgnoreMarked {
		return m, nil
	}
	list, err := p.env.Store.SegmentList()
	if err != nil {
		return nil, fmt.Errorf("listing segments: %w", err)
	}
	for _, s := range list {
		live := s.State == storage.SegmentOpen || s.State == storage.SegmentSealed
		if s.Batch && live && p.env.Now().Sub(s.Created) <= generateDelay {
			m.lists = append(m.lists, rd.Scan(storage.Fetchlist(s.Number), nil, nil))
		}
	}
	return m, nil
}

func (m *markedSet) has(key []byte) bool {
	for _, l := range m.lists {
		if l.SeekGE(key) && string(l.Key()) == string(key) {
			return true
		}
	}
	return false
}

// count returns the number of its keys from one up to another.
func (m *markedSet) count(from, to []byte) (n int64) {
	for i, l := range m.lists {
		earlier := markedSet{m.lists[:i]} // with GenerateOptions.IgnoreMarked, fetchlists have URLs in common
		for ok := l.SeekGE(from); ok && string(l.Key()) < string(to); ok = l.Next() {
			if !earlier.has(l.Key()) {
				n++
			}
		}
	}
	return n
}

// err returns what kept a fetchlist from being read.
func (m *markedSet) err() error {
	var errs []error
	for _, l := range m.lists {
		errs = append(errs, l.Err())
	}
	return errors.Join(errs...)
}

func (m *markedSet) close() {
	for _, l := range m.lists {
		l.Close()
	}
}

// write makes the segment and its fetchlist in one ingestion.
func (g *generation) write() error {
	number, err := g.p.env.Store.NextSegmentNumber()
	if err != nil {
		return fmt.Errorf("numbering the segment: %w", err)
	}
	chosen := g.best.heap
	slices.SortFunc(chosen, func(a, b Choice) int { return strings.Compare(string(a.Key), string(b.Key)) })
	ing := g.p.env.Store.NewIngestion()
	defer ing.Abort()
	w := ing.Table(storage.Fetchlist(number))
	var value []byte
	var host urlkey.HostKey
	for i := range chosen {
		c := &chosen[i]
		if h := c.Key.HostKey(); h != host {
			host = h
			g.result.Hosts++
		}
		value = storage.AppendFetchlistEntry(value[:0], storage.FetchlistEntry{Score: c.Score, Depth: c.Depth})
		if err := w.Set([]byte(c.Key), value); err != nil {
			return err
		}
	}
	g.result.Segment, g.result.Selected = number, uint64(len(chosen))
	seg := storage.Segment{Number: number, State: storage.SegmentOpen, Batch: true, Created: g.p.env.Now()}
	seg.Counts.Generated = g.result.Selected
	if err := ing.PutSegment(seg); err != nil {
		return err
	}
	return ing.Commit()
}
