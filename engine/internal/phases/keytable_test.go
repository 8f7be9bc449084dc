// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestKeyTable: keys are numbered in the order in which they first occur, also when hashes are equal.
func TestKeyTable(t *testing.T) {
	var table KeyTable
	rapid.Check(t, func(t *rapid.T) {
		mask := rapid.SampledFrom([]uint64{^uint64(0), 3, 7 << 40, 0}).Draw(t, "mask of hashes")
		numbers := map[string]int{}
		for _, key := range rapid.SliceOf(rapid.StringMatching(`[a-d]{0,4}`)).Draw(t, "keys") {
			want, known := numbers[key]
			if !known {
				want = len(numbers)
				numbers[key] = want
			}
			n, fresh := table.Number(xxh3.HashString(key)&mask, []byte(key))
			if n != want || fresh == known || string(table.Key(n)) != key {
				t.Fatalf("%q: number %d, fresh %t, want %d; key %q", key, n, fresh, want, table.Key(n))
			}
		}
		table.Reset()
	})
	for i := range 10_000 { // grows
		key := fmt.Append(nil, i)
		if n, fresh := table.Number(xxh3.Hash(key), key); n != i || !fresh {
			t.Fatalf("%d: number %d", i, n)
		}
	}
	if !table.Full(100_000) || table.Full(1<<30) {
		t.Errorf("%d bytes", table.Bytes())
	}
}

// invertedParts writes links through an inversion that is flushed after each part, and returns the lists.
func invertedParts(t *rapid.T, parts [][][3]string) map[string][]storage.Inlink {
	env := Env{MaxInlinks: 10_000, AnchorLength: 2}
	v := inversion{values: storage.NewSorter(storage.SorterOptions{Combine: foldInlinks(env.MaxInlinks, rowBytesMax)}),
		env: &env, rowBytes: rowBytesMax}
	defer v.values.Close()
	for _, part := range parts {
		last, source := "", 0
		for _, l := range part {
			if l[0] != last {
				source = v.source([]byte(l[0]), 0)
				last = l[0]
			}
			v.add([]byte(l[1]), []byte(l[2]), uint32(source))
		}
		if err := v.flush(); err != nil {
			t.Fatal(err)
		}
	}
	run, err := v.values.Sort()
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	out := map[string][]storage.Inlink{}
	for run.Next() {
		links, err := decodeInlinks(run.Value())
		if n := readGathered(run.Value()).links; err != nil || len(links) != n {
			t.Fatalf("%q: %d links of %d, %v", run.Key(), len(links), n, err)
		}
		out[string(run.Key())] = links
	}
	return out
}

// TestInversion: however often memory is full, each target has its distinct links by source and anchor, of which two
// characters are kept.
func TestInversion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts [][][3]string
		want := map[string]map[[2]string]bool{}
		source := 0
		for range rapid.IntRange(1, 4).Draw(t, "parts") {
			var part [][3]string
			for range rapid.IntRange(0, 5).Draw(t, "pages") {
				source++
				from := fmt.Sprintf("com,source-%03d,)/ http", source)
				targets := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 6).Draw(t, "targets")
				for _, target := range targets {
					anchor := rapid.SampledFrom([]string{"", "x", "y", "ä€", "ä€x", "ä€é"}).Draw(t, "anchor")
					part = append(part, [3]string{from, target, anchor})
				}
			}
			parts = append(parts, part)
			for _, l := range part {
				if want[l[1]] == nil {
					want[l[1]] = map[[2]string]bool{}
				}
				want[l[1]][[2]string{l[0], string([]rune(l[2])[:min(2, utf8.RuneCountInString(l[2]))])}] = true
			}
		}
		for target, links := range invertedParts(t, parts) {
			if len(links) != len(want[target]) {
				t.Fatalf("%s: %d links, want %d", target, len(links), len(want[target]))
			}
			for i, l := range links {
				if !want[target][[2]string{string(l.From), l.Anchor}] {
					t.Fatalf("%s: nobody said %v", target, l)
				}
				if i == 0 {
					continue
				}
				last := links[i-1]
				if l.From < last.From || l.From == last.From && l.Anchor <= last.Anchor {
					t.Fatalf("%s: %v after %v", target, l, last)
				}
			}
			delete(want, target)
		}
		if len(want) > 0 {
			t.Fatalf("no links to %d targets", len(want))
		}
	})
}

// TestInlinksMax: of lists that have too many texts, those of the pages with the best scores stay, and all links.
func TestInlinksMax(t *testing.T) {
	list := func(from, n int) []byte {
		var g gathered
		g.reset()
		for i := range n {
			g.add(fmt.Appendf(nil, "com,%06d,)/ http", from+i), []byte("x"), 0)
		}
		return g.append(nil)
	}
	const most = 10_000
	fold := foldInlinks(most, rowBytesMax)
	a, b := list(0, most-3), list(100_000, 10)
	got := fold(nil, fold(nil, a, b), list(200_000, 10))
	links, err := decodeInlinks(got)
	texts := 0
	for _, l := range links {
		if l.Anchor != "" {
			texts++
		}
	}
	g := readGathered(got)
	full := err == nil && len(links) == most+17 && g.links == most+17 && texts == most && g.texts() == most
	if !full || links[most-1].From != "com,100002,)/ http" || links[most-1].Anchor == "" || links[most].Anchor != "" {
		t.Errorf("%d links, %d texts, count %d, %v", len(links), texts, g.links, err)
	}
	env := Env{MaxInlinks: 2, AnchorLength: storage.AnchorMaxBytes}
	v := inversion{env: &env, rowBytes: rowBytesMax}
	for i, score := range []float64{1, 3, 2, 0} {
		source := v.source(fmt.Appendf(nil, "com,%d,)/ http", i), score)
		for _, anchor := range []string{"a", "b"}[:1+i%2] {
			v.add([]byte("com,t,)/ http"), []byte(anchor), uint32(source))
		}
	}
	links, err = decodeInlinks(v.encode(v.last[0]))
	want := []storage.Inlink{
		{From: "com,0,)/ http"}, {From: "com,1,)/ http", Anchor: "a"}, {From: "com,1,)/ http", Anchor: "b"},
		{From: "com,2,)/ http"}, {From: "com,3,)/ http"},
	}
	if err != nil || !slices.Equal(links, want) {
		t.Errorf("%v, %v", links, err)
	}
}

// decodeInlinks returns the links of a value in the sorter.
func decodeInlinks(value []byte) (links []storage.Inlink, err error) {
	err = storage.VisitInlinks(readGathered(value).list, func(from, anchor []byte) bool {
		links = append(links, storage.Inlink{From: urlkey.Key(from), Anchor: string(anchor)})
		return true
	})
	return links, err
}
