// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"iter"
	"path/filepath"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/index"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// world is a store in memory with the room on top.
type world struct {
	*Inspect
	t     testing.TB
	store *storage.Store
	now   time.Time
	files []storage.WARCFile // that exchange wrote
}

var ctx = context.Background()

func newWorld(t testing.TB, o admission.Options) *world {
	t.Helper()
	fs := storage.NewMemFS()
	s, err := storage.Open("store", storage.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	x, err := index.Open(s, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	w := &world{t: t, store: s, now: time.UnixMilli(5_000_000)}
	o.Store, o.Now = s, func() time.Time { return w.now }
	a := admission.New(o)
	if err := a.Load(); err != nil {
		t.Fatal(err)
	}
	w.Inspect = New(Env{
		Store: s, Index: x, FS: s.WARCFS(), Dir: "warc", SortFS: fs, Admission: a, Now: o.Now,
		SegmentOf: func(file string) (uint32, bool) { return 1, true },
		Page:      func(rec *warc.Record) bool { return rec.Type == warc.TypeResponse },
		HasBody:   func(*warc.Record) bool { return true },
		Robots: func(f *storage.HostFacts, u urlkey.URL) (reachable bool, denied string) {
			if string(f.Robots) == u.Path() {
				denied = admission.ReasonRobots
			}
			return f.RobotsStatus != 599, denied
		},
	})
	return w
}

func anywhere() admission.Options { return admission.Options{Scope: policy.ScopeAny} }

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) set(r storage.Range, key, value []byte) {
	w.t.Helper()
	w.must(w.store.Apply(func(b *storage.Batch) error { return b.Set(r, key, value) }))
}

func parsed(t testing.TB, raw string) urlkey.URL {
	t.Helper()
	u, err := urlkey.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (w *world) key(raw string) []byte { return []byte(parsed(w.t, raw).Key()) }

func (w *world) record(raw string, r storage.Record) {
	w.t.Helper()
	if r.Status == 0 {
		r.Status = storage.StatusUnfetched
	}
	w.set(storage.Crawldb(), w.key(raw), storage.AppendRecord(nil, &r))
}

func (w *world) counts(host string, c storage.HostCounts) {
	w.t.Helper()
	w.set(storage.HostCountsRange(), []byte(w.host(host)), storage.AppendHostCounts(nil, &c))
}

func (w *world) facts(key urlkey.HostKey, f storage.HostFacts) {
	w.t.Helper()
	w.set(storage.HostFactsRange(), []byte(key), storage.AppendHostFacts(nil, &f))
}

func (w *world) host(name string) urlkey.HostKey {
	w.t.Helper()
	h, err := urlkey.ParseHost(name)
	w.must(err)
	return h
}

func (w *world) inlinks(target string, segment uint32, links ...storage.Inlink) {
	w.t.Helper()
	w.set(storage.Linkdb(), storage.AppendLinkdbKey(nil, w.key(target), segment), storage.AppendInlinks(nil, links))
}

// segment makes a segment and takes it to a state.
func (w *world) segment(number uint32, to storage.SegmentState) {
	w.t.Helper()
	for s := storage.SegmentOpen; s <= to; s++ {
		w.must(w.store.PutSegment(storage.Segment{Number: number, State: s, Created: w.now}))
	}
}

func (w *world) outcome(segment uint32, raw string, o storage.FetchOutcome, text string) {
	w.t.Helper()
	w.set(storage.ParseLinks(segment), w.key(raw), storage.AppendFetchOutcome(nil, &o))
	if text != "" {
		t := storage.ParseText{Title: text, Text: text}
		w.set(storage.ParseTextRange(segment), w.key(raw), storage.AppendParseText(nil, &t))
	}
}

// exchange stores one exchange in a WARC file of its own, with more fields than its own in the head of the response.
func (w *world) exchange(raw, body string, at time.Time, fields ...string) warc.Written {
	w.t.Helper()
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	for _, f := range fields {
		head += f + "\r\n"
	}
	out, err := warc.NewWriter(warc.WriterOptions{
		FS: w.env.FS, Dir: w.env.Dir, Prefix: "seine-" + body, Now: w.env.Now,
		NewID: func() [16]byte { return [16]byte{1} },
	})
	w.must(err)
	written, err := out.AppendExchange(&warc.Exchange{
		URI: raw, Start: at, Body: []byte(body),
		ResponseHead: []byte(head + "\r\n"),
	})
	w.must(err)
	w.must(out.Sync())
	files, err := out.Close()
	w.must(err)
	for _, f := range files {
		w.files = append(w.files, storage.WARCFile{Name: f.Name, Size: f.Size, Records: uint64(f.Records)})
	}
	return written
}

// capture is exchange with a cdx entry.
func (w *world) capture(raw, body string, at time.Time, fields ...string) storage.CDX {
	w.t.Helper()
	written := w.exchange(raw, body, at, fields...)
	c := storage.CDX{
		Segment: 1, Location: written.Response, HTTPStatus: 200, MediaType: "text/plain", Digest: written.PayloadSHA1,
	}
	w.cdx(raw, at, c)
	return c
}

// sealed makes a sealed segment with all files so far.
func (w *world) sealed(number uint32) {
	w.t.Helper()
	for s := storage.SegmentOpen; s <= storage.SegmentSealed; s++ {
		w.must(w.store.PutSegment(storage.Segment{Number: number, State: s, Created: w.now, WARC: w.files}))
	}
}

// segmentBecomes takes a sealed segment on to a state.
func (w *world) segmentBecomes(number uint32, to storage.SegmentState) {
	w.t.Helper()
	for seg, _, err := w.store.Segment(number); seg.State < to; {
		w.must(err)
		seg.State++
		in := w.store.NewIngestion()
		w.must(in.PutSegment(seg))
		w.must(in.Commit())
	}
}

// change replaces the file of a capture.
func (w *world) change(c storage.CDX, edit func(b []byte) []byte) {
	w.t.Helper()
	f, err := w.env.FS.Open(w.path(c))
	w.must(err)
	size, err := w.env.FS.Size(w.path(c))
	w.must(err)
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	w.must(err)
	w.must(f.Close())
	w.must(w.env.FS.Remove(w.path(c)))
	f, err = w.env.FS.Create(w.path(c))
	w.must(err)
	_, err = f.Write(edit(b))
	w.must(err)
	w.must(f.Close())
}

func (w *world) cdx(raw string, at time.Time, c storage.CDX) {
	w.t.Helper()
	w.set(storage.CDXRange(), storage.AppendCDXKey(nil, w.key(raw), at.UnixMilli()), storage.AppendCDX(nil, &c))
}

func (w *world) path(c storage.CDX) string { return filepath.Join(w.env.Dir, c.Location.File) }

// collect returns what a stream yields until its error.
func collect[T any](seq iter.Seq2[T, error]) (list []T, err error) {
	for x, err := range seq {
		if err != nil {
			return list, err
		}
		list = append(list, x)
	}
	return list, nil
}

// spell writes a key as its URL.
func spell(t testing.TB, k urlkey.Key) string {
	t.Helper()
	u, err := k.URL()
	if err != nil {
		t.Fatal(err)
	}
	return u.String()
}
