// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Readmitted counts what became of withheld links that were looked at again.
type Readmitted struct {
	New    uint64           // URLs that became records
	Linked uint64           // known URLs that were linked to
	Woken  []urlkey.HostKey // hosts of changed records that have something due, in key order
}

// readmit looks once at all that is pending, and is pending no more.
func (p *Phases) readmit(ctx context.Context, result *Readmitted) error {
	changes := p.env.Admission.NewChanges() // before any question
	pending := p.env.Admission.Pending()
	changes.Readmitted(pending)
	any, err := p.anyWithheld()
	if err == nil && !any {
		err = changes.Commit() // rows that may be left of it do no harm
	} else if err == nil {
		err = p.readmitBelow(ctx, pending, changes, result)
	}
	if err != nil {
		return fmt.Errorf("readmitting withheld links: %w", err)
	}
	return nil
}

// anyWithheld reports whether the store holds a withheld link.
func (p *Phases) anyWithheld() (bool, error) {
	sc := p.env.Store.Scan(storage.WithheldRange(), nil, nil)
	any := sc.Next()
	if err := sc.Close(); err != nil {
		return false, fmt.Errorf("looking for withheld links: %w", err)
	}
	return any, nil
}

func (p *Phases) readmitBelow(
	ctx context.Context, prefixes []string, changes *admission.Changes, result *Readmitted,
) (err error) {
	ing := p.env.Store.NewIngestion()
	defer ing.Abort()
	r := readmission{
		p: p, changes: changes, result: result, now: p.now(),
		sc:      p.env.Store.Scan(storage.WithheldRange(), nil, nil),
		crawldb: storage.NewFinder(p.env.Store, storage.Crawldb()),
		records: ing.Table(storage.Crawldb()), rest: ing.Table(storage.WithheldRange()), hosts: p.newHostTally(ing),
		lowered: ing.Table(storage.LoweredRange()),
	}
	defer func() {
		r.hosts.close()
		err = errors.Join(err, r.sc.Close(), r.crawldb.Close())
	}()
	if err := r.hosts.keepRefreshed(ing); err != nil {
		return err
	}
	covered := "\xff" // the last prefix that was not below another
	for _, prefix := range prefixes {
		if strings.HasPrefix(prefix, covered) {
			continue
		}
		covered = prefix
		if err := r.below(ctx, []byte(prefix)); err != nil {
			return err
		}
	}
	if err := r.hosts.finish(); err != nil {
		return err
	}
	if err := changes.WriteTo(ing, true); err != nil {
		return err
	}
	if err := ing.Commit(); err != nil {
		return err
	}
	result.Woken = mergeHosts(result.Woken, r.hosts.woken)
	return changes.Commit()
}

// readmission is one walk over withheld links.
type readmission struct {
	p             *Phases
	changes       *admission.Changes
	result        *Readmitted
	now           int64
	sc            *storage.Scanner // of withheld
	crawldb       *storage.Finder
	records, rest *storage.TableWriter
	lowered       *storage.TableWriter
	hosts         *hostTally

	target   []byte
	entries  []storage.Withheld // of the target, by segment
	segments []uint32
	key      []byte
	value    []byte
}

// below goes through the withheld links below a prefix. Targets come in key order, also from one call to the next.
func (r *readmission) below(ctx context.Context, prefix []byte) error {
	for n, ok := 0, r.sc.SeekGE(prefix); ok && bytes.HasPrefix(r.sc.Key(), prefix); n++ {
		if n%ctxCheckPages == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		// A host that is not in scope has nothing to admit, whatever the live filters say.
		if host := urlkey.HostKeyOf(r.sc.Key()); !r.p.env.Admission.HasHost(urlkey.HostKey(host)) {
			ok = r.sc.SeekGE(PrefixEnd(host))
			continue
		}
		var err error
		if ok, err = r.read(); err == nil {
			err = r.decide()
		}
		if err != nil {
			return err
		}
	}
	if err := r.sc.Err(); err != nil {
		return err
	}
	return nil
}

// read reads the entries of one target and moves to the next one, if there is one.
func (r *readmission) read() (more bool, err error) {
	r.target, r.entries, r.segments = r.target[:0], r.entries[:0], r.segments[:0]
	for more = true; more; more = r.sc.Next() {
		target, segment, err := storage.SplitLinkdbKey(r.sc.Key())
		if err != nil {
			return false, err
		}
		if len(r.entries) == 0 {
			r.target = append(r.target, target...)
		} else if !bytes.Equal(target, r.target) {
			break
		}
		var w storage.Withheld
		if err := storage.DecodeWithheld(r.sc.Value(), &w); err != nil {
			return false, fmt.Errorf("links to %s of segment %d: %w", target, segment, err)
		}
		r.entries, r.segments = append(r.entries, w), append(r.segments, segment)
	}
	return more, r.sc.Err()
}

// decide admits the target, deletes it or leaves it.
func (r *readmission) decide() error {
	v := r.p.env.Admission.VerdictKey(urlkey.Key(r.target), admission.Facts{Hops: r.hops()})
	switch {
	case v.OK():
		if err := r.admit(); err != nil {
			return err
		}
	case v.Later:
		return nil
	}
	for _, segment := range r.segments {
		r.key = storage.AppendLinkdbKey(r.key[:0], r.target, segment)
		if err := r.rest.Delete(r.key); err != nil {
			return err
		}
	}
	return nil
}

// hops is the least number of redirects in a row that lead to the target.
func (r *readmission) hops() int {
	var sum linkSum
	for i := range r.entries {
		sum = sum.plus(sumOfWithheld(&r.entries[i]))
	}
	return int(sum.hops)
}

// admit joins the target with crawldb: segment by segment, as if each had been admitted at once.
func (r *readmission) admit() error {
	old, err := r.crawldb.Find(r.target)
	if err != nil {
		return err
	}
	var was, record storage.Record
	known := old != nil
	if known {
		if err := storage.DecodeRecord(old, &was); err != nil {
			return fmt.Errorf("crawldb record %s: %w", r.target, err)
		}
		record = was
	}
	linked := !known
	for i := range r.entries {
		w := &r.entries[i]
		sum := sumOfWithheld(w)
		exists := known || i > 0
		if !exists {
			record = r.p.newRecord(sum, w.Sitemap, r.now)
		}
		r.p.applyLinks(sum, &record, exists, w.Sitemap)
		linked = linked || w.Link
		if w.Referrers != 0 {
			referral := &r.changes.Referral
			referral.Add(referral.DomainOf(urlkey.HostKey(urlkey.HostKeyOf(r.target))), w.Referrers)
		}
	}
	if !linked && record.Depth == was.Depth && record.Hops == was.Hops { // a sitemap that is known
		return nil
	}
	if known {
		r.result.Linked++
	} else {
		r.result.New++
	}
	if known {
		if err := noteLowered(r.lowered, r.target, &was, &record); err != nil {
			return err
		}
	}
	if err := r.hosts.change(r.target, known, &was, &record); err != nil {
		return err
	}
	r.value = storage.AppendRecord(r.value[:0], &record)
	return r.records.Set(r.target, r.value)
}

// sumOfWithheld is what a segment's withheld links say.
func sumOfWithheld(w *storage.Withheld) linkSum {
	if !w.Link {
		return linkSum{}
	}
	return linkSum{any: true, hops: w.Hops, depth: w.Depth, score: w.Score}
}

// withheldLinks is an entry with links, and its segment.
type withheldLinks struct {
	storage.Withheld
	segment uint32
}

// findWithheld reports whether an entry, leaving aside its score, adds nothing to what is withheld of its target. If so
// and the entry has links, first is the first that has some. It reads no more than shows that: a popular target has an
// entry for each segment that links to it.
func findWithheld(
	sc *storage.Scanner, target []byte, entry *storage.Withheld,
) (first withheldLinks, known bool, err error) {
	var sum linkSum
	var sitemap bool
	var referrers uint64
	for ok := sc.SeekGE(storage.AppendLinkdbKey(nil, target, 0)); ok; ok = sc.Next() {
		of, segment, err := storage.SplitLinkdbKey(sc.Key())
		if err != nil {
			return first, false, err
		}
		if !bytes.Equal(of, target) {
			break
		}
		var w storage.Withheld
		if err := storage.DecodeWithheld(sc.Value(), &w); err != nil {
			return first, false, fmt.Errorf("links to %s: %w", target, err)
		}
		if w.Link && !sum.any {
			first = withheldLinks{w, segment}
		}
		sum = sum.plus(sumOfWithheld(&w))
		sitemap = sitemap || w.Sitemap
		referrers |= w.Referrers
		linked := !entry.Link || sum.any && entry.Depth >= sum.depth && entry.Hops >= sum.hops
		if linked && (sitemap || !entry.Sitemap) && entry.Referrers&^referrers == 0 {
			return first, true, nil
		}
	}
	return first, false, sc.Err()
}

// appendWithheld appends a value of the sorter of withheld links: whether a page that was fetched before gave some of
// its score, then the entry.
func appendWithheld(dst []byte, w *storage.Withheld, again bool) []byte {
	flag := byte(0)
	if again {
		flag = 1
	}
	return storage.AppendWithheld(append(dst, flag), w)
}

func readWithheld(value []byte, w *storage.Withheld) (again bool, err error) {
	return value[0] != 0, storage.DecodeWithheld(value[1:], w)
}

// foldWithheld adds up what one segment says of a target.
func foldWithheld(dst, a, b []byte) []byte {
	var x, y storage.Withheld
	xAgain, xErr := readWithheld(a, &x)
	yAgain, yErr := readWithheld(b, &y)
	if xErr != nil || yErr != nil {
		panic("BUG: phases: the sorter changed a value")
	}
	sum := sumOfWithheld(&x).plus(sumOfWithheld(&y))
	return appendWithheld(dst, &storage.Withheld{
		Reason: min(x.Reason, y.Reason), Score: sum.score, Depth: sum.depth, Hops: sum.hops,
		Link: sum.any, Sitemap: x.Sitemap || y.Sitemap, Referrers: x.Referrers | y.Referrers,
	}, xAgain || yAgain)
}
