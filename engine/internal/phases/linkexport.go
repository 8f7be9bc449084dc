// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/seine-crawler/seine/storage"
)

// GraphExport is where ExportGraph writes.
type GraphExport struct {
	// Vertex gets each node once, in the order of names, numbered from 0; name is valid until it returns. Edge gets
	// each edge once, in the order of numbers, with the number of pairs of pages that have it. All vertices come first.
	Vertex func(number uint64, name []byte) error
	Edge   func(from, to, pairs uint64) error
}

// ExportGraph writes the graph of links between hosts or registered domains: those of crawldb, and those that pages
// link to. Links within a node are left out, and links that pages dropped.
//
//	linkdb ─▶ name of the target's node, by source ─┐
//	crawldb ────────────────────────────────────────┴▶ pairs of names with counts, by target
//	names, sorted ─▶ numbers ─▶ vertices
//	pairs, number of the target ─▶ by source, number of the source ─▶ edges
//
// It reads a snapshot, beside any phase. All of it is sorted within the memory of four sorters, then on disk.
func (p *Phases) ExportGraph(ctx context.Context, nodes GraphNodes, to GraphExport) (err error) {
	rd := p.env.Store.Snapshot()
	sum := func(dst, a, b []byte) []byte {
		return binary.AppendUvarint(dst, readUvarint(a)+readUvarint(b))
	}
	x := exporting{
		ctx: ctx, rd: rd, nodes: nodes, to: to, sources: p.env.Sorter(nil), pairs: p.env.Sorter(sum),
		edges: p.env.Sorter(nil), named: p.env.Sorter(storage.FoldLast),
	}
	defer func() {
		err = errors.Join(err, x.sources.Close(), x.pairs.Close(), x.edges.Close(), x.named.Close(), rd.Close())
	}()
	if x.names, err = p.env.Store.NewSpool(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.names.Close()) }()
	for _, step := range []func() error{x.links, x.join, x.number, x.targets, x.write} {
		if err := step(); err != nil {
			return fmt.Errorf("exporting the graph of links: %w", err)
		}
	}
	return nil
}

// exporting is one run of ExportGraph.
type exporting struct {
	ctx     context.Context
	rd      storage.Reader
	nodes   GraphNodes
	to      GraphExport
	sources *storage.Sorter // source page → segment, name of the target's node
	pairs   *storage.Sorter // target's name, 0, source's name → count
	edges   *storage.Sorter // source's name, 0, number of the target (8) → count
	named   *storage.Sorter // names
	names   *storage.Spool  // the same, in order
	steps   int
	value   []byte
}

func readUvarint(b []byte) uint64 {
	n, _ := binary.Uvarint(b)
	return n
}

// canceled is the context's error, looked at now and then.
func (x *exporting) canceled() error {
	if x.steps++; x.steps%ctxCheckKeys != 1 {
		return nil
	}
	return x.ctx.Err()
}

// links sorts links by source, and notes the nodes of targets.
func (x *exporting) links() (err error) {
	rows := x.rd.Scan(storage.Linkdb(), nil, nil)
	defer func() { err = errors.Join(err, rows.Close()) }()
	var last []byte
	for rows.Next() {
		target, under, err := storage.SplitLinkdbKey(rows.Key())
		if err != nil {
			return err
		}
		node := x.nodes.nodeOf(target)
		if !bytes.Equal(node, last) {
			last = append(last[:0], node...)
			if err := x.named.Add(node, nil); err != nil {
				return err
			}
		}
		var page []byte
		var added error
		err = storage.VisitLinks(rows.Value(), under, func(from, _ []byte, segment uint32) bool {
			if bytes.Equal(from, page) || bytes.Equal(x.nodes.nodeOf(from), node) {
				return true
			}
			page = append(page[:0], from...)
			x.value = binary.BigEndian.AppendUint32(x.value[:0], segment)
			added = x.sources.Add(from, append(x.value, node...))
			return added == nil
		})
		if err = errors.Join(err, added, x.canceled()); err != nil {
			return fmt.Errorf("inlinks of %s: %w", target, err)
		}
	}
	return rows.Err()
}

// join counts the links of newest versions, and notes the nodes of crawldb.
func (x *exporting) join() (err error) {
	run, err := x.sources.Sort()
	if err != nil {
		return err
	}
	walk := newNodeWalk(x.rd, x.nodes)
	defer func() { err = errors.Join(err, run.Close(), walk.sc.Close()) }()
	var r storage.Record
	more := run.Next()
	for last := -1; walk.next(); {
		if err := x.canceled(); err != nil {
			return err
		}
		key := walk.sc.Key()
		if walk.number != last {
			last = walk.number
			if err := x.named.Add(walk.node, nil); err != nil {
				return err
			}
		}
		for more && bytes.Compare(run.Key(), key) < 0 {
			more = run.Next() // of a page that crawldb does not know
		}
		if !more || !bytes.Equal(run.Key(), key) {
			continue
		}
		if err := storage.DecodeRecord(walk.sc.Value(), &r); err != nil {
			return fmt.Errorf("crawldb record %s: %w", key, err)
		}
		for ; more && bytes.Equal(run.Key(), key); more = run.Next() {
			if binary.BigEndian.Uint32(run.Value()) != r.Segment {
				continue
			}
			x.value = append(append(append(x.value[:0], run.Value()[4:]...), 0), walk.node...)
			if err := x.pairs.Add(x.value, []byte{1}); err != nil {
				return err
			}
		}
	}
	return errors.Join(run.Err(), walk.sc.Err())
}

// number passes on the names with their numbers.
func (x *exporting) number() error {
	run, err := x.named.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	for n := uint64(0); run.Next(); n++ {
		x.value = append(binary.AppendUvarint(x.value[:0], uint64(len(run.Key()))), run.Key()...)
		if err := errors.Join(x.to.Vertex(n, run.Key()), x.names.Add(x.value), x.canceled()); err != nil {
			return err
		}
	}
	return errors.Join(run.Err(), x.names.Seal())
}

// targets gives targets their numbers, and sorts edges by source.
func (x *exporting) targets() error {
	return x.numbered(x.pairs, func(number uint64, rest []byte, count uint64) error {
		x.value = binary.BigEndian.AppendUint64(append(append(x.value[:0], rest...), 0), number)
		return x.edges.Add(x.value, binary.AppendUvarint(nil, count))
	})
}

// write gives sources their numbers.
func (x *exporting) write() error {
	return x.numbered(x.edges, func(number uint64, rest []byte, count uint64) error {
		return x.to.Edge(number, binary.BigEndian.Uint64(rest), count)
	})
}

// numbered calls fn for each pair of a sorter with the number of the name that its key begins with, and the rest.
func (x *exporting) numbered(pairs *storage.Sorter, fn func(number uint64, rest []byte, count uint64) error) error {
	run, err := pairs.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	names, err := newNameReader(x.names)
	if err != nil {
		return err
	}
	for run.Next() {
		at := bytes.IndexByte(run.Key(), 0)
		number, err := names.find(run.Key()[:at])
		if err == nil {
			err = fn(number, run.Key()[at+1:], readUvarint(run.Value()))
		}
		if err = errors.Join(err, x.canceled()); err != nil {
			return errors.Join(err, names.r.Close())
		}
	}
	return errors.Join(run.Err(), names.r.Close())
}

// nameReader finds the numbers of names that do not decrease.
type nameReader struct {
	r      *storage.SpoolReader
	items  []byte
	name   []byte
	number uint64 // of the next name
}

func newNameReader(names *storage.Spool) (*nameReader, error) {
	r, err := names.Read()
	return &nameReader{r: r}, err
}

func (n *nameReader) find(name []byte) (uint64, error) {
	for n.number == 0 || !bytes.Equal(n.name, name) {
		if len(n.items) == 0 {
			var err error
			if n.items, err = n.r.Next(); err != nil {
				return 0, err
			}
			if n.items == nil {
				return 0, fmt.Errorf("node %q: %w", name, io.ErrUnexpectedEOF)
			}
		}
		size, at := binary.Uvarint(n.items)
		n.name = append(n.name[:0], n.items[at:at+int(size)]...)
		n.items = n.items[at+int(size):]
		n.number++
	}
	return n.number - 1, nil
}
