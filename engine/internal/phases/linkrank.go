// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// LinkRanked counts what LinkRank did.
type LinkRanked struct {
	Nodes   uint64
	Edges   uint64
	Starts  uint64 // nodes at which walks may begin
	Passes  int
	Change  float64 // in the last pass, of all ranks
	Changed uint64  // records of crawldb that have another score
	Bytes   int64   // of the edges, in temporary files
	Top     []RankedNode
}

// LinkRank ranks the nodes of the link graph by PageRank (passes) and gives each page the rank of its node as its
// score, times the number of nodes: 1 is the mean, as it is of VoteScorer, whose votes go on to be added. So generate
// and the frontier choose by it, and dedup keeps the page with the best. All of it is one ingestion: a crash leaves it
// done or not begun.
//
// Beside it, phases that write crawldb must not run.
func (p *Phases) LinkRank(ctx context.Context, o LinkRankOptions) (result LinkRanked, err error) {
	if err := p.linkRank(ctx, &o, &result); err != nil {
		return result, fmt.Errorf("linkrank: %w", err)
	}
	return result, nil
}

func (p *Phases) linkRank(ctx context.Context, o *LinkRankOptions, result *LinkRanked) (err error) {
	snapshot := p.env.Store.Snapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	if name, err := o.Trusted.unknown(snapshot); err != nil {
		return err
	} else if name != "" {
		return fmt.Errorf("target %q names no page that crawldb knows", name)
	}
	onDisk := false
	g, err := p.newGraph(ctx, snapshot, o, func(nodes int) int {
		onDisk = rankBytes*int64(nodes) > o.Memory
		if !onDisk {
			return blocksInMemory(nodes)
		}
		return int(rankBytes/2*int64(nodes)/max(o.Memory/2, 1)) + 1
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	result.Nodes, result.Edges, result.Starts = uint64(g.nodes), g.edges, uint64(g.starts)
	for i := range g.blocks {
		result.Bytes += g.blocks[i].edges.Bytes()
	}
	if g.nodes == 0 {
		return nil
	}
	ranks, err := newPasses(&p.env, g, o, onDisk)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ranks.close()) }()
	if result.Passes, result.Change, err = ranks.run(ctx, o.Tolerance, o.Passes); err != nil {
		return err
	}
	return p.writeScores(ctx, snapshot, o, scores{
		each: ranks.each, unit: float64(g.nodes), ranks: true, around: g.around,
	}, result)
}

const (
	// rankBytes is the memory that a node takes while all ranks are in memory.
	rankBytes = 16
	// blockNodes is how many nodes a block has then: their ranks fit into the processor's second cache. With a million
	// nodes a pass takes half as long as over one block. Each block costs three bytes and a look at the rank for every
	// source of it, so there are at most blocksMost: with ten million nodes and 20 links each, a pass over 64 blocks
	// takes 8.9 ns an edge, over 32, 24, 16 and 8 blocks 4.7, 4.7, 4.8 and 5.8. With 64 the sources of a block are two
	// cache lines apart in the mean, with 32 one: the processor seems to read ahead for these only.
	blockNodes, blocksMost = 1 << 16, 32
)

// blocksInMemory is the number of blocks while all ranks are in memory.
func blocksInMemory(nodes int) int { return min(nodes/blockNodes+1, blocksMost) }

// scores are what links say of all nodes.
type scores struct {
	each  func(fn func(node int, rank float64) error) error // in the order of nodes
	unit  float64                                           // the score of a page is the rank of its node times this
	ranks bool                                              // they are PageRank

	around domainNumbers
}

// ranking walks nodes, ranks and records side by side.
type ranking struct {
	ctx     context.Context
	o       *LinkRankOptions
	unit    float64
	walk    *nodeWalk
	result  *LinkRanked
	best    bestNodes
	records *storage.TableWriter
	hosts   *hostTally
	value   []byte
	name    []byte
	ahead   map[int]float64 // ranks of nodes that have records before those of lesser nodes
}

// writeScores reports the ranks, and writes them as scores unless that is not wanted.
func (p *Phases) writeScores(
	ctx context.Context, rd storage.Reader, o *LinkRankOptions, s scores, result *LinkRanked,
) (err error) {
	ing := p.env.Store.NewIngestion()
	defer ing.Abort()
	w := ranking{
		ctx: ctx, o: o, unit: s.unit, walk: newGraphWalk(rd, o.Nodes, s.around), result: result,
		best:    newBestNodes(o.Top),
		records: ing.Table(storage.Crawldb()), hosts: p.newHostTally(ing),
	}
	defer w.hosts.close()
	defer func() { err = errors.Join(err, w.walk.sc.Close()) }()
	if w.ahead, err = s.ahead(); err != nil {
		return err
	}
	w.walk.next()
	if err := s.each(w.node); err != nil {
		return err
	}
	result.Top = w.best.sorted()
	if err := w.walk.sc.Err(); err != nil || o.DryRun {
		return err
	}
	if err := w.hosts.finish(); err != nil {
		return err
	}
	meta, ranked := ing.Table(storage.Meta()), []byte(storage.MetaLinkRank)
	if s.ranks {
		err = meta.Set(ranked, nil)
	} else {
		err = meta.Delete(ranked)
	}
	if err != nil {
		return err
	}
	return ing.Commit()
}

// ahead returns the ranks of the domains that have others among their hosts: their records come before their turn, too.
func (s *scores) ahead() (map[int]float64, error) {
	if len(s.around) == 0 {
		return nil, nil
	}
	ranks := map[int]float64{}
	for _, node := range s.around {
		ranks[node] = 0
	}
	err := s.each(func(node int, rank float64) error {
		if _, wanted := ranks[node]; wanted {
			ranks[node] = rank
		}
		return nil
	})
	return ranks, err
}

// node takes over the rank of a node. The walk stands at its first record, or at those of domains whose turn is later.
func (w *ranking) node(node int, rank float64) error {
	if node%ctxCheckKeys == 0 && w.ctx.Err() != nil {
		return w.ctx.Err()
	}
	for ; w.walk.ok && w.walk.number > node; w.walk.next() {
		if err := w.page(w.ahead[w.walk.number] * w.unit); err != nil {
			return err
		}
	}
	name := w.walk.sc.Key
	if w.o.Nodes != NodePages {
		name = func() []byte { return w.walk.node }
	}
	w.best.add(rank, name)
	if w.o.Each != nil {
		if err := w.o.Each(name(), rank); err != nil {
			return err
		}
	}
	for ; w.walk.ok && w.walk.number == node; w.walk.next() {
		if err := w.page(rank * w.unit); err != nil {
			return err
		}
	}
	return nil
}

// page gives the current page a score.
func (w *ranking) page(score float64) error {
	if w.o.DryRun {
		return nil
	}
	var was storage.Record
	key := w.walk.sc.Key()
	if err := storage.DecodeRecord(w.walk.sc.Value(), &was); err != nil {
		return fmt.Errorf("crawldb record %s: %w", key, err)
	}
	r := was
	if r.Score = onScoreGrid(score); r.Score == was.Score {
		return nil
	}
	w.result.Changed++
	w.name = append(w.name[:0], key...)
	w.value = storage.AppendRecord(w.value[:0], &r)
	return errors.Join(w.hosts.change(w.name, true, &was, &r), w.records.Set(w.name, w.value))
}

// onScoreGrid rounds a score to what records keep in few bytes, as policy.VoteScorer does.
func onScoreGrid(score float64) float64 { return math.Round(score*(1<<16)) / (1 << 16) }

// NodeName is the name of a node for people: a URL, a host or a domain.
func NodeName(nodes GraphNodes, name []byte) string {
	switch nodes {
	case NodeHosts:
		return urlkey.HostKey(name).String()
	case NodeDomains:
		if bytes.HasSuffix(name, []byte{','}) {
			return urlkey.HostKey(append(bytes.Clone(name), ')')).Host()
		}
		return urlkey.HostKey(name).Host()
	}
	if u, err := urlkey.Key(name).URL(); err == nil {
		return u.String()
	}
	return string(name)
}
