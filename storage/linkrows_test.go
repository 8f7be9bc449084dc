// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestLinkRow: a merged row gives back its links with their segments, and counts pages, hosts and domains once.
func TestLinkRow(t *testing.T) {
	links := []struct {
		from, anchor string
		segment      uint32
	}{
		{"com,a,)/x https", "home", 7}, {"com,a,)/x https", "start", 7}, {"com,a,www,)/ http", "", 3},
		{"com,b,)/ http", "b", 1 << 31}, {"org,b,)/ http", "b", 0},
	}
	var row LinkRow
	row.Reset(true)
	want := []string{}
	for _, l := range links {
		row.Add([]byte(l.from), []byte(l.anchor), l.segment)
		want = append(want, fmt.Sprint(l))
	}
	b := row.Append(nil)
	if c, ok := MergedCounts(b); !ok || c != (LinkCounts{Pages: 4, Hosts: 4, Domains: 3}) || c != row.Counts() {
		t.Errorf("%+v, %t", c, ok)
	}
	if _, ok := MergedCounts(AppendInlinks(nil, nil)); ok {
		t.Error("a row of a segment has counts")
	}
	var got []string
	err := VisitLinks(b, 99, func(from, anchor []byte, segment uint32) bool {
		got = append(got, fmt.Sprintf("{%s %s %d}", from, anchor, segment))
		return true
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %q, want %q", err, got, want)
	}
	for n := range b { // cut short: an error, or fewer links
		_ = VisitLinks(b[:n], 0, func(_, _ []byte, _ uint32) bool { return true })
	}
}

// TestLinkRowAround: a domain around a public suffix is counted once. A row in which it was counted again, as earlier
// versions did, is no fault.
func TestLinkRowAround(t *testing.T) {
	var row LinkRow
	for range 2 {
		row.Reset(true)
		for _, from := range []string{
			"com,amazonaws,)/ http", "com,amazonaws,s3,a,)/ http", "com,amazonaws,s3,b,)/ http",
			"com,amazonaws,www,)/ http",
		} {
			row.Add([]byte(from), nil, 1)
		}
		if c := row.Counts(); c != (LinkCounts{Pages: 4, Hosts: 4, Domains: 3}) {
			t.Errorf("%+v", c)
		}
		for domains, want := range map[uint64]bool{2: false, 3: true, 4: true, 5: false} {
			if got := row.describes(LinkCounts{Pages: 4, Hosts: 4, Domains: domains}); got != want {
				t.Errorf("%d domains: %t", domains, got)
			}
		}
	}
}

// TestLinkMerge: links of several rows come by source, of one source by segment.
func TestLinkMerge(t *testing.T) {
	var merge LinkMerge
	for segment := range uint32(3) {
		var links []Inlink
		for i := range 4 {
			links = append(links, Inlink{From: urlkey.Key(fmt.Sprintf("com,%02d,)/ http", (i+1)*int(segment+1)))})
		}
		if err := merge.Add(AppendInlinks(nil, links), 3-segment); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	err := merge.Each(func(from, _ []byte, segment uint32) error {
		got = append(got, fmt.Sprintf("%s %d", from[4:6], segment))
		return nil
	})
	want := []string{
		"01 3", "02 2", "02 3", "03 1", "03 3", "04 2", "04 3", "06 1", "06 2", "08 2", "09 1", "12 1",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %q, want %q", err, got, want)
	}
	if err := merge.Add([]byte{77}, 1); err == nil {
		t.Error("a damaged row is taken")
	}
}

// TestRemoveInlinksMany: of a target that much links to, RemoveInlinks holds no link as a thing of its own, and takes
// those that are named, by source and segment.
func TestRemoveInlinksMany(t *testing.T) {
	const links = 20_000
	s, err := Open("store", Options{FS: NewMemFS()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	target := []byte("com,to,)/ http")
	from := func(i int) []byte { return fmt.Appendf(nil, "com,from,)/%08d http", i) }
	var row LinkRow
	row.Reset(true)
	var gone []Pair
	for i := range links {
		row.Add(from(i), nil, uint32(1+i%2))
		gone = append(gone, Pair{AppendLinkdbKey(nil, target, 1), from(links - 1 - i)}) // in no order
	}
	in := s.NewIngestion()
	if err := in.Table(Linkdb()).Set(AppendLinkdbKey(nil, target, MergedSegment), row.Append(nil)); err != nil {
		t.Fatal(err)
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	var runs []*Run // made beforehand: with the race detector their order is checked, which allocates
	for range 3 {
		runs = append(runs, NewSliceRun(gone))
	}
	remove := func() *Ingestion {
		in, run := s.NewIngestion(), runs[0]
		runs = runs[1:]
		if n, err := in.RemoveInlinks(context.Background(), run, nil); err != nil || n != links/2 {
			t.Fatalf("%d removed, %v", n, err)
		}
		return in
	}
	if n := testing.AllocsPerRun(1, func() { remove().Abort() }); n > links/10 {
		t.Errorf("%v allocations for %d links", n, links)
	}
	if err := remove().Commit(); err != nil {
		t.Fatal(err)
	}
	left, err := s.Inlinks(urlkey.Key(target), links)
	if err != nil || len(left) != links/2 {
		t.Fatalf("%d left, %v", len(left), err)
	}
	for i, l := range left {
		if want := from(2*i + 1); string(l.From) != string(want) {
			t.Fatalf("link %d is from %s, want %s", i, l.From, want)
		}
	}
}
