// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// summarizeDue reads the first dueHostsRead hosts of hostdb.
func (w *work) summarizeDue() (d dueSummary) {
	now := w.now()
	sc := w.store.Scan(storage.HostCountsRange(), nil, nil)
	defer sc.Close()
	var counts storage.HostCounts
	d.empty = true
	for n := 0; n < dueHostsRead && sc.Next(); n++ {
		d.empty = false
		if storage.DecodeHostCounts(sc.Value(), &counts) != nil || counts.NextDue == 0 {
			continue
		}
		if due := time.UnixMilli(counts.NextDue); d.next.IsZero() || due.Before(d.next) {
			d.next = due
		}
	}
	if d.next.After(now) {
		return d
	}
	d.next = time.Time{}
	d.spent = w.spentBudgets(now)
	d.tooDeep = len(d.spent) == 0 && (w.o.MaxDepth > 0 || w.o.HostPolicy != nil) && w.anyTooDeep(now)
	return d
}

// anyTooDeep reports whether something is due that lies deeper than max-depth.
func (w *work) anyTooDeep(now time.Time) (found bool) {
	read := 0
	var r storage.Record
	look := func(h urlkey.HostKey) error {
		from, to := storage.HostBounds(h)
		sc := w.store.Scan(storage.Crawldb(), from, to)
		defer sc.Close()
		for ; sc.Next(); read++ {
			if read >= deepRecordsRead || storage.DecodeRecord(sc.Value(), &r) != nil {
				return errEnough
			}
			if !w.o.Schedule.Due(&r, now.UnixMilli()) {
				continue
			}
			v := w.admission.VerdictKey(urlkey.Key(sc.Key()), admission.Facts{Depth: int(r.Depth)})
			if found = v.Reason == admission.ReasonDepth; found {
				return errEnough
			}
		}
		return sc.Err()
	}
	// Errors are those of a store that fails, which the end of the run reports.
	_ = w.phases.DueHosts(context.Background(), w.store, "", now.UnixMilli(), dueHostsRead, look)
	return found
}

// errEnough ends a search among hosts.
var errEnough = errors.New("enough was found")

// spentBudgets returns the budgets that keep back what is due.
func (w *work) spentBudgets(now time.Time) (list []spentBudget) {
	seen := map[string]bool{}
	read := 0
	var domain string // the last; hosts come in key order, so that each domain is looked up once
	var ofDomain []spentBudget
	look := func(h urlkey.HostKey) error {
		if d := h.DomainKey(); d != domain {
			domain, ofDomain = d, w.spentOfDomain(h)
		}
		spent := append(w.spentOfHost(h), ofDomain...)
		if len(spent) == 0 {
			return nil
		}
		if read++; read > spentHostsRead || len(list) >= spentShown {
			return errEnough
		}
		fresh := !slices.ContainsFunc(spent, func(s spentBudget) bool { return !s.pages })
		if due, err := w.phases.AnyDue(w.store, h, now.UnixMilli(), fresh); err != nil || !due {
			return err // the scope, or another rule, keeps it back
		}
		for _, s := range spent {
			if !seen[s.who+s.setting] {
				seen[s.who+s.setting] = true
				list = append(list, s)
			}
		}
		return nil
	}
	// Errors are those of a store that fails, which the end of the run reports.
	_ = w.phases.DueHosts(context.Background(), w.store, "", now.UnixMilli(), dueHostsRead, look)
	return list
}

// spentOfHost returns the used-up parts of a host's budget.
func (w *work) spentOfHost(h urlkey.HostKey) []spentBudget {
	b, err := w.admission.HostBudget(h)
	if err != nil {
		return nil
	}
	return w.o.spentParts(h, hostBudget, b)
}

// spentOfDomain returns the used-up parts of the budget of a host's domain.
func (w *work) spentOfDomain(h urlkey.HostKey) []spentBudget {
	b, err := w.admission.DomainBudget(h.DomainKey())
	if err != nil {
		return nil
	}
	return w.o.spentParts(h, domainBudget, b)
}

func (w *work) generate(ctx context.Context, o GenerateOptions) (GenerateReport, error) {
	if err := o.validate(); err != nil {
		return GenerateReport{}, fmt.Errorf("generating: %w", err)
	}
	start := w.now()
	w.crawldbMu.Lock()
	defer w.crawldbMu.Unlock()
	if w.crawling.Load() {
		return GenerateReport{}, wrapf(ErrBusy, "generating")
	}
	g, err := w.phases.Generate(ctx, phases.GenerateOptions(o))
	r := generateReport(g)
	if errors.Is(err, ErrNothingDue) {
		err = w.whyNothingDue(err, g)
	}
	if err != nil {
		return r, err
	}
	r.Took = w.took(start)
	for _, number := range r.Segments {
		w.reached(number, storage.SegmentOpen)
	}
	w.done(r)
	return r, nil
}

// whyNothingDue adds to ErrNothingDue what keeps URLs from being chosen: that they wait in the fetchlist of an
// unfinished segment, or the bounds of this call.
func (w *work) whyNothingDue(err error, g phases.Generated) error {
	if g.Marked > 0 {
		return w.waitingInSegment(err, g.Marked)
	}
	for _, bound := range []string{phases.HeldStatus, phases.HeldScore, phases.HeldInterval} {
		if n := g.Held[bound]; n > 0 {
			return fmt.Errorf("%w: %s left out by %s", err, count(int(n), "URL"), bound)
		}
	}
	d := w.summarizeDue()
	s := situation{due: d, maxDepth: w.o.MaxDepth}
	switch {
	case d.empty:
		return fmt.Errorf("%w: crawldb is empty: run \"seine inject\" first", err)
	case len(d.spent) > 0:
		return fmt.Errorf("%w: %s", err, s.spent())
	case d.tooDeep:
		return fmt.Errorf("%w: %s", err, s.tooDeep())
	case !d.next.IsZero():
		return fmt.Errorf("%w before %s", err, d.next.Local().Format(time.DateTime))
	}
	return err
}

// waitingInSegment adds to an error which unfinished segment has the URLs that are due, and which command takes it
// on.
func (w *work) waitingInSegment(err error, marked uint64) error {
	list, failed := w.store.SegmentList()
	begun, also := w.inState(storage.SegmentOpen)
	if failed != nil || also != nil {
		return errors.Join(failed, also)
	}
	for i, s := range list {
		if s.Batch && s.State < storage.SegmentUpdated {
			return fmt.Errorf("%w: %s in segment %d, which is %s: run %s first", err,
				count(int(marked), "URL")+isOrAre(int(marked), " waits", " wait"), s.Number, s.State,
				commandBefore(list[i:i+1], storage.SegmentUpdated, begun))
		}
	}
	return err
}

// dueURLs returns how many URLs of a host were not fetched yet, as of the last updatedb.
func dueURLs(store *storage.Store, host urlkey.HostKey) uint64 {
	var c storage.HostCounts
	if ok, err := store.HostCounts(host, &c); err != nil || !ok {
		return 0
	}
	return uint64(c.ByStatus[storage.StatusUnfetched])
}
