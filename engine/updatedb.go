// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// UpdateDB brings the outcomes and links of a sealed segment into crawldb.
//
//	parse records, in key order ─▶ for each page: outcome under its own key,
//	                               a contribution under each distinct target's key
//	sort by key, folding the contributions of a target into one
//	merge-join with crawldb     ─▶ new records, host counts, signatures
//	one ingestion: all of these, the segment's state, the end of its fetchlist
//
// The sum of a target's contributions does not depend on their order (see policy.VoteScorer), so
// neither do scores.
func (e *Engine) UpdateDB(ctx context.Context, segment uint32) (UpdateReport, error) {
	_, report, err := e.updateDB(ctx, segment)
	return report, err
}

// updateDB also returns the hosts that have something due now.
func (e *Engine) updateDB(ctx context.Context, segment uint32) ([]urlkey.HostKey, UpdateReport, error) {
	start := time.Now()
	defer e.clock.time(stageUpdateDB)()
	report := UpdateReport{Segment: segment, Filtered: map[string]uint64{}}
	e.crawldbMu.Lock()
	defer e.crawldbMu.Unlock()
	seg, err := e.segmentFor(segment, "updatedb", storage.SegmentSealed)
	if err != nil {
		return nil, report, err
	}
	u, ok := e.updates.take()
	if !ok {
		u = new(update)
	}
	*u = update{e: e, report: &report, segment: segment, now: e.nowMS(), inputs: e.newSorter(foldInputs), signatures: e.newSorter(foldLast),
		keys: u.keys, targets: u.targets, wanted: u.wanted, value: u.value}
	defer func() {
		u.inputs.Close()
		u.signatures.Close()
		u.keys.reset()
		clear(u.targets[:cap(u.targets)])
		*u = update{keys: u.keys, targets: u.targets[:0], wanted: u.wanted, value: u.value}
		e.updates.put(u)
	}()
	if err := u.collect(ctx); err != nil {
		return u.woken, report, fmt.Errorf("updatedb of segment %d: %w", segment, err)
	}
	if err := u.apply(ctx, seg); err != nil {
		return u.woken, report, fmt.Errorf("updatedb of segment %d: %w", segment, err)
	}
	report.Seconds = since(start)
	e.reached(segment, storage.SegmentUpdated)
	e.done(report)
	return u.woken, report, nil
}

// update is one run of updatedb.
type update struct {
	e          *Engine
	report     *UpdateReport
	segment    uint32
	now        int64
	inputs     *storage.Sorter // key → input
	signatures *storage.Sorter // signature and key → entry, or deletion
	seedHosts  []urlkey.HostKey
	seedURLs   []urlkey.Key
	woken      []urlkey.HostKey

	page     storage.FetchOutcome
	links    storage.OutlinkReader
	keys     keyTable // of targets
	targets  []target // by number
	wanted   []int    // numbers of the page at hand, filtered
	visited  uint32   // pages so far
	referral referral
	value    []byte
}

// target is what the segment's links say about one URL so far.
type target struct {
	sum     input
	page    uint32 // the last that links here
	hostEnd uint16 // of its host's key in its own
	refused string // why the filters don't want it
	domain  string // set when another host links here
	bits    uint64 // of other domains that do; see referral
}

const targetBytes = 120

// collect reads the segment's parse records and sorts what they say by the URL it is about.
func (u *update) collect(ctx context.Context) error {
	sc := u.e.store.Scan(storage.ParseLinks(u.segment), nil, nil)
	defer sc.Close()
	known := storage.NewFinder(u.e.store, storage.Crawldb())
	defer known.Close()
	for n := 0; sc.Next(); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := storage.ReadFetchOutcome(sc.Value(), &u.page, &u.links); err != nil {
			return fmt.Errorf("parse record %s: %w", sc.Key(), err)
		}
		source := storage.Record{}
		record, err := known.Find(sc.Key())
		if err != nil {
			return err
		}
		if record != nil {
			if err := storage.DecodeRecord(record, &source); err != nil {
				return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
			}
		}
		if err := u.addPage(sc.Key(), &source); err != nil {
			return err
		}
		if u.keys.full(u.e.o.Memory/16 - int64(len(u.targets))*targetBytes) {
			if err := u.addTargets(); err != nil {
				return err
			}
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	if err := u.addSitemaps(); err != nil {
		return err
	}
	return u.addTargets()
}

// addPage adds a page's outcome and what it gives to its targets.
func (u *update) addPage(key []byte, source *storage.Record) error {
	u.report.Outcomes++
	o := &u.page
	u.value = appendInput(u.value[:0], input{outcome: true}, o)
	if err := u.inputs.Add(key, u.value); err != nil {
		return err
	}
	page := policy.Page{Score: source.Score, Depth: source.Depth,
		First: source.Segment == 0 && source.Status != storage.StatusRedirTemp && source.Status != storage.StatusRedirPerm}
	if o.Redirect != "" && o.Status != storage.FetchSuccess {
		page.Links = 1
		return u.addRedirect(key, page, source.Hops)
	}
	if o.Status != storage.FetchSuccess || o.Flags&storage.FlagNoFollow != 0 {
		return nil
	}
	u.visited++
	u.wanted = u.wanted[:0]
	for u.links.Next() {
		if to := u.links.Key(); !u.links.NoFollow() && !bytes.Equal(to, key) && string(to) != string(o.Redirect) {
			u.want(to)
		}
	}
	if err := u.links.Err(); err != nil {
		return fmt.Errorf("parse record %s: %w", key, err)
	}
	page.Links = len(u.wanted)
	if o.Redirect != "" { // it refreshes itself to another page, which is one of its links
		page.Links++
		if err := u.addRedirect(key, page, source.Hops); err != nil {
			return err
		}
	}
	host := urlkey.HostKeyOf(key)
	u.referral.from(host)
	internal, external := u.e.linkInput(page, true), u.e.linkInput(page, false)
	for _, n := range u.wanted {
		t := &u.targets[n]
		to := u.keys.key(n)[:t.hostEnd]
		if string(to) == string(host) {
			t.sum = t.sum.plus(internal)
			continue
		}
		t.sum = t.sum.plus(external)
		if t.domain == "" {
			t.domain = u.referral.domainOf(urlkey.HostKey(to))
		}
		if t.domain != u.referral.domain {
			t.bits |= u.referral.bit
		}
	}
	return nil
}

// want notes a link of the page at hand, unless its target was noted or the filters refuse it.
func (u *update) want(key []byte) {
	n, fresh := u.keys.number(xxh3.Hash(key), key)
	if fresh {
		u.targets = append(u.targets, target{hostEnd: uint16(len(urlkey.HostKeyOf(key))), refused: u.e.verdict(urlkey.Key(key))})
	}
	t := &u.targets[n]
	if t.page == u.visited {
		return
	}
	t.page = u.visited
	if t.refused != "" {
		u.report.Filtered[t.refused]++
		return
	}
	u.wanted = append(u.wanted, n)
}

// addTargets hands what links say about their targets to the sorter and forgets it.
func (u *update) addTargets() error {
	for n := range u.targets {
		t := &u.targets[n]
		if !t.sum.link {
			continue
		}
		if t.bits != 0 {
			u.referral.add(t.domain, t.bits)
		}
		u.value = appendInput(u.value[:0], t.sum, nil)
		if err := u.inputs.Add(u.keys.key(n), u.value); err != nil {
			return err
		}
	}
	u.keys.reset()
	u.targets = u.targets[:0]
	return nil
}

// addRedirect treats the target of a redirect as a link of its page. A seed that redirects
// takes the target's host into the scope: people name python.org and mean www.python.org.
//
// Redirects that follow one another are counted, and a chain that is too long ends: the next target
// gets no record.
func (u *update) addRedirect(key []byte, page policy.Page, hops uint8) error {
	target := u.page.Redirect
	if int(hops) >= u.e.o.MaxRedirects {
		u.report.Filtered[reasonChain]++
		return nil
	}
	if page.Depth == 0 && u.e.scope.Admit(target.HostKey()) {
		u.seedHosts = append(u.seedHosts, target.HostKey())
	}
	if page.Depth == 0 && u.e.scope.NeedsURLs() {
		if to, err := target.URL(); err == nil {
			u.e.scope.AdmitURL(to)
			u.seedURLs = append(u.seedURLs, target)
		}
	}
	if reason := u.e.verdict(target); reason != "" {
		u.report.Filtered[reason]++
		return nil
	}
	in := input{link: true, hops: hops + 1, depth: page.Depth + redirectDepthCost,
		score: u.e.o.Scorer.Distribute(page, string(target.HostKey()) == string(urlkey.HostKeyOf(key)))}
	u.value = appendInput(u.value[:0], in, nil)
	return u.inputs.Add([]byte(target), u.value)
}

// linkInput is what a link of a page gives to its target.
func (e *Engine) linkInput(page policy.Page, internal bool) input {
	depth := page.Depth
	if depth < math.MaxUint16 {
		depth++
	}
	return input{link: true, depth: depth, score: e.o.Scorer.Distribute(page, internal)}
}

// verdict says why the filters don't want a URL, "" if they do.
func (e *Engine) verdict(key urlkey.Key) string {
	u, err := key.URL()
	if err != nil {
		return "malformed"
	}
	return e.accept(u)
}

// input is what one segment says about one URL: at most one outcome, and the sum of its links.
//
//	value: flags byte (1 outcome, 2 link, the rest hops) | score float64 | depth uint16 | outcome…
type input struct {
	outcome, link bool
	score         float64
	depth         uint16
	hops          uint8  // redirects that lead here, at most 63
	encoded       []byte // the outcome
}

const inputHead = 11

func appendInput(dst []byte, in input, o *storage.FetchOutcome) []byte {
	flags := in.hops << 2
	if in.outcome {
		flags |= 1
	}
	if in.link {
		flags |= 2
	}
	dst = append(dst, flags)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(in.score))
	dst = binary.LittleEndian.AppendUint16(dst, in.depth)
	if o != nil {
		dst = storage.AppendFetchOutcome(dst, o) // which has no links: the join needs the outcome only
	}
	return append(dst, in.encoded...)
}

func readInput(v []byte) input {
	return input{outcome: v[0]&1 != 0, link: v[0]&2 != 0, hops: v[0] >> 2,
		score: math.Float64frombits(binary.LittleEndian.Uint64(v[1:])),
		depth: binary.LittleEndian.Uint16(v[9:]), encoded: v[inputHead:]}
}

// plus adds another input's links.
func (x input) plus(y input) input {
	switch {
	case x.link && y.link:
		x.score, x.depth, x.hops = x.score+y.score, min(x.depth, y.depth), min(x.hops, y.hops)
	case y.link:
		x.link, x.score, x.depth, x.hops = true, y.score, y.depth, y.hops
	}
	return x
}

// foldInputs adds up links and keeps the outcome, of which there is at most one.
func foldInputs(dst, a, b []byte) []byte {
	x, y := readInput(a), readInput(b)
	x = x.plus(y)
	if y.outcome {
		x.outcome, x.encoded = true, y.encoded
	}
	return appendInput(dst, x, nil)
}
