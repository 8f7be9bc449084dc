// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seine-crawler/seine/bench/relevance"
)

type relevanceOptions struct{ peers, data string }

// compareRelevance judges each engine by Cranfield and CACM.
func compareRelevance(ctx context.Context, o relevanceOptions) (err error) {
	if o.data == "" {
		return errors.New("want the folder of the judged collections in SEINE_CONFORMANCE_DATA or -data")
	}
	cranfield, err := relevance.Cranfield(filepath.Join(o.data, "relevance", "cranfield.tar.xz"))
	if err != nil {
		return err
	}
	cacm, err := relevance.CACM(filepath.Join(o.data, "relevance", "cacm.tar.xz"))
	if err != nil {
		return err
	}
	d, err := findFolders()
	if err != nil {
		return err
	}
	chosen, err := choosePrograms(d, o.peers)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp(d.out, "run-relevance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	printHeader()
	fmt.Fprintf(os.Stderr, "\n%-10s %-5s %-8s %6s %8s %8s %8s %6s\n",
		"collection", "half", "engine", "topics", "MAP", "nDCG@10", "P@10", "empty")
	for _, c := range []relevance.Collection{cranfield, cacm} {
		file := filepath.Join(work, c.Name+".tsv")
		if err := writeCollection(file, &c); err != nil {
			return err
		}
		for _, p := range chosen {
			if err := judge(ctx, d, p, &c, file, filepath.Join(work, c.Name+"-"+p.name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge indexes a collection with one engine, and prints its scores.
func judge(ctx context.Context, d folders, p program, c *relevance.Collection, file, dir string) error {
	if _, err := buildWith(ctx, d, p, dir, file); err != nil {
		return err
	}
	s, err := searchWith(ctx, d, p, dir)
	if err != nil {
		return err
	}
	search := func(query string, k int) ([]string, error) {
		a, err := s.ask("typed", k, query)
		return a.ids, err
	}
	for _, half := range relevance.Halves {
		r, err := c.Run(search, half)
		if err != nil {
			return errors.Join(err, s.close())
		}
		fmt.Printf("BenchmarkPeerRelevance/%s/%s/%s %d %.4f MAP %.4f nDCG@10 %.4f P@10 %d empty\n",
			c.Name, half, p.name, r.Topics, r.MAP, r.NDCG10, r.P10, r.Empty)
		fmt.Fprintf(os.Stderr, "%-10s %-5s %-8s %6d %8.4f %8.4f %8.4f %6d\n",
			c.Name, half, p.name, r.Judged, r.MAP, r.NDCG10, r.P10, r.Empty)
	}
	return s.close()
}

// writeCollection writes the documents as the programs read them, in the order of their identifiers.
func writeCollection(name string, c *relevance.Collection) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for _, doc := range relevance.Sorted(c.Documents) {
		fmt.Fprintf(w, "%s\t%s\t%s\n", doc.ID, field(doc.Title), field(doc.Text))
	}
	return errors.Join(w.Flush(), f.Close())
}

// field makes a text fit into a line of fields.
func field(text string) string { return strings.Join(strings.Fields(text), " ") }
