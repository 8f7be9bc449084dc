// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// ErrNothingDue is returned by Generate when no URL is due; the command exits with status 3.
var ErrNothingDue = errors.New("nothing is due")

// GenerateOptions bound a fetchlist. Zero means no bound.
type GenerateOptions struct {
	Top          int  // URLs in all
	MaxPerHost   int  // URLs of one host, or of one domain with PerDomain
	PerDomain    bool // count MaxPerHost by registered domain
	AddDays      int  // pretend that it is so many days later
	IgnoreMarked bool // also take URLs that wait in an earlier fetchlist
}

// defaultTop bounds a fetchlist when the caller does not: its choices are held in memory.
const defaultTop = 1_000_000

// Generate chooses the due URLs with the best scores and writes them as the fetchlist of a new
// open segment. Hosts with nothing due are skipped by a look at hostdb, so the cost is that of
// the hosts with work, not of the whole crawldb. URLs that wait in the fetchlist of an unfinished
// segment are left out for a week (Nutch: crawl.gen.delay).
func (e *Engine) Generate(ctx context.Context, o GenerateOptions) (GenerateReport, error) {
	start := time.Now()
	e.crawldbMu.Lock()
	defer e.crawldbMu.Unlock()
	report, err := e.generate(ctx, o)
	if err != nil {
		return report, fmt.Errorf("generating: %w", err)
	}
	report.Seconds = since(start)
	e.done(report)
	return report, nil
}

func (e *Engine) generate(ctx context.Context, o GenerateOptions) (GenerateReport, error) {
	var report GenerateReport
	now := e.nowMS() + int64(o.AddDays)*86_400_000
	if o.Top <= 0 {
		o.Top = defaultTop
	}
	snap := e.store.Snapshot()
	defer snap.Close()
	marked, err := e.marked(snap, o)
	if err != nil {
		return report, err
	}
	defer marked.close()
	best := bestOf{limit: o.Top}
	err = e.dueHosts(ctx, snap, now, func(group []urlkey.HostKey) error {
		perGroup := bestOf{limit: o.Top}
		if o.MaxPerHost > 0 {
			perGroup.limit = min(o.MaxPerHost, o.Top)
		}
		for _, h := range group {
			sel, err := e.selectHost(snap, h, now, marked.has, &perGroup)
			if err != nil {
				return err
			}
			report.Due += sel.due
		}
		for _, c := range perGroup.heap {
			if best.wants([]byte(c.key), c.score, c.depth) {
				best.add(c)
			}
		}
		return nil
	}, o.PerDomain)
	if err != nil {
		return report, err
	}
	if best.heap.Len() == 0 {
		return report, ErrNothingDue
	}
	return report, e.writeFetchlist(&best, &report)
}

// dueHosts calls fn for each host (or for each group of hosts of one domain) that may have
// something due.
func (e *Engine) dueHosts(ctx context.Context, rd storage.Reader, now int64, fn func(group []urlkey.HostKey) error, byDomain bool) error {
	sc := rd.Scan(storage.HostCountsRange(), nil, nil)
	defer sc.Close()
	var group []urlkey.HostKey
	var counts storage.HostCounts
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		defer func() { group = group[:0] }()
		return fn(group)
	}
	for sc.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := storage.DecodeHostCounts(sc.Value(), &counts); err != nil {
			return fmt.Errorf("hostdb counts of %s: %w", sc.Key(), err)
		}
		h := urlkey.HostKey(sc.Key())
		if counts.NextDue == 0 || counts.NextDue > now || !e.scope.Has(h) {
			continue
		}
		if len(group) > 0 && !(byDomain && group[0].DomainKey() == h.DomainKey()) {
			if err := flush(); err != nil {
				return err
			}
		}
		group = append(group, h)
	}
	if err := sc.Err(); err != nil {
		return err
	}
	return flush()
}

// markedSet is the set of keys that wait in unfinished fetchlists, looked up in key order.
type markedSet struct{ lists []*storage.Scanner }

// marked opens the fetchlists of segments that were generated and not yet updated.
func (e *Engine) marked(rd storage.Reader, o GenerateOptions) (*markedSet, error) {
	list, err := e.store.SegmentList()
	if err != nil {
		return nil, err
	}
	m := &markedSet{}
	for _, s := range list {
		live := s.State == storage.SegmentOpen || s.State == storage.SegmentSealed
		if o.IgnoreMarked || !s.Batch || !live || e.o.Now().Sub(s.Created) > generateDelay {
			continue
		}
		m.lists = append(m.lists, rd.Scan(storage.Fetchlist(s.Number), nil, nil))
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

func (m *markedSet) close() {
	for _, l := range m.lists {
		l.Close()
	}
}

// writeFetchlist makes the segment and its fetchlist in one ingestion.
func (e *Engine) writeFetchlist(best *bestOf, report *GenerateReport) error {
	number, err := e.store.NextSegmentNumber()
	if err != nil {
		return err
	}
	sorter := e.newSorter(nil)
	defer sorter.Close()
	var value []byte
	for _, c := range best.heap {
		value = storage.AppendFetchlistEntry(value[:0], storage.FetchlistEntry{Score: c.score, Depth: c.depth})
		if err := sorter.Add([]byte(c.key), value); err != nil {
			return err
		}
	}
	ing := e.store.NewIngestion()
	defer ing.Abort()
	run, err := sorter.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	w := ing.Table(storage.Fetchlist(number))
	var host []byte
	for run.Next() {
		if h := urlkey.HostKeyOf(run.Key()); string(h) != string(host) {
			host = append(host[:0], h...)
			report.Hosts++
		}
		if err := w.Set(run.Key(), run.Value()); err != nil {
			return err
		}
	}
	if err := run.Err(); err != nil {
		return err
	}
	report.Segment, report.Selected = number, uint64(best.heap.Len())
	seg := storage.Segment{Number: number, State: storage.SegmentOpen, Batch: true, Created: e.o.Now()}
	seg.Counts.Generated = report.Selected
	if err := ing.PutSegment(seg); err != nil {
		return err
	}
	if err := ing.Commit(); err != nil {
		return err
	}
	e.reached(number, storage.SegmentOpen)
	return nil
}
