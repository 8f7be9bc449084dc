// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Generated says what fetchlists hold.
type Generated struct {
	Segment  uint32 // the first
	Segments []uint32
	Selected uint64
	Hosts    uint64 // of all fetchlists, each host once
	Due      uint64 // due and admitted, before all bounds, of what was read
	More     bool   // more are due: of hosts with more than could be chosen only the best are read
	Marked   uint64 // due, and left out because they wait in the fetchlist of an unfinished segment
	// Held counts URLs that were read and left out, by reason: a constant Held… or what refuses them.
	Held map[string]uint64
	// Unread counts hosts of which some URLs that are due were not read, so that Held does not count them: by
	// HeldBudget, which is used up, or by why admission refuses all of the host, or what is deeper than the crawl goes;
	// or by HeldTop: they are worse than as many as are wanted.
	Unread map[string]uint64
}

// Generate chooses the due URLs with the best scores and writes them as the fetchlists of new
// open segments. hostdb says which hosts have something due; all others are skipped, so the cost is that of
// the hosts with work, not of the whole crawldb. URLs that wait in the fetchlist of an unfinished
// segment are left out for a week (Nutch: crawl.gen.delay). If nothing is due the error is ErrNothingDue. Once as many
// are found as are wanted, no score class of a host is read that is worse than all of them: with 3 million URLs due on
// 10,000 hosts, generate of 50,000 takes half the time (bench scale, .58 µs a link in place of 1.15, 2026-11-27).
//
// Of equal scores, the first URL of each host comes before the second of any, so that hosts get their turns. Of each
// host are taken the best, of these the best of each domain, of these the best of each address, of these those of
// all. What the bounds of a fetchlist keep out goes to the next one that has room for it. (Where both domains and
// addresses are bounded, a URL may be left out for one that gives way to a third in the end: picker.deal.)
//
// Where one fetchlist takes all that is due, and no bound asks for more of a record than the due range says, URLs that
// were fetched are chosen by day and their records are not read: 2 µs a URL where it was 15, in 10^6 known URLs of
// which one percent is due. Their scores in the fetchlist are then rounded down to a power of two.
func (p *Phases) Generate(ctx context.Context, o GenerateOptions) (Generated, error) {
	if o.Top <= 0 {
		o.Top = defaultTop
	}
	o.Lists = max(o.Lists, 1)
	g := generation{
		p: p, o: o, now: p.now() + int64(min(o.AddDays, addDaysMost))*86_400_000,
		result: Generated{Held: map[string]uint64{}},
	}
	err := g.choose(ctx)
	if err == nil && len(g.best.list) == 0 && !o.DryRun {
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
	best   picker // of all
	due    *dueReader
	facts  storage.HostFacts

	// days is read, where a host has nothing new, in place of the host's own keys and its records; byDay: it may be.
	// Scores are then the least ones of their classes, so that all URLs must come into the fetchlist.
	byDay   bool
	days    *dueDays
	chosen  []Choice // by day, of the current host
	budgets *admission.DomainBudgets
	around  []*domainChoice // the domains whose hosts may not have come to an end; each is a prefix of the next
}

// domainChoice is what is known of a registered domain while its hosts are looked at. Those of a public suffix below it
// come between them, as those of s3.amazonaws.com between hosts of amazonaws.com.
type domainChoice struct {
	domain string // its key
	asked  bool
	spent  bool   // asked: nothing of it may be requested
	left   int64  // asked: how many URLs its budget still allows that were never requested
	group  picker // its best, if its budget or a fetchlist bounds it
}

// enter returns the choice of a host's domain, and ends those of domains that have no more hosts.
func (g *generation) enter(h urlkey.HostKey) *domainChoice {
	for n := len(g.around); n > 0 && !strings.HasPrefix(string(h), g.around[n-1].domain); n-- {
		g.leave()
	}
	domain := h.DomainKey()
	for _, d := range g.around {
		if d.domain == domain {
			return d
		}
	}
	d := &domainChoice{domain: domain}
	d.group = picker{
		limit: g.o.ofAll(g.o.MaxPerDomain), pages: math.MaxInt, held: g.held, reason: HeldDomain, dealt: g.best.dealt,
	}
	g.around = append(g.around, d)
	return d
}

// leave gives the best of the last domain around to all.
func (g *generation) leave() {
	last := len(g.around) - 1
	d := g.around[last]
	g.around = g.around[:last]
	if d.group.over() || d.group.fresh > d.group.pages {
		d.group.cut()
	}
	for _, c := range d.group.list {
		g.best.add(c)
	}
}

// held counts what is left out.
func (g *generation) held(reason string, n int) {
	if n > 0 {
		g.result.Held[reason] += uint64(n)
	}
}

// unread counts a host of which something is not read.
func (g *generation) unread(reason string) {
	if g.result.Unread == nil {
		g.result.Unread = map[string]uint64{}
	}
	g.result.Unread[reason]++
}

// errNotAll ends a choice by day of which not all comes into the fetchlist.
var errNotAll = errors.New("more is due than a fetchlist holds")

// choose fills best.
func (g *generation) choose(ctx context.Context) error {
	o := &g.o
	g.byDay = o.Lists == 1 && o.MaxPerDomain == 0 && o.MaxPerAddress == 0 && o.Status == 0 && o.MinScore == 0 &&
		o.MaxInterval == 0 && dueByTime(g.p.env.Schedule)
	err := g.chooseOnce(ctx)
	if errors.Is(err, errNotAll) {
		*g = generation{p: g.p, o: g.o, now: g.now, result: Generated{Held: map[string]uint64{}}}
		err = g.chooseOnce(ctx)
	}
	return err
}

// chooseOnce is choose. The error is errNotAll if the best must be chosen, and by day nobody knows which these are.
func (g *generation) chooseOnce(ctx context.Context) error {
	snap := g.p.env.Store.Snapshot()
	defer snap.Close()
	marked, err := g.p.marked(snap, g.o)
	if err != nil {
		return err
	}
	defer marked.close()
	g.best = picker{
		limit: g.o.ofAll(g.o.Top), pages: math.MaxInt, perAddress: g.o.ofAll(g.o.MaxPerAddress), held: g.held,
	}
	g.best.reason = HeldTop
	if o := &g.o; o.Lists > 1 && max(o.MaxPerHost, o.MaxPerDomain, o.MaxPerAddress) > 0 {
		g.best.dealt = o
	}
	g.due = g.p.newDueReader(snap)
	defer g.due.close()
	g.due.wanted, g.due.refused = g.wanted, func(reason string) { g.held(reason, 1) }
	defer g.close()
	err = g.p.dueHosts(ctx, snap, "", g.now, 0, func(h urlkey.HostKey, counts *storage.HostCounts) error {
		domain := g.enter(h)
		if err := g.chooseHost(snap, h, domain, counts.New == 0, marked); err != nil {
			return err
		}
		if g.days != nil && (g.best.over() || domain.group.over()) {
			return errNotAll
		}
		return ctx.Err()
	}, func(h urlkey.HostKey) { g.unread(g.p.env.Admission.HostReason(h)) })
	for len(g.around) > 0 {
		g.leave()
	}
	switch {
	case g.days == nil:
		g.best.cut()
	case err == nil && g.best.over():
		err = errNotAll
	}
	return errors.Join(err, marked.err())
}

// close releases what chooseOnce reads.
func (g *generation) close() {
	if g.days != nil {
		g.days.close()
	}
	if g.budgets != nil {
		g.budgets.Close()
	}
}

// wanted returns why a record that is due is not to be chosen, "" if it is.
func (g *generation) wanted(r *storage.Record) string {
	switch {
	case g.o.Status != 0 && r.Status != g.o.Status:
		return HeldStatus
	case r.Score < g.o.MinScore:
		return HeldScore
	case g.o.MaxInterval > 0 && time.Duration(r.Interval)*time.Second > g.o.MaxInterval:
		return HeldInterval
	}
	return ""
}

// chooseHost offers the best URLs of a host.
func (g *generation) chooseHost(
	rd storage.Reader, h urlkey.HostKey, domain *domainChoice, nothingNew bool, marked *markedSet,
) error {
	left, spent, err := g.allowed(rd, h, domain, marked)
	if err != nil {
		return err
	}
	none := spent || left == 0 // of what was never requested
	if none && (spent || !nothingNew) {
		from, to := storage.HostBounds(h)
		g.result.Marked += uint64(marked.count(from, to, nil))
		g.unread(HeldBudget)
	}
	if spent {
		return nil
	}
	limit, reason := g.best.limit, HeldTop
	if most := g.o.ofAll(g.o.MaxPerHost); g.o.MaxPerHost > 0 && most <= limit {
		limit, reason = most, HeldHost
	}
	taken := func(key []byte) bool {
		has := marked.has(key)
		if has {
			g.held(HeldMarked, 1)
		}
		if has && (!none || nothingNew) {
			g.result.Marked++
		}
		return has
	}
	var list []Choice
	var sel Selection
	byDay := false
	if nothingNew {
		list, byDay, err = g.chooseByDay(rd, h, limit, taken)
		sel = Selection{Due: uint64(len(list)), whole: true}
	}
	if !byDay && err == nil {
		g.due.least, g.due.pages = g.best.least(), left
		list, sel, err = g.due.choose(h, g.now, limit, limit+selectRoom, taken, nil)
	}
	if err != nil {
		return err
	}
	g.result.Due += sel.Due
	g.result.More = g.result.More || !sel.whole
	g.held(reason, int(sel.Due-sel.passed)-len(list))
	g.held(HeldBudget, int(sel.passed))
	if sel.deeper {
		g.unread(admission.ReasonDepth)
	}
	if sel.worse {
		g.unread(HeldTop)
	}
	return g.offer(rd, h, domain, list)
}

// chooseByDay returns what is due and admitted of a host without new URLs. ok is false if that may be more than a
// limit, or if nothing may be chosen by day.
func (g *generation) chooseByDay(
	rd storage.Reader, h urlkey.HostKey, limit int, taken func(key []byte) bool,
) (_ []Choice, ok bool, err error) {
	if g.byDay && g.days == nil {
		g.days, g.byDay, err = newDueDays(rd, g.now)
	}
	if !g.byDay || err != nil {
		return nil, false, err
	}
	due, ok, err := g.days.of(h, limit-1)
	if !ok || err != nil {
		return nil, false, err
	}
	keys, list := string(g.days.keys), g.chosen[:0]
	unsure := dueStream{}
	c := dueChoice{dueReader: g.due, host: h, now: g.now, taken: taken, eager: true}
	for _, e := range due {
		key := urlkey.Key(keys[:len(e.Key)])
		keys = keys[len(e.Key):]
		if taken(e.Key) {
			continue
		}
		if !e.Exact() {
			if err := c.look(&unsure, key); err != nil {
				return nil, false, err
			}
			continue
		}
		v := g.p.env.Admission.VerdictKey(key, admission.Facts{Depth: int(e.Depth)})
		if !v.OK() {
			g.held(v.Reason, 1)
			continue
		}
		list = append(list, Choice{
			Key: key, Score: storage.ClassScore(e.Class), Depth: uint16(e.Depth), Known: true, Counted: true,
		})
	}
	list = append(list, unsure.part...)
	slices.SortFunc(list, func(a, b Choice) int { return strings.Compare(string(a.Key), string(b.Key)) })
	g.chosen = list
	return list, true, nil
}

// offer gives the chosen URLs of a host, best first, to the group of its domain or to all.
func (g *generation) offer(rd storage.Reader, h urlkey.HostKey, domain *domainChoice, list []Choice) error {
	to := &g.best
	if domain.group.limit > 0 || domain.group.pages < math.MaxInt {
		to = &domain.group
	}
	address := ""
	if g.o.MaxPerAddress > 0 && len(list) > 0 {
		var err error
		if address, err = g.addressOf(rd, h); err != nil {
			return err
		}
	}
	turn := uint32(0)
	for i := range list {
		if i > 0 && list[i].Score == list[i-1].Score {
			turn++
		} else {
			turn = 0
		}
		to.add(chosen{list[i], turn, address})
	}
	return nil
}

// addressOf is where a host was when it was last visited, or its key.
func (g *generation) addressOf(rd storage.Reader, h urlkey.HostKey) (string, error) {
	value, ok, err := rd.Get(storage.HostFactsRange(), []byte(storage.HostStateKey(h)), nil)
	if err == nil && ok {
		err = storage.DecodeHostFacts(value, &g.facts)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("hostdb facts of %s: %w", h, err)
	case !ok || !g.facts.Addr.IsValid():
		return string(h), nil
	}
	return g.facts.Addr.WithZone("").Unmap().String(), nil
}

// allowed returns how many URLs that were never requested the budgets of a host and of its domain still allow; spent:
// nothing of it may be requested. What fetch would not request is not chosen: the fetchlists would never come to an
// end. The URLs in unfinished fetchlists count, since they may be fetched before crawldb knows of it; those of them
// that were requested before count too, until then.
func (g *generation) allowed(
	rd storage.Reader, h urlkey.HostKey, domain *domainChoice, marked *markedSet,
) (left int64, spent bool, err error) {
	if !domain.asked {
		if g.budgets == nil {
			g.budgets = g.p.env.Admission.DomainBudgets(rd)
		}
		b, err := g.budgets.Of(domain.domain)
		if err != nil {
			return 0, false, err
		}
		domain.asked, domain.spent, domain.left = true, b.Spent(), b.Left()
		if domain.left > 0 && domain.left != math.MaxInt64 {
			domain.left = max(domain.left-marked.ofDomain(domain.domain), 0)
		}
		if domain.left <= boundMost {
			domain.group.pages = int(domain.left)
		}
	}
	b, err := g.p.env.Admission.HostBudgetIn(rd, h)
	if err != nil {
		return 0, false, err
	}
	ofHost := b.Left()
	if ofHost > 0 && ofHost != math.MaxInt64 {
		from, to := storage.HostBounds(h)
		ofHost = max(ofHost-marked.count(from, to, nil), 0)
	}
	return min(domain.left, ofHost), domain.spent || b.Spent(), nil
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

// ofDomain returns the number of its keys of a registered domain.
func (m *markedSet) ofDomain(domain string) int64 {
	var memo urlkey.DomainMemo
	from := []byte(domain)
	return m.count(from, PrefixEnd(from), func(key []byte) bool { return memo.DomainKey(key) == domain })
}

// count returns the number of its keys from one up to another, of those that counts, if not nil, wants.
func (m *markedSet) count(from, to []byte, counts func(key []byte) bool) (n int64) {
	for i, l := range m.lists {
		earlier := markedSet{m.lists[:i]} // with GenerateOptions.IgnoreMarked, fetchlists have URLs in common
		for ok := l.SeekGE(from); ok && string(l.Key()) < string(to); ok = l.Next() {
			if (counts == nil || counts(l.Key())) && !earlier.has(l.Key()) {
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

// write makes the segments and their fetchlists in one ingestion.
func (g *generation) write() error {
	lists := g.best.deal(g.o, g.held)
	hosts := map[urlkey.HostKey]bool{}
	for _, list := range lists {
		slices.SortFunc(list, func(a, b chosen) int { return strings.Compare(string(a.Key), string(b.Key)) })
		g.result.Selected += uint64(len(list))
		last := urlkey.HostKey(" ") // begins no key
		for i := range list {
			if key := list[i].Key; !strings.HasPrefix(string(key), string(last)) {
				last = key.HostKey()
				hosts[last] = true
			}
		}
	}
	g.result.Hosts = uint64(len(hosts))
	if g.o.DryRun {
		return nil
	}
	number, err := g.p.env.Store.NextSegmentNumber()
	if err != nil {
		return fmt.Errorf("numbering the segment: %w", err)
	}
	g.result.Segment = number
	ing := g.p.env.Store.NewIngestion()
	defer ing.Abort()
	var key, value []byte
	for i, list := range lists {
		w := ing.Table(storage.Fetchlist(number + uint32(i)))
		for k := range list {
			c := &list[k]
			value = storage.AppendFetchlistEntry(value[:0], storage.FetchlistEntry{Score: c.Score, Depth: c.Depth})
			key = append(key[:0], c.Key...)
			if err := w.Set(key, value); err != nil {
				return err
			}
		}
		if err := w.CloseFile(); err != nil {
			return err
		}
		if err := g.p.putFetchlist(ing, number+uint32(i), len(list)); err != nil {
			return err
		}
		g.result.Segments = append(g.result.Segments, number+uint32(i))
	}
	return ing.Commit()
}

// putFetchlist makes the segment of a fetchlist with n URLs.
func (p *Phases) putFetchlist(ing *storage.Ingestion, number uint32, n int) error {
	seg := storage.Segment{Number: number, State: storage.SegmentOpen, Batch: true, Created: p.env.Now()}
	seg.Counts.Generated = uint64(n)
	return ing.PutSegment(seg)
}
