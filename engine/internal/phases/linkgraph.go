// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// LinkRankOptions say how pages are ranked. All of Damping, OtherHosts, Tolerance and Passes are required.
type LinkRankOptions struct {
	Nodes   GraphNodes
	Damping float64 // probability of following a link, between 0 and 1
	// OtherHosts is the part of its share that a link to another host passes on, from 0 to 1; the rest goes where walks
	// begin.
	OtherHosts     float64
	IgnoreInternal bool // links within a host do not count
	// Walks begin at the pages that Trusted names, else with FromSeeds at the seeds, else anywhere. A target that names
	// no page is an error, and so are no seeds: the ranks would be others than those that are wanted.
	Trusted   Targets
	FromSeeds bool
	Tolerance float64 // of the sum of all changes in a pass; ranks add up to 1
	Passes    int     // at most
	// Memory, in bytes, bounds what ranks take in memory; beyond it they are in temporary files.
	Memory int64
	DryRun bool // crawldb stays as it is
	Top    int  // how many of the best nodes LinkRanked.Top has
	// Each, if not nil, is called with the rank of each node, in the order of their last pages. name is valid until it
	// returns.
	Each func(name []byte, rank float64) error
}

// linkGraph is the graph of links in temporary files. Nodes are numbered in the order of their last pages, so that the
// pages of a host are neighbours, and most links lead to a near number: they take little more than a byte each, and
// passes over them touch the memory of few nodes at a time.
//
// The edges are cut into blocks by the number of their target. Each block is sorted by source, so a pass over it reads
// the ranks of sources in order and adds to those of few targets: the block-based strategy of Haveliwala ("Efficient
// Computation of PageRank", Stanford 1999), which needs memory for the targets of one block only.
//
//	item     uvarint number of the source less that of the item before, × 2, + 1 if targets are on other hosts
//	         uvarint out-degree of the source, in the whole graph
//	         uvarint number of targets that follow, at most graphItemTargets
//	         varint  first target less the source
//	         uvarint each further target less the one before, less 1
//
// Example: page 7 links to 5, 6 and 9, all on its host, and to nothing in other blocks
//
//	0e 03 03 03 00 02
type linkGraph struct {
	nodes  int
	edges  uint64
	blocks []graphBlock
	start  bitset // nodes at which the walk may begin; nil: all
	starts int    // of these
	around domainNumbers
}

// graphBlock holds the edges to the nodes [from, to).
type graphBlock struct {
	from, to uint32
	edges    *storage.Spool
	source   uint32 // of the last item
}

func (g *linkGraph) close() error {
	var errs []error
	for i := range g.blocks {
		errs = append(errs, g.blocks[i].edges.Close())
	}
	g.blocks = nil
	return errors.Join(errs...)
}

// bitset is a set of small numbers.
type bitset []uint64

func (b *bitset) add(n int) {
	for n/64 >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[n/64] |= 1 << (n % 64)
}

func (b bitset) has(n int) bool { return n/64 < len(b) && b[n/64]&(1<<(n%64)) != 0 }

// graphing builds a linkGraph.
//
//	crawldb ─▶ nodes, where walks begin, redirects
//	linkdb, by target ─┐
//	redirects ─────────┴▶ number of the target, sorted by source ─┬▶ edges of each source ─▶ blocks
//	crawldb ──────────────▶ number and state of the source ───────┘
//
// A link counts if it is of the version of its page that crawldb knows, so one that a page no longer has is gone. A
// page that is gone or redirects has no links but the redirect.
type graphing struct {
	p     *Phases
	rd    storage.Reader
	o     *LinkRankOptions
	graph *linkGraph

	foreign   bool              // only links from another registered domain
	own       string            // that of the current target
	ofTarget  urlkey.DomainMemo // domains of targets
	ofSource  urlkey.DomainMemo // and of sources
	bySource  *storage.Sorter   // source → uvarint segment × 2 + 1 if its target is on another host, uvarint target
	redirects *storage.Sorter   // target → source

	value   []byte
	targets []uint64         // of the current source: number × 2, + 1 if on another host
	compact int              // how many of them are known to be distinct
	held    map[int][]uint64 // targets of sources that come again; see domainNumbers
	item    []byte
}

// graphItemTargets bounds the targets of an item, so that it stays below storage.SpoolItemMax.
const graphItemTargets = 1 << 14

// newGraph builds the graph of a snapshot. blocks says in how many blocks, when the number of nodes is known.
func (p *Phases) newGraph(
	ctx context.Context, rd storage.Reader, o *LinkRankOptions, blocks func(nodes int) int,
) (_ *linkGraph, err error) {
	b := graphing{
		p: p, rd: rd, o: o, graph: &linkGraph{}, bySource: p.env.Sorter(nil), redirects: p.env.Sorter(nil),
	}
	defer func() {
		err = errors.Join(err, b.bySource.Close(), b.redirects.Close())
		if err != nil {
			err = errors.Join(err, b.graph.close())
		}
	}()
	if b.graph.around, err = numberDomains(ctx, rd, o.Nodes); err != nil {
		return nil, fmt.Errorf("numbering domains: %w", err)
	}
	if err := b.census(ctx); err != nil {
		return nil, fmt.Errorf("numbering nodes: %w", err)
	}
	if err := b.invert(ctx); err != nil {
		return nil, fmt.Errorf("sorting links by source: %w", err)
	}
	if err := b.makeBlocks(blocks(b.graph.nodes)); err != nil {
		return nil, err
	}
	if err := b.write(ctx); err != nil {
		return nil, fmt.Errorf("writing the graph: %w", err)
	}
	return b.graph, nil
}

// census counts nodes and notes redirects and where walks begin.
func (b *graphing) census(ctx context.Context) (err error) {
	walk := newGraphWalk(b.rd, b.o.Nodes, b.graph.around)
	defer func() { err = errors.Join(err, walk.sc.Close()) }()
	captures := b.rd.Scan(storage.CDXRange(), nil, nil)
	defer func() { err = errors.Join(err, captures.Close()) }()
	var r storage.Record
	for n := 0; walk.next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		key := walk.sc.Key()
		if err := storage.DecodeRecord(walk.sc.Value(), &r); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		if b.begins(key, &r) && !b.graph.start.has(walk.number) {
			b.graph.start.add(walk.number)
			b.graph.starts++
		}
		if r.Status != storage.StatusRedirTemp && r.Status != storage.StatusRedirPerm {
			continue
		}
		to, err := redirectOf(b.rd, captures, key, &r)
		if err == nil && to != "" {
			err = b.redirects.Add([]byte(to), key)
		}
		if err != nil {
			return err
		}
	}
	b.graph.nodes = walk.number + 1
	if err := walk.sc.Err(); err != nil {
		return err
	}
	if b.graph.starts == 0 {
		b.graph.start, b.graph.starts = nil, b.graph.nodes
		return b.beginsAnywhere()
	}
	return nil
}

// beginsAnywhere returns an error if walks were to begin at some pages, of which there is none.
func (b *graphing) beginsAnywhere() error {
	if b.o.FromSeeds && len(b.o.Trusted) == 0 && b.graph.nodes > 0 {
		return errors.New("walks are to begin at seeds, and no page that crawldb knows is one")
	}
	return nil
}

// begins reports whether a walk may begin at a page, apart from walks that begin anywhere.
func (b *graphing) begins(key []byte, r *storage.Record) bool {
	if len(b.o.Trusted) > 0 {
		return b.o.Trusted.Has(key)
	}
	return b.o.FromSeeds && r.IsSeed()
}

// redirectOf returns where a page redirects to, "" if that is not known any more. cdx says in which segment the
// redirect was seen; a random read of that segment takes some 20 µs, and few pages redirect.
func redirectOf(rd storage.Reader, captures *storage.Scanner, key []byte, r *storage.Record) (urlkey.Key, error) {
	at := storage.AppendCDXKey(nil, key, r.LastFetch)
	if !captures.SeekGE(at) || !bytes.Equal(captures.Key(), at) {
		return "", captures.Err()
	}
	var c storage.CDX
	if err := storage.DecodeCDX(captures.Value(), &c); err != nil {
		return "", fmt.Errorf("cdx of %s: %w", key, err)
	}
	value, ok, err := rd.Get(storage.ParseLinks(c.Segment), key, nil)
	if err != nil || !ok {
		return "", err
	}
	var o storage.FetchOutcome
	if err := storage.DecodeFetchOutcome(value, &o); err != nil {
		return "", fmt.Errorf("parse record %s: %w", key, err)
	}
	return o.Redirect, nil
}

// invert sorts the edges by source.
func (b *graphing) invert(ctx context.Context) (err error) {
	walk := newGraphWalk(b.rd, b.o.Nodes, b.graph.around)
	rows := b.rd.Scan(storage.Linkdb(), nil, nil)
	defer func() { err = errors.Join(err, walk.sc.Close(), rows.Close()) }()
	var target []byte
	number, known := 0, false
	for n := 0; rows.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		of, segment, err := storage.SplitLinkdbKey(rows.Key())
		if err != nil {
			return err
		}
		if !bytes.Equal(of, target) {
			target = append(target[:0], of...)
			number, known = walk.find(target)
			b.at(target)
		}
		if !known {
			continue
		}
		var added error
		err = storage.VisitLinks(rows.Value(), segment, func(from, _ []byte, of uint32) bool {
			added = b.edge(from, target, number, of)
			return added == nil
		})
		if err = errors.Join(err, added); err != nil {
			return fmt.Errorf("inlinks of %s: %w", target, err)
		}
	}
	if err := errors.Join(rows.Err(), walk.sc.Err()); err != nil || b.redirects.Len() == 0 {
		return err
	}
	return b.invertRedirects()
}

// redirectSegment stands for the segment of an edge that is a redirect. No segment has that number, and links of other
// stores have importedSegment.
const redirectSegment = math.MaxUint32

// invertRedirects adds the redirects as edges of redirectSegment.
func (b *graphing) invertRedirects() (err error) {
	run, err := b.redirects.Sort()
	if err != nil {
		return err
	}
	walk := newGraphWalk(b.rd, b.o.Nodes, b.graph.around)
	defer func() { err = errors.Join(err, run.Close(), walk.sc.Close()) }()
	for run.Next() {
		number, known := walk.find(run.Key())
		if !known {
			continue
		}
		b.at(run.Key())
		if err := b.edge(run.Value(), run.Key(), number, redirectSegment); err != nil {
			return err
		}
	}
	return errors.Join(run.Err(), walk.sc.Err())
}

// at begins the edges to a target.
func (b *graphing) at(target []byte) {
	if b.foreign {
		b.own = b.ofTarget.DomainKey(target)
	}
}

// edge gives one edge to the sorter.
func (b *graphing) edge(from, target []byte, number int, segment uint32) error {
	if b.foreign && b.ofSource.DomainKey(from) == b.own {
		return nil
	}
	away := uint64(0)
	if host := urlkey.HostKeyOf(target); !bytes.HasPrefix(from, host) {
		away = 1
	} else if b.o.IgnoreInternal {
		return nil
	}
	b.value = binary.AppendUvarint(b.value[:0], uint64(segment)<<1|away)
	b.value = binary.AppendUvarint(b.value, uint64(number))
	return b.bySource.Add(from, b.value)
}

// makeBlocks makes the empty blocks.
func (b *graphing) makeBlocks(blocks int) error {
	g := b.graph
	size := (g.nodes + blocks - 1) / blocks
	for from := 0; from < g.nodes; from += size {
		edges, err := b.p.env.Store.NewSpool()
		if err != nil {
			return err
		}
		g.blocks = append(g.blocks, graphBlock{from: uint32(from), to: uint32(min(from+size, g.nodes)), edges: edges})
	}
	return nil
}

// write writes the edges into the blocks, source by source.
func (b *graphing) write(ctx context.Context) error {
	source := -1
	walk := newGraphWalk(b.rd, b.o.Nodes, b.graph.around)
	err := b.eachEdge(ctx, walk, func(edge []byte, from int, r *storage.Record) error {
		if from != source {
			if err := b.turn(source, from); err != nil {
				return err
			}
			source = from
		}
		b.target(edge, source, r)
		return nil
	})
	if err == nil {
		err = b.turn(source, b.graph.nodes)
	}
	for i := range b.graph.blocks {
		if err == nil {
			err = b.graph.blocks[i].edges.Seal()
		}
	}
	return err
}

// eachEdge calls fn with the edges in bySource of the pages that crawldb has, in the order of these, with the number of
// the page's node and its record. It closes the walk, which gives the numbers.
func (b *graphing) eachEdge(
	ctx context.Context, walk *nodeWalk, fn func(edge []byte, from int, r *storage.Record) error,
) (err error) {
	defer func() { err = errors.Join(err, walk.sc.Close()) }()
	run, err := b.bySource.Sort()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	var r storage.Record
	var page []byte
	known := false
	for n := 0; run.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !bytes.Equal(run.Key(), page) {
			page = append(page[:0], run.Key()...)
			walk.seek(page)
			if known = walk.ok && bytes.Equal(walk.sc.Key(), page); known {
				if err := storage.DecodeRecord(walk.sc.Value(), &r); err != nil {
					return fmt.Errorf("crawldb record %s: %w", page, err)
				}
			}
		}
		if known {
			if err := fn(run.Value(), walk.number, &r); err != nil {
				return err
			}
		}
	}
	return errors.Join(run.Err(), walk.sc.Err())
}

// readEdge takes an edge of bySource apart. ok is false if it does not count any more; r is its source's record.
func readEdge(edge []byte, r *storage.Record) (to, away uint64, ok bool) {
	head, n := binary.Uvarint(edge)
	to, _ = binary.Uvarint(edge[n:])
	switch segment := uint32(head >> 1); r.Status {
	case storage.StatusRedirTemp, storage.StatusRedirPerm:
		ok = segment == redirectSegment
	case storage.StatusGone, storage.StatusParseFailed:
	default:
		ok = segment == r.Segment
	}
	return to, head & 1, ok
}

// target notes an edge of the current source, unless it does not count any more.
func (b *graphing) target(edge []byte, source int, r *storage.Record) {
	number, away, ok := readEdge(edge, r)
	if !ok || b.o.Nodes != NodePages && int(number) == source {
		return
	}
	if b.o.Nodes != NodePages {
		away = 1
	}
	b.targets = append(b.targets, number<<1|away)
	if len(b.targets) >= 2*b.compact+graphItemTargets { // a domain may have more links than fit into memory
		slices.Sort(b.targets)
		b.targets = slices.Compact(b.targets)
		b.compact = len(b.targets)
	}
}

// turn goes on from the edges of one source to those of the next. Sources are written in the order of numbers: the
// edges of one whose number is above the next wait until all of these are there.
func (b *graphing) turn(from, to int) error {
	if to < from {
		if b.held == nil {
			b.held = map[int][]uint64{}
		}
		b.held[from] = b.targets
		b.targets, b.compact = b.held[to], 0
		delete(b.held, to)
		return nil
	}
	if err := b.source(from); err != nil {
		return err
	}
	for _, waits := range slices.Sorted(maps.Keys(b.held)) {
		if waits > to {
			break
		}
		b.targets, b.compact = b.held[waits], 0
		delete(b.held, waits)
		if waits < to { // no more of them came
			if err := b.source(waits); err != nil {
				return err
			}
		}
	}
	return nil
}

// source writes the edges of a source and forgets them.
func (b *graphing) source(number int) error {
	slices.Sort(b.targets)
	b.targets = slices.Compact(b.targets)
	all := b.targets
	b.graph.edges += uint64(len(all))
	for i, rest := 0, all; len(rest) > 0; i++ {
		block := &b.graph.blocks[i]
		end, _ := slices.BinarySearch(rest, uint64(block.to)<<1)
		if err := b.items(block, uint32(number), len(all), rest[:end]); err != nil {
			return err
		}
		rest = rest[end:]
	}
	b.targets, b.compact = all[:0], 0
	return nil
}

// items writes edges of one source to one block. Only where links to other hosts weigh less are they kept apart.
func (b *graphing) items(block *graphBlock, source uint32, degree int, targets []uint64) error {
	if b.o.OtherHosts == 1 {
		return b.itemsOf(block, source, degree, targets, func(uint64) bool { return true }, 0)
	}
	for away := range uint64(2) {
		of := func(t uint64) bool { return t&1 == away }
		if err := b.itemsOf(block, source, degree, targets, of, away); err != nil {
			return err
		}
	}
	return nil
}

// itemsOf writes those targets that a function chooses.
func (b *graphing) itemsOf(
	block *graphBlock, source uint32, degree int, targets []uint64, of func(uint64) bool, away uint64,
) error {
	for len(targets) > 0 {
		part := targets[:min(len(targets), graphItemTargets)]
		targets = targets[len(part):]
		count := 0
		for _, t := range part {
			if of(t) {
				count++
			}
		}
		if count == 0 {
			continue
		}
		item := binary.AppendUvarint(b.item[:0], uint64(source-block.source)<<1|away)
		item = binary.AppendUvarint(item, uint64(degree))
		item = binary.AppendUvarint(item, uint64(count))
		last, first := uint32(0), true
		for _, t := range part {
			if !of(t) {
				continue
			}
			to := uint32(t >> 1)
			if first {
				item = binary.AppendVarint(item, int64(to)-int64(source))
			} else {
				item = binary.AppendUvarint(item, uint64(to-last-1))
			}
			last, first = to, false
		}
		block.source, b.item = source, item
		if err := block.edges.Add(item); err != nil {
			return err
		}
	}
	return nil
}
