// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// sealedAt makes a segment that was open for a minute, n minutes after the world began.
func (w *world) sealedAt(number uint32, n int) (at int64) {
	w.t.Helper()
	begin := w.now.Add(time.Duration(n) * time.Minute)
	for s := storage.SegmentOpen; s <= storage.SegmentIndexed; s++ {
		seg := storage.Segment{Number: number, State: s, Created: begin}
		if s > storage.SegmentOpen {
			seg.Sealed = begin.Add(time.Minute)
		}
		w.must(w.store.PutSegment(seg))
	}
	return begin.UnixMilli()
}

// TestOutcomes: a record comes with the outcome of its newest fetch, also of one that crawldb has no segment of.
func TestOutcomes(t *testing.T) {
	w := newWorld(t, anywhere())
	one, two := w.sealedAt(1, 0), w.sealedAt(2, 2)
	target := parsed(t, "http://b.example/").Key()
	put := func(segment uint32, url string, at int64, o storage.FetchOutcome) {
		o.Time = at
		if o.Status == 0 {
			o.Status = storage.FetchGone
		}
		w.outcome(segment, url, o, "")
	}
	put(1, "http://a.example/page", one+5, storage.FetchOutcome{Status: storage.FetchSuccess, HTTPStatus: 200})
	put(2, "http://a.example/page", two+5, storage.FetchOutcome{Failure: "timeout_head"})
	put(1, "http://a.example/moved", one+6, storage.FetchOutcome{Status: storage.FetchRedirPerm, Redirect: target})
	put(2, "http://a.example/no", two+7, storage.FetchOutcome{Failure: "robots_denied"})
	put(2, "http://a.example/late", two+9, storage.FetchOutcome{Failure: "dns_nx"}) // updatedb has not seen it
	put(1, "http://a.example/clock", 77, storage.FetchOutcome{Failure: "reset"})
	w.record("http://a.example/page", storage.Record{LastFetch: two + 5, Segment: 1})
	w.record("http://a.example/moved", storage.Record{LastFetch: one + 6})
	w.record("http://a.example/no", storage.Record{LastFetch: two + 7})
	w.record("http://a.example/late", storage.Record{LastFetch: one + 9})
	w.record("http://a.example/clock", storage.Record{LastFetch: 77, Segment: 1})
	w.record("http://a.example/new", storage.Record{})
	want := map[string]string{
		"http://a.example/page": "timeout_head", "http://a.example/moved": "-> " + string(target),
		"http://a.example/no": "robots_denied", "http://a.example/clock": "reset",
		"http://a.example/late": "none", "http://a.example/new": "none",
	}
	text := func(r Record) string {
		switch o := r.Outcome; {
		case o == nil:
			return "none"
		case o.Redirect != "":
			return "-> " + string(o.Redirect)
		default:
			return o.Failure
		}
	}
	n := 0
	for r, err := range w.Records(ctx, Filter{}) {
		w.must(err)
		n++
		if url := spell(t, r.Key); text(r) != want[url] {
			t.Errorf("%s: %s, want %s", url, text(r), want[url])
		}
	}
	if n != len(want) {
		t.Errorf("%d records", n)
	}
	for url, outcome := range want {
		r, err := w.Record(parsed(t, url))
		if w.must(err); text(r) != outcome {
			t.Errorf("alone, %s: %s, want %s", url, text(r), outcome)
		}
	}
}

// TestFailures: the statistics tell what robots.txt forbids from what does not exist, and count what failed for now.
func TestFailures(t *testing.T) {
	w := newWorld(t, anywhere())
	at := w.sealedAt(1, 0)
	put := func(url string, o storage.FetchOutcome, r storage.Record) {
		o.Time, o.Status = at+5, storage.FetchGone
		w.outcome(1, url, o, "")
		r.LastFetch = at + 5
		w.record(url, r)
	}
	gone := storage.Record{Status: storage.StatusGone, HTTPStatus: 404}
	put("http://a.example/1", storage.FetchOutcome{HTTPStatus: 404}, gone)
	put("http://a.example/2", storage.FetchOutcome{HTTPStatus: 404}, gone)
	put("http://a.example/3", storage.FetchOutcome{Failure: "robots_denied"},
		storage.Record{Status: storage.StatusGone})
	put("http://a.example/4", storage.FetchOutcome{Failure: "reset"}, storage.Record{Retries: 1})
	put("http://a.example/5", storage.FetchOutcome{HTTPStatus: 200}, storage.Record{Status: storage.StatusFetched})
	unreadable := storage.Record{Status: storage.StatusParseFailed, HTTPStatus: 200}
	put("http://a.example/7", storage.FetchOutcome{HTTPStatus: 200, Failure: "decode_error"}, unreadable)
	gone.LastFetch, unreadable.LastFetch = 3, 3 // their segment is purged
	w.record("http://a.example/6", gone)
	w.record("http://a.example/8", unreadable)
	s, err := w.Stats(ctx, false)
	got := fmt.Sprint(s.Failures)
	if err != nil || got != "map[decode_error:1 http_404:3 parse_failed:1 reset:1 robots_denied:1]" {
		t.Errorf("%s, %v", got, err)
	}
	kinds, err := w.FailureKinds(ctx)
	w.must(err)
	for _, k := range kinds {
		if again := map[string]uint64{"reset": 1}[k.Name]; k.Retried != again || k.Gone != k.URLs-again {
			t.Errorf("%s: %d of %d are requested again soon, %d given up", k.Name, k.Retried, k.URLs, k.Gone)
		}
	}
}

// TestRecordsChosen: by a regular expression and by sampling.
func TestRecordsChosen(t *testing.T) {
	w := newWorld(t, anywhere())
	for i := range 100 {
		w.record(fmt.Sprintf("http://a.example/%02d", i), storage.Record{})
	}
	urls := func(f Filter) (list []string) {
		for r, err := range w.Records(ctx, f) {
			w.must(err)
			list = append(list, spell(t, r.Key))
		}
		return list
	}
	if got := urls(Filter{URL: regexp.MustCompile(`/7.$`)}); len(got) != 10 || got[0] != "http://a.example/70" {
		t.Error(got)
	}
	sample := urls(Filter{Sample: 10})
	if len(sample) != 10 || !slices.IsSorted(sample) || !slices.Equal(sample, urls(Filter{Sample: 10})) {
		t.Error(sample)
	}
	for _, u := range urls(Filter{Sample: 5}) {
		if !slices.Contains(sample, u) {
			t.Errorf("a smaller sample has %s, which a larger has not", u)
		}
	}
	if got := urls(Filter{Sample: 5, URL: regexp.MustCompile(`/7.$`)}); len(got) != 5 ||
		!strings.HasPrefix(got[0], "http://a.example/7") {
		t.Error(got)
	}
	if got := urls(Filter{Sample: 1000}); len(got) != 100 {
		t.Error(len(got))
	}
}

// TestLinks: all of linkdb by target, without the links of versions that were replaced.
func TestLinks(t *testing.T) {
	w := newWorld(t, anywhere())
	from := func(url, anchor string) storage.Inlink {
		return storage.Inlink{From: parsed(t, url).Key(), Anchor: anchor}
	}
	w.record("http://a.example/", storage.Record{Segment: 1})
	w.record("http://b.example/", storage.Record{Segment: 2})
	w.inlinks("http://y.example/", 1, from("http://a.example/", "A"), from("http://b.example/", "old"))
	w.inlinks("http://y.example/", 2, from("http://b.example/", "B"))
	w.inlinks("http://x.example/", 1, from("http://a.example/", "AX"))
	var got []string
	for l, err := range w.Links(ctx) {
		w.must(err)
		got = append(got, spell(t, l.To)+" "+spell(t, l.From)+" "+l.Anchor)
	}
	want := []string{"http://x.example/ http://a.example/ AX", "http://y.example/ http://a.example/ A",
		"http://y.example/ http://b.example/ B"}
	if !slices.Equal(got, want) {
		t.Error(got)
	}
}

// countingReader counts the walks through ranges that are begun.
type countingReader struct {
	storage.Reader
	scans int
}

func (r *countingReader) Scan(of storage.Range, from, to []byte) *storage.Scanner {
	r.scans++
	return r.Reader.Scan(of, from, to)
}

// TestOutcomesOfManySegments: the outcomes of records that lie in 2,000 segments, in another order than their keys, are
// found by a walk through each segment.
func TestOutcomesOfManySegments(t *testing.T) {
	w := newWorld(t, anywhere())
	const n = 2000
	var list []storage.Segment
	for i := range n {
		begin := w.now.Add(time.Duration(i) * time.Minute)
		list = append(list, storage.Segment{
			Number: uint32(i + 1), State: storage.SegmentIndexed, Created: begin, Sealed: begin.Add(time.Minute - 1),
		})
	}
	var batch []Record
	w.must(w.store.Apply(func(b *storage.Batch) error {
		for i := range 3 * n {
			s := list[i*7919%n]
			o := storage.FetchOutcome{
				Status: storage.FetchGone, Time: s.Created.UnixMilli() + 7, Failure: fmt.Sprint("failure", i),
			}
			key := parsed(t, fmt.Sprintf("http://a.example/%04d", i)).Key()
			batch = append(batch, Record{Key: key, Record: storage.Record{LastFetch: o.Time}})
			err := b.Set(storage.ParseLinks(s.Number), []byte(key), storage.AppendFetchOutcome(nil, &o))
			if err != nil {
				return err
			}
		}
		return nil
	}))
	rd := &countingReader{Reader: w.store}
	w.must(newOutcomes(rd, list).add(batch))
	for i, r := range batch {
		if r.Outcome == nil || r.Outcome.Failure != fmt.Sprint("failure", i) {
			t.Fatalf("%s: %+v", r.Key, r.Outcome)
		}
	}
	if rd.scans != n {
		t.Errorf("%d walks through %d segments", rd.scans, n)
	}
}

// TestRecordsInBatches: records come in order and complete, whatever their number, also to a reader who stops early.
func TestRecordsInBatches(t *testing.T) {
	w := newWorld(t, anywhere())
	at := w.sealedAt(1, 0) + 1
	const n = 1000
	w.must(w.store.Apply(func(b *storage.Batch) error {
		for i := range n {
			key := w.key(fmt.Sprintf("http://a.example/%04d", i))
			r := storage.Record{
				LastFetch: at, Meta: []storage.Field{{Name: "n", Value: fmt.Sprint(i)}}, Status: storage.StatusGone,
			}
			o := storage.FetchOutcome{Status: storage.FetchGone, Time: at, Failure: fmt.Sprint(i)}
			err := b.Set(storage.Crawldb(), key, storage.AppendRecord(nil, &r))
			if err == nil {
				err = b.Set(storage.ParseLinks(1), key, storage.AppendFetchOutcome(nil, &o))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
	for _, limit := range []int{1, 64, 65, 500, n + 1} {
		var list []Record
		for r, err := range w.Records(ctx, Filter{}) {
			w.must(err)
			if list = append(list, r); len(list) == limit {
				break
			}
		}
		if len(list) != min(limit, n) {
			t.Errorf("%d records, want %d", len(list), min(limit, n))
		}
		for i, r := range list { // they stay as they are
			if want := fmt.Sprint(i); r.Meta[0].Value != want || r.Outcome == nil || r.Outcome.Failure != want {
				t.Fatalf("record %d of %d: %+v, %+v", i, limit, r.Record, r.Outcome)
			}
		}
	}
}
