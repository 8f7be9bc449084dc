// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestLinkRankOfWeb ranks the pages of cnr-2000, a part of the Italian web (Boldi and Vigna), in memory and on disk,
// and compares with a computation over lists of links.
func TestLinkRankOfWeb(t *testing.T) {
	file := os.Getenv("SEINE_CONFORMANCE_DATA")
	if file == "" {
		t.Skip("SEINE_CONFORMANCE_DATA is not set: no graph of a real web")
	}
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	most := math.MaxInt
	if testing.Short() { // under the race detector
		most = 20_000
	}
	out := readGraph(t, file+"/graph/cnr-2000-edges.txt.xz", most)
	for _, r := range w.ranksLists(out, 200) {
		t.Logf("%d nodes, %d edges in %d bytes, %d passes", r.Nodes, r.Edges, r.Bytes, r.Passes)
		if !testing.Short() && r.Edges != 3_128_710 && r.Edges != 3_216_152 {
			t.Errorf("%d edges", r.Edges)
		}
	}
}

// TestLinkRankMany ranks the pages of a random graph that has several blocks, and pages with more links than an item
// has, in memory and on disk.
func TestLinkRankMany(t *testing.T) {
	w := newWorld(t, admission.Options{Scope: policy.ScopeAny})
	defer w.close()
	out, rng := make([][]uint32, blockNodes+10_000), rand.New(rand.NewPCG(1, 2))
	link := func(from, to int) {
		if from != to {
			out[from] = append(out[from], uint32(to))
		}
	}
	for from := range out {
		link(from, rng.IntN(len(out)))
		link(rng.IntN(1000), from)
	}
	for i := range graphItemTargets + 1000 {
		link(70_000, i)
	}
	for i := range out {
		slices.Sort(out[i])
		out[i] = slices.Compact(out[i])
	}
	w.ranksLists(out, 5)
}

// ranksLists compares ranks in memory and on disk, after some passes, with a computation over lists of links.
func (w *world) ranksLists(out [][]uint32, passes int) (all []LinkRanked) {
	w.fillGraph(out)
	want := rankLists(out, passes)
	o := rankOptions()
	o.Tolerance, o.Passes, o.DryRun = 0, passes, true
	for _, memory := range []int64{1 << 30, 1 << 20} {
		o.Memory = memory
		node := 0
		o.Each = func(name []byte, rank float64) error {
			if got := string(w.nodeKey(node)); string(name) != got {
				return fmt.Errorf("node %d is %s, want %s", node, name, got)
			}
			if math.Abs(rank-want[node])*float64(len(want)) > 1e-6 {
				return fmt.Errorf("node %d has rank %g, want %g", node, rank, want[node])
			}
			node++
			return nil
		}
		r, err := w.p.LinkRank(context.Background(), o)
		if err != nil {
			w.t.Fatal(err)
		}
		if node != len(want) || r.Nodes != uint64(node) || r.Passes != passes {
			w.t.Fatalf("%d nodes, want %d: %+v", node, len(want), r)
		}
		all = append(all, r)
	}
	if math.Abs(all[0].Change-all[1].Change) > 1e-9 {
		w.t.Fatalf("ranks change by %g in memory, by %g on disk", all[0].Change, all[1].Change)
	}
	return all
}

// readGraph reads lines of two numbers, the nodes of an edge, sorted. Edges of nodes from number most on are left out.
func readGraph(t *testing.T, file string, most int) (out [][]uint32) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := xz.NewReader(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		a, b, _ := strings.Cut(lines.Text(), "\t")
		from, err := strconv.ParseUint(a, 10, 32)
		to, terr := strconv.ParseUint(b, 10, 32)
		if err = errors.Join(err, terr); err != nil {
			t.Fatal(err)
		}
		if int(from) >= most {
			break
		}
		if int(to) >= most {
			continue
		}
		for int(max(from, to)) >= len(out) {
			out = append(out, nil)
		}
		out[from] = append(out[from], uint32(to))
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// nodeKey is the key of a node of a graph without URLs. Keys are in the order of nodes.
func (w *world) nodeKey(node int) []byte {
	return fmt.Appendf(nil, "example,h%05d,)/%07d http", node/100, node)
}

// fillGraph writes crawldb and linkdb of a graph, in two segments.
func (w *world) fillGraph(out [][]uint32) {
	w.fill(len(out), func(i int) ([]byte, storage.Record) {
		return w.nodeKey(i), storage.Record{Status: storage.StatusFetched, Segment: 1 + uint32(i)%2}
	})
	in := make([][]uint32, len(out))
	for from, targets := range out {
		for _, to := range targets {
			in[to] = append(in[to], uint32(from))
		}
	}
	ing := w.store.NewIngestion()
	table := ing.Table(storage.Linkdb())
	for to, sources := range in {
		for segment := range uint32(2) {
			value := storage.AppendInlinks(nil, nil)
			var last []byte
			for _, from := range sources {
				if from%2 == segment {
					key := w.nodeKey(int(from))
					value = storage.AppendInlink(value, last, key, nil)
					last = key
				}
			}
			if last == nil {
				continue
			}
			if err := table.Set(storage.AppendLinkdbKey(nil, w.nodeKey(to), segment+1), value); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	if err := ing.Commit(); err != nil {
		w.t.Fatal(err)
	}
}

// rankLists is PageRank over lists of links, each target once, after some passes.
func rankLists(out [][]uint32, passes int) []float64 {
	n := float64(len(out))
	for i := range out {
		slices.SortFunc(out[i], cmp.Compare[uint32])
		out[i] = slices.Compact(out[i])
	}
	rank := make([]float64, len(out))
	for i := range rank {
		rank[i] = 1 / n
	}
	for range passes {
		next, given := make([]float64, len(out)), 0.0
		for i, targets := range out {
			for _, to := range targets {
				next[to] += rank[i] / float64(len(targets))
			}
			if len(targets) > 0 {
				given += rank[i]
			}
		}
		for i := range next {
			next[i] = 0.85*next[i] + (1-0.85*given)/n
		}
		rank = next
	}
	return rank
}
