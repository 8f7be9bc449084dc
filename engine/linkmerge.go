// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/seine-crawler/seine/engine/internal/phases"
)

// MergeLinksOptions say what Linkdb.Merge merges.
type MergeLinksOptions struct {
	// Dirs are data directories whose links are added. They must not be in use.
	Dirs []string
	// NoFilter takes all their links; without it, normalizers and filters apply to both ends of a link.
	NoFilter bool
}

// MergeLinksReport says what Linkdb.Merge did.
type MergeLinksReport struct {
	Dirs    int      `json:"dirs"`
	Links   uint64   `json:"links"`    // taken over
	Refused uint64   `json:"refused"`  // links that a filter refuses
	LeftOut uint64   `json:"left_out"` // targets with more links than a row can have, which gained none
	Dropped uint64   `json:"dropped"`  // links that their pages dropped
	Targets uint64   `json:"targets"`  // whose rows became one
	Rows    uint64   `json:"rows"`     // these were
	Took    Duration `json:"seconds"`
}

func (r MergeLinksReport) String() string {
	return fmt.Sprintf("mergelinkdb: %d links of %d directories (%d refused, %d targets left out), "+
		"%d dropped links removed, %d rows of %d targets merged in %.2fs",
		r.Links, r.Dirs, r.Refused, r.LeftOut, r.Dropped, r.Rows, r.Targets, r.Took.Seconds())
}

// mergeLinkdb is Linkdb.Merge.
func (w *work) mergeLinkdb(ctx context.Context, o MergeLinksOptions) (r MergeLinksReport, err error) {
	start := w.now()
	if err := w.o.checkOthers(o.Dirs, "links"); err != nil {
		return r, fmt.Errorf("mergelinkdb: %w", err)
	}
	for _, dir := range o.Dirs {
		if err := w.importLinks(ctx, dir, o.NoFilter, &r); err != nil {
			return r, fmt.Errorf("mergelinkdb: %s: %w", dir, err)
		}
		r.Dirs++
	}
	m, err := w.mergeLinks(ctx, 0)
	r.Dropped, r.Targets, r.Rows = m.Dropped, m.Targets, m.Rows
	if err != nil {
		return r, fmt.Errorf("mergelinkdb: %w", err)
	}
	r.Took = w.took(start)
	w.done(r)
	return r, nil
}

// importLinks adds the links of one directory.
func (w *work) importLinks(ctx context.Context, dir string, all bool, r *MergeLinksReport) (err error) {
	store, err := w.openOther(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	options := phases.ImportOptions{}
	if !all {
		options.Accept = w.accept
	}
	w.crawldbMu.Lock()
	defer w.crawldbMu.Unlock()
	in, err := w.phases.ImportLinks(ctx, store, options)
	r.Links, r.Refused, r.LeftOut = r.Links+in.Links, r.Refused+in.Refused, r.LeftOut+in.LeftOut
	return err
}

// GraphReport counts what Linkdb.Graph wrote.
type GraphReport struct {
	Vertices uint64   `json:"vertices"`
	Edges    uint64   `json:"edges"`
	Took     Duration `json:"seconds"`
}

func (r GraphReport) String() string {
	return fmt.Sprintf("graph: %d vertices, %d edges in %.2fs", r.Vertices, r.Edges, r.Took.Seconds())
}

// exportGraph is Linkdb.Graph.
func (w *work) exportGraph(ctx context.Context, graph string, vertices, edges io.Writer) (r GraphReport, err error) {
	start := w.now()
	nodes, ok := graphNodes[graph]
	if !ok || nodes == phases.NodePages {
		return r, fmt.Errorf("graph %q: want host or domain", graph)
	}
	v, e := bufio.NewWriter(vertices), bufio.NewWriter(edges)
	var line []byte
	write := func(to *bufio.Writer, numbers ...uint64) error {
		for i, n := range numbers {
			if i > 0 {
				line = append(line, '\t')
			}
			line = strconv.AppendUint(line, n, 10)
		}
		_, err := to.Write(append(line, '\n'))
		line = line[:0]
		return err
	}
	err = w.phases.ExportGraph(ctx, nodes, phases.GraphExport{
		Vertex: func(number uint64, name []byte) error {
			r.Vertices++
			_, err := fmt.Fprintf(v, "%d\t%s\n", number, reversedName(name))
			return err
		},
		Edge: func(from, to, pairs uint64) error {
			r.Edges++
			return write(e, from, to, pairs)
		},
	})
	if err = errors.Join(err, v.Flush(), e.Flush()); err != nil {
		return r, err
	}
	r.Took = w.took(start)
	return r, nil
}

// reversedName is the name of a host or domain with its labels from the last to the first: "com.example.www:8080".
func reversedName(name []byte) string {
	s := strings.TrimSuffix(strings.TrimSuffix(string(name), ")"), ",")
	return strings.ReplaceAll(strings.ReplaceAll(s, ",", "."), ".:", ":")
}
