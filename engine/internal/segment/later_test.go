// SPDX-License-Identifier: Apache-2.0

package segment_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/warc"
)

// someOutcomes are one attempt of each kind.
func someOutcomes(t testing.TB) []*segment.Attempt {
	return []*segment.Attempt{
		page(t, "http://a.example/"),
		response(t, "http://b.example/", "HTTP/1.1 404 Not Found", "nothing here", ""),
		response(t, "http://c.example/", "HTTP/1.1 302 Found\nLocation: /to", "a body", "length"),
		response(t, "http://d.example/", "HTTP/1.1 200 OK\nContent-Type: text/html", "", ""),
		failed(t, "http://e.example/", "refused"),
	}
}

// TestParseLater: nothing is parsed while it is stored, and the sealed segment is as if everything had been.
func TestParseLater(t *testing.T) {
	want := ""
	for _, later := range []bool{false, true} {
		w := newWorld(t)
		env := w.env(w.store)
		env.ParseLater = later
		g := segment.New(env)
		open, err := g.Create()
		w.must(err)
		var s segment.Scratch
		_, err = open.Store(page(t, "http://a.example/first"), &s)
		w.must(err)
		if links := len(s.Outcome().Outlinks); (links == 0) != later {
			t.Errorf("later %t: the page has %d links when it was stored", later, links)
		}
		stored := w.storeAll(open, someOutcomes(t)...)
		size := open.Size()
		if len(stored) != 6 || size.Pages != 6 || size.Bytes == 0 || (size.Held == 0) != later {
			t.Errorf("later %t: %d outcomes, %+v", later, len(stored), size)
		}
		if later { // a crash, and it goes on
			w.must(open.Abandon())
			keys := make(chan string, 10)
			open, err = g.Resume(ctx, w.record(1), func(key []byte, _ int64, _ time.Duration) {
				keys <- string(key)
			})
			w.must(err)
			if len(keys) != 6 || len(open.Hashes()) != 6 || open.Size().Pages != 6 {
				t.Errorf("%d keys, %d hashes, %+v", len(keys), len(open.Hashes()), open.Size())
			}
		}
		sealed, err := open.Finish(ctx)
		w.must(err)
		if sealed.Pages != 6 || sealed.Links == 0 || w.record(1).State != storage.SegmentSealed {
			t.Errorf("later %t: %+v, %+v", later, sealed, w.record(1))
		}
		got, all := "", w.outcomes(1)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			o := all[key]
			got += fmt.Sprintf("%s %s %s %q %x %v\n", key, o.Status, o.MediaType, o.Redirect, o.Signature, o.Outlinks)
		}
		if want == "" {
			want = got
		} else if got != want {
			t.Errorf("parsed later: %s\nwant %s", got, want)
		}
	}
}

// TestParseLaterReadsOnce: a fetch that this process finishes reads its WARC back once, also after a resumption.
func TestParseLaterReadsOnce(t *testing.T) {
	w := newWorld(t)
	env := w.env(w.store)
	env.ParseLater = true
	g := segment.New(env)
	open, err := g.Create()
	w.must(err)
	w.storeAll(open, someOutcomes(t)...)
	w.must(open.Abandon())
	open, err = g.Resume(ctx, w.record(1), nil)
	w.must(err)
	w.storeAll(open, page(t, "http://a.example/more"))
	w.files.read = 0
	sealed, err := open.Finish(ctx)
	w.must(err)
	size := int64(0)
	for _, f := range w.record(1).WARC {
		size += f.Size
	}
	if sealed.Pages != 6 || len(w.record(1).WARC) != 2 || w.files.read != size {
		t.Errorf("%d bytes of %d were read, %+v", w.files.read, size, sealed)
	}
}

// TestNoContent: the WARC has no bodies, the parse records are those of the pages. What is read back of an open segment
// lacks its pages, and a sealed one cannot be parsed again.
func TestNoContent(t *testing.T) {
	w := newWorld(t)
	env := w.env(w.store)
	env.NoContent = true
	g := segment.New(env)
	open, err := g.Create()
	w.must(err)
	w.storeAll(open, someOutcomes(t)...)
	_, err = open.Finish(ctx)
	w.must(err)
	live := w.outcomes(1)
	if o := live["example,a,)/ http"]; len(o.Outlinks) != 1 || o.Bytes == 0 || o.Truncated != "" {
		t.Errorf("%+v", o)
	}
	b, responses := w.bytes(w.path(1, 0)), 0
	r := warc.NewReader(bytes.NewReader(b), int64(len(b)))
	for rec, err := r.Next(); err == nil; rec, err = r.Next() {
		if rec.Type == warc.TypeResponse {
			responses++
		}
		if strings.Contains(string(rec.Block), "Some words") || strings.Contains(string(rec.Block), "nothing here") {
			t.Errorf("%s has its body", rec.URI)
		}
		if err := rec.CheckDigests(); err != nil {
			t.Error(err)
		}
	}
	if responses != 4 {
		t.Errorf("%d responses in the WARC", responses)
	}
	if _, err := g.Seal(ctx, w.record(1)); !errors.Is(err, segment.ErrNoContent) {
		t.Errorf("parsing again: %v", err)
	}
	if after := w.outcomes(1); len(after) != len(live) {
		t.Errorf("%d outcomes are left of %d", len(after), len(live))
	}

	open, err = g.Create()
	w.must(err)
	w.storeAll(open, someOutcomes(t)...)
	w.must(open.Abandon())
	_, err = g.Seal(ctx, w.record(2))
	w.must(err)
	again := w.outcomes(2)
	if _, ok := again["example,a,)/ http"]; ok || len(again) != len(live)-1 {
		t.Errorf("after a crash: %d outcomes, the page among them %t", len(again), ok)
	}
	for key, o := range again {
		if was := live[key]; o.Bytes != was.Bytes || o.Truncated != was.Truncated || o.Status != was.Status {
			t.Errorf("%s: %+v, was %+v", key, o, was)
		}
	}
	if len(w.warns) != 1 || !strings.Contains(w.warns[0], "1 of its pages") {
		t.Errorf("warnings: %q", w.warns)
	}
}
