// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestProtocol builds and searches a small index with each engine in Go: they find the same documents.
func TestProtocol(t *testing.T) {
	const documents = "00000000\tNets\tNets are repaired by a net mender.\n" +
		"00000001\t\tThe mender repairs boats and the net.\n" +
		"00000002\tBoats\tThe boat has no sail.\n"
	queries := []struct {
		query string
		total string
		ids   []string // in any order
	}{
		{"net", "2", []string{"00000000", "00000001"}},
		{"boat sail", "2", []string{"00000001", "00000002"}},
		{"+boat +mender", "1", []string{"00000001"}},
		{`"net mender"`, "1", []string{"00000000"}},
		{"the", "2", []string{"00000001", "00000002"}},
		{"absent", "0", nil},
	}
	for name, p := range map[string]goProgram{"seine": &seineProgram{}, "bleve": &bleveProgram{}} {
		dir := filepath.Join(t.TempDir(), name)
		if err := programBuild(context.Background(), p, dir, strings.NewReader(documents)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := p.open(dir); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var in, out strings.Builder
		for _, q := range queries {
			in.WriteString("exact\t10\t" + q.query + "\n")
		}
		if err := programSearch(context.Background(), p, strings.NewReader(in.String()), &out); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != len(queries) {
			t.Fatalf("%s: %d answers, want %d", name, len(lines), len(queries))
		}
		for i, q := range queries {
			f := strings.Split(lines[i], "\t")
			ids := slices.Sorted(slices.Values(strings.Fields(f[len(f)-1])))
			if len(f) != 3 || f[1] != q.total || !slices.Equal(ids, q.ids) {
				t.Errorf("%s: %s is answered by %q, want %s of %v", name, q.query, lines[i], q.total, q.ids)
			}
		}
		if err := p.close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDrawSpeed: each class has its queries, the same on every run, of words that the documents have.
func TestDrawSpeed(t *testing.T) {
	middling := strings.Fields("mender sail boat harbour anchor mast rudder hull keel")
	text := func(i int) (string, string) {
		body := "of the"
		if i%4 != 0 {
			body += " water" // in three of four
		}
		if i%3 == 0 {
			body += " and wind is strong in rain"
		}
		return "", body + " " + middling[i%9][:3] + "x " + strings.Repeat(middling[i%9]+" "+middling[(i+1)%9]+" ", i%40/39)
	}
	c, err := writeCorpus("test", filepath.Join(t.TempDir(), "test.tsv"), 4000, text)
	if err != nil {
		t.Fatal(err)
	}
	first := c.drawSpeed(4, nil)
	for _, class := range speedClasses {
		list := first[class]
		if len(list) != 4 {
			t.Errorf("class %s: %d queries, want 4: %q", class, len(list), list)
		}
		for _, q := range list {
			for _, w := range wordsOf(q) {
				if class != "stop" && c.df[strings.Trim(w, "+")] == 0 {
					t.Errorf("class %s: %q has the word %s, which no document has", class, q, w)
				}
			}
		}
		if again := c.drawSpeed(4, nil)[class]; !slices.Equal(list, again) {
			t.Errorf("class %s: %q and then %q", class, list, again)
		}
	}
}
