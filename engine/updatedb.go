// SPDX-License-Identifier: Apache-2.0

package engine

import (
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
	u := update{e: e, report: &report, segment: segment, now: e.nowMS(), inputs: e.newSorter(foldInputs), signatures: e.newSorter(foldLast)}
	defer u.inputs.Close()
	defer u.signatures.Close()
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
	targets  map[uint64]struct{} // of the page at hand, by hash
	verdict  verdictCache
	referral referral
	value    []byte
}

// collect reads the segment's parse records and sorts what they say by the URL it is about.
func (u *update) collect(ctx context.Context) error {
	sc := u.e.store.Scan(storage.ParseLinks(u.segment), nil, nil)
	defer sc.Close()
	known := u.e.store.Scan(storage.Crawldb(), nil, nil)
	defer known.Close()
	u.targets = make(map[uint64]struct{}, 256)
	for n := 0; sc.Next(); n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := storage.DecodeFetchOutcome(sc.Value(), &u.page); err != nil {
			return fmt.Errorf("parse record %s: %w", sc.Key(), err)
		}
		source := storage.Record{}
		if known.SeekGE(sc.Key()) && string(known.Key()) == string(sc.Key()) {
			if err := storage.DecodeRecord(known.Value(), &source); err != nil {
				return fmt.Errorf("crawldb record %s: %w", sc.Key(), err)
			}
		}
		if err := u.addPage(sc.Key(), &source); err != nil {
			return err
		}
	}
	return sc.Err()
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
	if o.Redirect != "" {
		return u.addRedirect(key, page, source.Hops)
	}
	if o.Status != storage.FetchSuccess || o.Flags&storage.FlagNoFollow != 0 {
		return nil
	}
	clear(u.targets)
	wanted := o.Outlinks[:0:len(o.Outlinks)] // decoded in place: the page is read once
	for _, l := range o.Outlinks {
		if l.NoFollow {
			continue
		}
		h := xxh3.HashString(string(l.Key))
		if _, twice := u.targets[h]; twice || string(l.Key) == string(key) {
			continue
		}
		u.targets[h] = struct{}{}
		if reason := u.verdict.of(u.e, h, l.Key); reason != "" {
			u.report.Filtered[reason]++
			continue
		}
		wanted = append(wanted, l)
	}
	page.Links = len(wanted)
	host := urlkey.HostKeyOf(key)
	for _, l := range wanted {
		target := l.Key.HostKey()
		internal := string(target) == string(host)
		if !internal {
			u.referral.link(host, target)
		}
		if err := u.addLink(l.Key, page, internal); err != nil {
			return err
		}
	}
	return nil
}

// addRedirect treats the target of a redirect as the one link of its page. A seed that redirects
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
	if reason := u.verdict.of(u.e, xxh3.HashString(string(target)), target); reason != "" {
		u.report.Filtered[reason]++
		return nil
	}
	page.Links = 1
	in := input{link: true, hops: hops + 1, depth: page.Depth + redirectDepthCost,
		score: u.e.o.Scorer.Distribute(page, string(target.HostKey()) == string(urlkey.HostKeyOf(key)))}
	u.value = appendInput(u.value[:0], in, nil)
	return u.inputs.Add([]byte(target), u.value)
}

func (u *update) addLink(target urlkey.Key, page policy.Page, internal bool) error {
	depth := page.Depth
	if depth < math.MaxUint16 {
		depth++
	}
	u.value = appendInput(u.value[:0], input{link: true, depth: depth, score: u.e.o.Scorer.Distribute(page, internal)}, nil)
	return u.inputs.Add([]byte(target), u.value)
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
		links := o.Outlinks
		o.Outlinks = nil // the join needs the outcome only
		dst = storage.AppendFetchOutcome(dst, o)
		o.Outlinks = links
	}
	return append(dst, in.encoded...)
}

func readInput(v []byte) input {
	return input{outcome: v[0]&1 != 0, link: v[0]&2 != 0, hops: v[0] >> 2,
		score: math.Float64frombits(binary.LittleEndian.Uint64(v[1:])),
		depth: binary.LittleEndian.Uint16(v[9:]), encoded: v[inputHead:]}
}

// foldInputs adds up links and keeps the outcome, of which there is at most one.
func foldInputs(dst, a, b []byte) []byte {
	x, y := readInput(a), readInput(b)
	switch {
	case x.link && y.link:
		x.score, x.depth, x.hops = x.score+y.score, min(x.depth, y.depth), min(x.hops, y.hops)
	case y.link:
		x.link, x.score, x.depth, x.hops = true, y.score, y.depth, y.hops
	}
	if y.outcome {
		x.outcome, x.encoded = true, y.encoded
	}
	return appendInput(dst, x, nil)
}

// verdictCache remembers what the filters said of recent links: nine of ten links of a real page
// are its site's navigation, seen on the page before.
type verdictCache struct{ slots []verdict }

type verdict struct {
	hash   uint64
	reason string
}

const verdictSlots = 1 << 15 // a power of two; 24 bytes each

func (c *verdictCache) of(e *Engine, hash uint64, key urlkey.Key) string {
	if c.slots == nil {
		c.slots = make([]verdict, verdictSlots)
	}
	slot := &c.slots[hash%verdictSlots]
	if slot.hash != hash {
		slot.hash = hash
		slot.reason = "malformed"
		if u, err := key.URL(); err == nil {
			slot.reason = e.accept(u)
		}
	}
	return slot.reason
}
