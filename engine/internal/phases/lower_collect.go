// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Lowered counts what became of pages whose depth or hops fell.
type Lowered struct {
	New   uint64           // URLs that became records: the chain of redirects to them was too long until now
	Woken []urlkey.HostKey // hosts of changed records that have something due, in key order
}

// lowering is one round of lower.
type lowering struct {
	p             *Phases
	result        *Lowered
	changes       *admission.Changes
	segments      map[uint32]bool // whether a segment is updated
	cdx, withheld *storage.Scanner

	keys    KeyTable
	nodes   []node           // by number
	levels  map[uint16][]int // numbers of pages whose links must be told, by depth; some are told already
	created map[int]creation // by number
	touched []int            // nodes that the current pages link to
	fetches []uint32         // segments of the current page
	capture storage.CDX
	page    storage.FetchOutcome
	links   storage.OutlinkReader
	record  storage.Record
	key     []byte
	value   []byte
}

// node is what is known of one URL.
type node struct {
	score                float64
	segment              uint32 // of its newest parse record
	depth, offered       uint16 // offered: the least that links of the current pages give
	hops, offeredHops    uint8
	toldHops             uint8  // of a page: the hops of which its links know
	rowDepth             uint16 // least of the withheld links, if gate is gateRow
	rowHops              uint8
	gate                 gate
	loaded, known        bool // crawldb was asked; it has a record
	fetched              bool // and the record has an outcome
	sitemap              bool // the record says that it is a sitemap
	queued, due          bool // it is in the lowered range; its links must be told
	touched              bool // it is in lowering.touched
	changed, rowsChanged bool // its record, or its withheld links, must be written
}

// nodeBytes is the memory of a node, with its place in a list or two.
const nodeBytes = 52

// gate is what admission says of links to a URL.
type gate uint8

const (
	gateUnknown gate = iota
	gateRecord       // they count
	gateRow          // they are withheld
	gateClosed       // they do not count
)

// creation is a URL that was refused at the end of a chain of redirects which is short enough now.
type creation struct {
	sum     linkSum
	reason  storage.WithheldReason // 0: it becomes a record
	segment uint32                 // of the redirect
}

// begin loads the lowered pages, as many as leave half of the table for their links.
func (l *lowering) begin(ctx context.Context) error {
	sc := l.p.env.Store.Scan(storage.LoweredRange(), nil, nil)
	defer sc.Close()
	known := storage.NewFinder(l.p.env.Store, storage.Crawldb())
	defer known.Close()
	for sc.Next() {
		if len(l.nodes)%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		n := l.number(sc.Key())
		if err := l.load(known, n); err != nil {
			return err
		}
		x := &l.nodes[n]
		x.queued = true
		if len(sc.Value()) == 1 {
			x.toldHops = sc.Value()[0]
		}
		if x.known {
			l.tell(n)
		}
		if l.keys.Full(l.p.env.TableBytes/2 - int64(len(l.nodes))*nodeBytes) {
			break
		}
	}
	return errors.Join(sc.Err(), known.Close())
}

// number returns the number of a URL's node.
func (l *lowering) number(key []byte) int {
	n, fresh := l.keys.Number(xxh3.Hash(key), key)
	if fresh {
		l.nodes = append(l.nodes, node{offered: math.MaxUint16, offeredHops: math.MaxUint8})
	}
	return n
}

// load fills in what crawldb says of a node.
func (l *lowering) load(known *storage.Finder, n int) error {
	x := &l.nodes[n]
	value, err := known.Find(l.keys.Key(n))
	if err == nil && value != nil {
		err = storage.DecodeRecord(value, &l.record)
	}
	if err != nil {
		return fmt.Errorf("crawldb record %s: %w", l.keys.Key(n), err)
	}
	x.loaded = true
	if value != nil {
		x.known, x.depth, x.hops, x.toldHops = true, l.record.Depth, l.record.Hops, l.record.Hops
		x.fetched, x.segment, x.score = l.record.LastFetch != 0, l.record.Segment, l.record.Score
		x.sitemap = l.record.IsSitemap()
	}
	return nil
}

// tell adds a page to those whose links must be told.
func (l *lowering) tell(n int) {
	x := &l.nodes[n]
	x.due = true
	l.levels[x.depth] = append(l.levels[x.depth], n)
}

// spread tells the links of all pages, those of least depth first, until nothing is left or the table is full. In this
// order no page is read twice for its depth.
func (l *lowering) spread(ctx context.Context) error {
	for len(l.levels) > 0 {
		depth := slices.Min(slices.Collect(maps.Keys(l.levels)))
		list := l.levels[depth]
		some := list[:min(len(list), lowerPages)]
		if l.levels[depth] = list[len(some):]; len(some) == len(list) {
			delete(l.levels, depth)
		}
		if err := l.tellLinks(ctx, depth, some); err != nil {
			return err
		}
		if l.full() {
			return nil
		}
	}
	return nil
}

func (l *lowering) full() bool {
	return l.keys.Full(l.p.env.TableBytes - int64(len(l.nodes))*nodeBytes)
}

// tellLinks tells the links of some pages of one depth, of the first at least. When the table is full, the others stay
// due.
func (l *lowering) tellLinks(ctx context.Context, depth uint16, pages []int) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.sort(pages)
	l.touched = l.touched[:0]
	outcomes := map[uint32]*storage.Finder{} // by segment
	defer func() {
		for _, f := range outcomes {
			err = errors.Join(err, f.Close())
		}
	}()
	for i, n := range pages {
		if x := &l.nodes[n]; !x.due || x.depth != depth { // it is in the list of a lower depth, or told
			continue
		}
		if i > 0 && l.full() {
			break
		}
		if err := l.findFetches(n); err != nil {
			return err
		}
		for _, segment := range l.fetches {
			if outcomes[segment] == nil {
				if err := closeSome(outcomes); err != nil {
					return err
				}
				outcomes[segment] = storage.NewFinder(l.p.env.Store, storage.ParseLinks(segment))
			}
			if err := l.readFetch(outcomes[segment], segment, n); err != nil {
				return fmt.Errorf("parse record %s of segment %d: %w", l.keys.Key(n), segment, err)
			}
		}
		x := &l.nodes[n]
		x.due, x.toldHops = false, x.hops
	}
	return l.settleTouched()
}

// closeSome closes all of too many walks through segments.
func closeSome(outcomes map[uint32]*storage.Finder) (err error) {
	if len(outcomes) < lowerSegments {
		return nil
	}
	for segment, f := range outcomes {
		err = errors.Join(err, f.Close())
		delete(outcomes, segment)
	}
	return err
}

// sort sorts numbers by key.
func (l *lowering) sort(numbers []int) {
	slices.SortFunc(numbers, func(a, b int) int { return bytes.Compare(l.keys.Key(a), l.keys.Key(b)) })
}

// findFetches lists the updated segments in which a page was fetched. One without a capture in the WARC has at least
// the segment of its record.
func (l *lowering) findFetches(n int) error {
	page := l.keys.Key(n)
	l.fetches = l.fetches[:0]
	add := func(segment uint32) {
		if l.segments[segment] && !slices.Contains(l.fetches, segment) {
			l.fetches = append(l.fetches, segment)
		}
	}
	add(l.nodes[n].segment)
	l.key = storage.AppendCDXKey(l.key[:0], page, 0)
	for ok := l.cdx.SeekGE(l.key); ok; ok = l.cdx.Next() {
		url, _, err := storage.SplitCDXKey(l.cdx.Key())
		if err != nil {
			return err
		}
		if !bytes.Equal(url, page) {
			break
		}
		if err := storage.DecodeCDX(l.cdx.Value(), &l.capture); err != nil {
			return fmt.Errorf("cdx of %s: %w", page, err)
		}
		add(l.capture.Segment)
	}
	return l.cdx.Err()
}

// readFetch offers the links of a page, as it was fetched in one segment, its depth: as addPage does when the segment
// is updated.
func (l *lowering) readFetch(outcomes *storage.Finder, segment uint32, n int) error {
	value, err := outcomes.Find(l.keys.Key(n))
	if err != nil || value == nil {
		return err
	}
	if err := storage.ReadFetchOutcome(value, &l.page, &l.links); err != nil {
		return err
	}
	o, page, depth := &l.page, l.keys.Key(n), l.nodes[n].depth
	if o.Status == storage.FetchSuccess {
		if o.Flags&storage.FlagNoFollow != 0 {
			return nil
		}
		for l.links.Next() {
			if l.follows(page) {
				l.offer(l.number(l.links.Key()), deeper(depth), 0)
			}
		}
		if err := l.links.Err(); err != nil {
			return err
		}
	}
	if o.Redirect != "" {
		l.offerRedirect(segment, n)
	}
	return nil
}

// follows reports whether the current link of the current page counts, as addPage decides it.
func (l *lowering) follows(page []byte) bool {
	to := l.links.Key()
	return !l.links.NoFollow() && !bytes.Equal(to, page) && string(to) != string(l.page.Redirect) &&
		l.p.ignores(urlkey.HostKeyOf(page), urlkey.HostKeyOf(to)) == ""
}

// offerRedirect does the same for the target of a redirect, as addRedirect.
func (l *lowering) offerRedirect(segment uint32, n int) {
	x, to := l.nodes[n], l.page.Redirect
	from := urlkey.HostKeyOf(l.keys.Key(n))
	if l.p.ignores(from, []byte(to.HostKey())) != "" {
		return
	}
	facts := admission.Facts{Seed: x.depth == 0 && !x.sitemap, Hops: int(x.hops) + 1}
	v := l.p.env.Admission.VerdictKey(to, facts)
	if v.Reason == admission.ReasonChain || v.Reason == admission.ReasonMalformed {
		return
	}
	if facts.Seed {
		l.changes.Seed(to)
	}
	if !v.OK() && !v.Later {
		return
	}
	target := l.number([]byte(to))
	l.offer(target, x.depth+redirectDepthCost, x.hops+1)
	facts.Hops = int(x.toldHops) + 1
	if was := l.p.env.Admission.VerdictKey(to, facts); was.Reason != admission.ReasonChain || l.p.env.NoAdditions {
		return
	}
	page := policy.Page{Score: x.score, Depth: x.depth, Links: 1, First: true}
	link := policy.Link{Internal: string(to.HostKey()) == string(from), Redirect: true, Refused: !v.OK()}
	l.created[target] = creation{segment: segment, reason: fateOf(v).withheldReason(), sum: linkSum{
		any: true, depth: x.depth + redirectDepthCost, hops: x.hops + 1,
		score: l.p.env.Scorer.Distribute(page, link),
	}}
	if t := &l.nodes[target]; t.gate == gateClosed {
		t.gate = gateUnknown
	}
}

// offer notes what a link says of its target.
func (l *lowering) offer(n int, depth uint16, hops uint8) {
	x := &l.nodes[n]
	x.offered, x.offeredHops = min(x.offered, depth), min(x.offeredHops, hops)
	if !x.touched {
		x.touched = true
		l.touched = append(l.touched, n)
	}
}

// settleTouched lowers what the links of the current pages lower.
func (l *lowering) settleTouched() error {
	l.sort(l.touched)
	known := storage.NewFinder(l.p.env.Store, storage.Crawldb())
	defer known.Close()
	for _, n := range l.touched {
		if !l.nodes[n].loaded {
			if err := l.load(known, n); err != nil {
				return err
			}
		}
		if err := l.settle(n); err != nil {
			return err
		}
		x := &l.nodes[n]
		x.touched, x.offered, x.offeredHops = false, math.MaxUint16, math.MaxUint8
	}
	return known.Close()
}

// settle lowers one URL to what it is offered.
func (l *lowering) settle(n int) error {
	x := &l.nodes[n]
	if x.known && x.offered >= x.depth && x.offeredHops >= x.hops {
		return nil
	}
	if x.gate == gateUnknown {
		if err := l.decide(n); err != nil {
			return err
		}
	}
	switch x.gate {
	case gateRecord:
		x.depth, x.hops = min(x.depth, x.offered), min(x.hops, x.offeredHops)
		x.changed = true
		if x.fetched {
			l.tell(n)
		}
	case gateRow:
		if x.offered < x.rowDepth || x.offeredHops < x.rowHops {
			x.rowDepth, x.rowHops = min(x.rowDepth, x.offered), min(x.rowHops, x.offeredHops)
			x.rowsChanged = true
		}
	}
	return nil
}

// decide asks what counts of the links to a URL. Where they are withheld for now although none was when they were
// counted, they counted.
func (l *lowering) decide(n int) error {
	x, key := &l.nodes[n], l.keys.Key(n)
	v := l.p.env.Admission.VerdictKey(urlkey.Key(key), admission.Facts{})
	create, creates := l.created[n]
	switch {
	case !v.OK() && !v.Later && !creates:
		x.gate = gateClosed
		return nil
	case v.OK() && x.known:
		x.gate = gateRecord
		return nil
	}
	var err error
	var sum linkSum
	if sum, err = l.withheldSum(key); err != nil {
		return err
	}
	switch {
	case sum.any:
		x.gate, x.rowDepth, x.rowHops = gateRow, sum.depth, sum.hops
	case x.known:
		x.gate = gateRecord
	case creates && create.reason != 0:
		x.gate, x.rowDepth, x.rowHops = gateRow, math.MaxUint16, math.MaxUint8
	case creates:
		x.gate, x.known, x.depth, x.hops = gateRecord, true, math.MaxUint16, math.MaxUint8
	default:
		x.gate = gateClosed
	}
	if sum.any || x.gate == gateClosed {
		delete(l.created, n)
	}
	return nil
}

// withheldSum adds up the withheld links to a URL.
func (l *lowering) withheldSum(target []byte) (sum linkSum, err error) {
	l.key = storage.AppendLinkdbKey(l.key[:0], target, 0)
	for ok := l.withheld.SeekGE(l.key); ok; ok = l.withheld.Next() {
		of, _, err := storage.SplitLinkdbKey(l.withheld.Key())
		if err != nil {
			return sum, err
		}
		if !bytes.Equal(of, target) {
			break
		}
		var w storage.Withheld
		if err := storage.DecodeWithheld(l.withheld.Value(), &w); err != nil {
			return sum, fmt.Errorf("links to %s: %w", target, err)
		}
		sum = sum.plus(sumOfWithheld(&w))
	}
	return sum, l.withheld.Err()
}
