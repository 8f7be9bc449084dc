// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// What is measured: one pass of linkrank over the edges, beside scans of the same edges in the same run: one that
// decodes each edge and adds up its number, and one that only reads their bytes and checks them. Times are of the
// process's processor, so that they hold on a busy machine. The graph looks like the web: 80% of links stay on their
// host of 100 pages, the others lead to other hosts by Zipf's law, two of three to the front page.
//
//	LinkRank/nodes=N/pass     ranks in memory: ns per edge, and the ratios to both scans (edges/s of each scan = 1)
//	LinkRank/nodes=N/disk     the same with ranks on disk, in 8 blocks
//
// How to run:
//
//	go test -run '^$' -bench LinkRank -benchtime 5x ./engine/internal/phases
func BenchmarkLinkRank(b *testing.B) {
	for _, nodes := range []int{1_000_000, 10_000_000} {
		if testing.Short() && nodes > 1_000_000 {
			continue
		}
		for _, onDisk := range []bool{false, true} {
			name := "pass"
			if onDisk {
				name = "disk"
			}
			b.Run(fmt.Sprintf("nodes=%d/%s", nodes, name), func(b *testing.B) { benchPass(b, nodes, onDisk) })
		}
	}
}

func benchPass(b *testing.B, nodes int, onDisk bool) {
	blocks := blocksInMemory(nodes)
	if onDisk {
		blocks = 8
	}
	w := benchWorld(b)
	defer w.close()
	g := w.randomGraph(nodes, 20, blocks)
	defer g.close()
	o := rankOptions()
	p, err := newPasses(&Env{Store: w.store, Processors: runtime.GOMAXPROCS(0)}, g, &o, onDisk)
	if err != nil {
		b.Fatal(err)
	}
	defer p.close()
	ctx := context.Background()
	var pass, decode, read float64
	for b.Loop() {
		start := cpuNow(b).Seconds()
		if _, _, err := p.run(ctx, 0, 1); err != nil {
			b.Fatal(err)
		}
		pass += cpuNow(b).Seconds() - start
		start = cpuNow(b).Seconds()
		if n := scanEdges(b, g, true); n == 0 {
			b.Fatal("nothing was decoded")
		}
		decode += cpuNow(b).Seconds() - start
		start = cpuNow(b).Seconds()
		scanEdges(b, g, false)
		read += cpuNow(b).Seconds() - start
	}
	edges := float64(g.edges) * float64(b.N)
	b.ReportMetric(pass*1e9/edges, "ns/edge")
	b.ReportMetric(decode/pass, "of-scan")
	b.ReportMetric(read/pass, "of-bytes")
	b.ReportMetric(float64(g.bytes())/float64(g.edges), "B/edge")
}

// scanEdges reads all blocks, and decodes them if that is wanted.
func scanEdges(t testing.TB, g *linkGraph, decode bool) (sum uint64) {
	for i := range g.blocks {
		r, err := g.blocks[i].edges.Read()
		for err == nil {
			var items []byte
			if items, err = r.Next(); items == nil {
				break
			}
			for decode && len(items) > 0 {
				head, _, count, n := itemHead(items)
				first, m := binary.Varint(items[n:])
				items = items[n+m:]
				sum += head + uint64(first)
				for ; count > 1; count-- {
					gap, n := binary.Uvarint(items)
					sum += gap
					items = items[n:]
				}
			}
		}
		if err = errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return sum
}

func (g *linkGraph) bytes() (n int64) {
	for i := range g.blocks {
		n += g.blocks[i].edges.Bytes()
	}
	return n
}

// randomGraph makes a graph without a store's records.
func (w *world) randomGraph(nodes, degree, blocks int) *linkGraph {
	o := rankOptions()
	b := graphing{p: w.p, o: &o, graph: &linkGraph{nodes: nodes, starts: nodes}}
	if err := b.makeBlocks(blocks); err != nil {
		w.t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	hosts := nodes / 100
	popular := rand.NewZipf(rng, 1.1, 10, uint64(hosts-1))
	for n := range nodes {
		for range degree {
			to := n/100*100 + rng.IntN(100)
			if rng.IntN(5) == 0 {
				to = int(popular.Uint64()) * 7919 % hosts * 100 // a front page
				if rng.IntN(3) == 0 {
					to += rng.IntN(100)
				}
			}
			b.targets = append(b.targets, uint64(min(to, nodes-1))<<1)
		}
		if err := b.source(n); err != nil {
			w.t.Fatal(err)
		}
	}
	for i := range b.graph.blocks {
		if err := b.graph.blocks[i].edges.Seal(); err != nil {
			w.t.Fatal(err)
		}
	}
	return b.graph
}
