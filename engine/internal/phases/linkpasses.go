// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/seine-crawler/seine/storage"
)

// passes computes PageRank over a linkGraph (Page, Brin, Motwani and Winograd, "The PageRank Citation Ranking", 1998):
// the share of time that a walker spends at each node who follows a link of its node, each as likely, with probability
// damping, and else begins anew at one of the starting nodes. It begins anew too where no link leads on, and with some
// probability where a link leads to another host. Ranks add up to 1.
//
// A pass reads all edges once, in order. While two numbers for each node fit into memory, blocks are passed over at the
// same time, each by one goroutine, which alone adds to the ranks of its nodes. Otherwise ranks are in temporary files:
// each block is passed over with the ranks of sources read beside its edges, and a last look at all ranks, which takes
// little beside the edges, completes the pass. Both add up in the same order.
type passes struct {
	graph      *linkGraph
	damping    float64
	otherHosts float64
	workers    int // goroutines that pass over blocks in memory

	// In memory.
	rank, next []float64

	// On disk.
	store *storage.Store
	ranks *storage.Spool
}

// newPasses begins with equal ranks of all starting nodes.
func newPasses(env *Env, g *linkGraph, o *LinkRankOptions, onDisk bool) (*passes, error) {
	p := &passes{graph: g, damping: o.Damping, otherHosts: o.OtherHosts, store: env.Store, workers: env.Processors}
	first := func(i int) float64 { return p.starting(i) }
	if !onDisk {
		p.rank, p.next = make([]float64, g.nodes), make([]float64, g.nodes)
		for i := range p.rank {
			p.rank[i] = first(i)
		}
		return p, nil
	}
	column, err := newRankColumn(env.Store)
	for i := 0; err == nil && i < g.nodes; i++ {
		err = column.add(first(i))
	}
	if err == nil {
		p.ranks, err = column.seal()
	}
	return p, err
}

func (p *passes) close() error {
	if p.ranks == nil {
		return nil
	}
	return p.ranks.Close()
}

// starting is the probability that a walk begins at a node.
func (p *passes) starting(node int) float64 {
	if p.graph.start != nil && !p.graph.start.has(node) {
		return 0
	}
	return 1 / float64(p.graph.starts)
}

// run makes passes until the ranks change by less than tolerance in all, at most most. It returns their number and the
// last change.
func (p *passes) run(ctx context.Context, tolerance float64, most int) (n int, change float64, err error) {
	change = math.Inf(1)
	for n < most && change >= tolerance {
		if err := ctx.Err(); err != nil {
			return n, change, err
		}
		if p.ranks == nil {
			change, err = p.inMemory(ctx)
		} else {
			change, err = p.onDisk(ctx)
		}
		if err != nil {
			return n, change, fmt.Errorf("pass %d: %w", n+1, err)
		}
		n++
	}
	return n, change, nil
}

// inMemory makes one pass over all blocks at once.
func (p *passes) inMemory(ctx context.Context) (change float64, err error) {
	blocks := p.graph.blocks
	given, errs := make([]float64, len(blocks)), make([]error, len(blocks))
	var all sync.WaitGroup
	var next atomic.Int64
	for range min(max(p.workers, 1), len(blocks)) {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := int(next.Add(1)) - 1; i < len(blocks); i = int(next.Add(1)) - 1 {
				b := &blocks[i]
				to := p.next[b.from:b.to]
				clear(to)
				given[i], errs[i] = p.block(ctx, b, &rankWindow{ranks: p.rank}, to)
			}
		}()
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	anew := p.anew(given)
	for i, sum := range p.next {
		r := p.damping*sum + anew*p.starting(i)
		change += math.Abs(r - p.rank[i])
		p.next[i] = r
	}
	p.rank, p.next = p.next, p.rank
	return change, nil
}

// anew is the probability that the walk begins anew in a pass whose blocks were given some of the ranks: by the
// damping, where no link leads on, and where it does not go on to another host.
func (p *passes) anew(given []float64) float64 {
	sum := 0.0
	for _, g := range given {
		sum += g
	}
	return 1 - p.damping*sum
}

// onDisk makes one pass, block after block.
func (p *passes) onDisk(ctx context.Context) (change float64, err error) {
	column, err := newRankColumn(p.store)
	if err != nil {
		return 0, err
	}
	var given []float64
	var to []float64
	for i := range p.graph.blocks {
		b := &p.graph.blocks[i]
		to = append(to[:0], make([]float64, b.to-b.from)...)
		var sum float64
		if sum, err = p.blockFrom(ctx, b, to); err != nil {
			return 0, errors.Join(err, column.spool.Close())
		}
		given = append(given, sum)
		for _, r := range to {
			if err := column.add(r); err != nil {
				return 0, errors.Join(err, column.spool.Close())
			}
		}
	}
	sums, err := column.seal()
	if err != nil {
		return 0, err
	}
	next, change, err := p.complete(sums, p.anew(given))
	if err = errors.Join(err, sums.Close()); err != nil {
		return 0, err
	}
	err = p.ranks.Close()
	p.ranks = next
	return change, err
}

// blockFrom is block with the ranks of the spool.
func (p *passes) blockFrom(ctx context.Context, b *graphBlock, to []float64) (given float64, err error) {
	r, err := p.ranks.Read()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return p.block(ctx, b, &rankWindow{from: r}, to)
}

// complete makes the new ranks of sums, and compares them with those before.
func (p *passes) complete(sums *storage.Spool, anew float64) (_ *storage.Spool, change float64, err error) {
	column, err := newRankColumn(p.store)
	if err != nil {
		return nil, 0, err
	}
	before := 0
	var old []float64
	r, err := p.ranks.Read()
	if err != nil {
		return nil, 0, errors.Join(err, column.spool.Close())
	}
	err = eachRank(sums, func(i int, sum float64) error {
		if before == len(old) {
			before = 0
			var err error
			if old, err = readRanks(r, old); err != nil {
				return err
			}
		}
		rank := p.damping*sum + anew*p.starting(i)
		change += math.Abs(rank - old[before])
		before++
		return column.add(rank)
	})
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, 0, errors.Join(err, column.spool.Close())
	}
	ranks, err := column.seal()
	return ranks, change, err
}

// each calls fn with the rank of each node, in order.
func (p *passes) each(fn func(node int, rank float64) error) error {
	if p.ranks != nil {
		return eachRank(p.ranks, fn)
	}
	for i, r := range p.rank {
		if err := fn(i, r); err != nil {
			return err
		}
	}
	return nil
}

// block passes over the edges of one block and adds what sources give to the ranks of its nodes. It returns how much
// that was in all.
func (p *passes) block(ctx context.Context, b *graphBlock, ranks *rankWindow, to []float64) (given float64, err error) {
	r, err := b.edges.Read()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	weights := [2]float64{1, p.otherHosts}
	source := uint32(0)
	for {
		items, err := r.Next()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || items == nil {
			return given, err
		}
		for len(items) > 0 {
			head, degree, count, n := itemHead(items)
			source += uint32(head >> 1)
			if int(source)-ranks.first >= len(ranks.ranks) {
				if err := ranks.seek(int(source)); err != nil {
					return given, err
				}
			}
			share := ranks.ranks[int(source)-ranks.first] * weights[head&1] / float64(degree)
			given += share * float64(count)
			items = give(items[n:], source-b.from, count, share, to)
		}
	}
}

// itemHead reads the numbers before the targets of an item, and returns how many bytes they take.
func itemHead(b []byte) (head, degree, count uint64, n int) {
	head, n = binary.Uvarint(b)
	degree, m := binary.Uvarint(b[n:])
	n += m
	count, m = binary.Uvarint(b[n:])
	return head, degree, count, n + m
}

// give adds a share to each target of an item and returns what is behind it. source is its number less that of to's
// first node.
//
// Nearly all gaps take one byte: that case is in the loop.
func give(b []byte, source uint32, count uint64, share float64, to []float64) []byte {
	first, n := binary.Varint(b)
	b = b[n:]
	at := source + uint32(first)
	to[at] += share
	for ; count > 1; count-- {
		gap := uint32(b[0])
		if gap < 0x80 {
			b = b[1:]
		} else {
			long, n := binary.Uvarint(b)
			gap, b = uint32(long), b[n:]
		}
		at += gap + 1
		to[at] += share
	}
	return b
}

// rankWindow gives ranks in the order of nodes: all of them, or those of the current block of a spool.
type rankWindow struct {
	ranks []float64
	first int // node
	from  *storage.SpoolReader
}

// seek moves on to the block that has a node.
func (w *rankWindow) seek(node int) (err error) {
	for node-w.first >= len(w.ranks) {
		w.first += len(w.ranks)
		if w.ranks, err = readRanks(w.from, w.ranks); err != nil {
			return err
		}
	}
	return nil
}

// rankColumn writes ranks to a spool, 8 bytes each.
type rankColumn struct {
	spool *storage.Spool
	item  []byte
}

func newRankColumn(store *storage.Store) (*rankColumn, error) {
	spool, err := store.NewSpool()
	return &rankColumn{spool: spool}, err
}

func (c *rankColumn) add(rank float64) error {
	c.item = binary.LittleEndian.AppendUint64(c.item[:0], math.Float64bits(rank))
	return c.spool.Add(c.item)
}

func (c *rankColumn) seal() (*storage.Spool, error) {
	if err := c.spool.Seal(); err != nil {
		return nil, errors.Join(err, c.spool.Close())
	}
	return c.spool, nil
}

// readRanks reads the next block of a spool of ranks into dst. At the end it is an error: nobody reads beyond it.
func readRanks(r *storage.SpoolReader, dst []float64) ([]float64, error) {
	b, err := r.Next()
	if err == nil && b == nil {
		err = errors.New("a temporary file of ranks ends too early")
	}
	dst = dst[:0]
	for ; len(b) >= 8; b = b[8:] {
		dst = append(dst, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return dst, err
}

// eachRank calls fn with each rank of a spool.
func eachRank(s *storage.Spool, fn func(node int, rank float64) error) (err error) {
	r, err := s.Read()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for n := 0; ; {
		b, err := r.Next()
		if err != nil || b == nil {
			return err
		}
		for ; len(b) >= 8; b = b[8:] {
			if err := fn(n, math.Float64frombits(binary.LittleEndian.Uint64(b))); err != nil {
				return err
			}
			n++
		}
	}
}
