// SPDX-License-Identifier: Apache-2.0

package segment_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
)

// unsealed are the fetches of a URL in segments that are not sealed.
func (w *world) unsealed(url string) []segment.Unsealed {
	w.Helper()
	list, err := w.Unsealed(parseURL(w, url))
	w.must(err)
	return list
}

// unsealedRows are the captures in segments that are not sealed, sealedRows those in the store, as text in order.
func (w *world) unsealedRows() (rows []string) {
	w.Helper()
	w.must(w.UnsealedCaptures(ctx, func(key, value []byte) error {
		rows = append(rows, fmt.Sprintf("%q: %q", key, value))
		return nil
	}))
	slices.Sort(rows)
	return rows
}

func (w *world) sealedRows() (rows []string) {
	w.Helper()
	sc := w.store.Scan(storage.CDXRange(), nil, nil)
	for sc.Next() {
		rows = append(rows, fmt.Sprintf("%q: %q", sc.Key(), sc.Value()))
	}
	w.must(sc.Close())
	slices.Sort(rows)
	return rows
}

// differs says in what a fetch that was read from an open segment differs from what sealing wrote; "": in nothing.
func (w *world) differs(x segment.Unsealed, o storage.FetchOutcome) string {
	w.Helper()
	got, want := storage.AppendFetchOutcome(nil, &x.Outcome), storage.AppendFetchOutcome(nil, &o)
	if string(got) != string(want) {
		return fmt.Sprintf("%+v, want %+v", x.Outcome, o)
	}
	return ""
}

// TestUnsealed: a fetch is found from the sync on, in the open segment and while it waits to be sealed, and is what
// sealing writes; then it is not found any more, as the store has it.
func TestUnsealed(t *testing.T) {
	for _, later := range []bool{false, true} {
		t.Run(fmt.Sprintf("parsed later: %t", later), func(t *testing.T) {
			w := newWorld(t)
			env := w.env(w.store)
			env.ParseLater = later
			w.Segments = segment.New(env)
			open := w.create()
			var s segment.Scratch
			attempts := []*segment.Attempt{
				page(t, "http://a.example/"), failed(t, "http://b.example/", "refused"),
				response(t, "http://c.example/", "HTTP/1.1 302 Found\nLocation: /there", "", ""),
				response(t, "http://d.example/", "HTTP/1.1 200 OK\nContent-Type: text/html; charset=latin1",
					"<meta name=robots content=noarchive><title>d\xe9</title>words of d", ""),
			}
			for _, a := range attempts {
				_, err := open.Store(a, &s)
				w.must(err)
				if list := w.unsealed(a.URL.String()); len(list) != 0 {
					t.Errorf("before the sync: %+v", list)
				}
			}
			_, err := open.Sync()
			w.must(err)
			found := map[string]segment.Unsealed{}
			for _, a := range attempts {
				list := w.unsealed(a.URL.String())
				if len(list) != 1 || list[0].Segment != 1 || list[0].Outcome.Time != a.At.UnixMilli() {
					t.Fatalf("%s: %+v", a.URL, list)
				}
				found[string(a.URL.Key())] = list[0]
			}
			if d := found["example,d,)/ http"]; d.Outcome.Flags&storage.FlagNoArchive == 0 || d.Text.Title != "dé" ||
				!strings.Contains(d.Text.Text, "words of d") {
				t.Errorf("%+v with %+v", d, d.Text)
			}
			if b := found["example,b,)/ http"]; b.Text != nil || b.Capture != (storage.CDX{}) {
				t.Errorf("%+v", b)
			}
			if list := w.unsealed("http://e.example/"); len(list) != 0 {
				t.Errorf("a URL that was not fetched: %+v", list)
			}

			next := w.create() // in the same file, behind the first
			open.End()
			w.storeAll(next, page(t, "http://e.example/"))
			if a, e := w.unsealed("http://a.example/"), w.unsealed("http://e.example/"); len(a) != 1 || len(e) != 1 ||
				a[0].Segment != 1 || e[0].Segment != 2 {
				t.Errorf("%+v, %+v", a, e)
			}
			rows := w.unsealedRows()
			_, err = open.Finish(ctx)
			w.must(err)
			if sealed := w.sealedRows(); len(sealed) != 3 || !slices.Equal(append(sealed, w.unsealedRows()...), rows) {
				t.Errorf("captures\n%q\nbefore sealing\n%q", sealed, rows)
			}
			for key, o := range w.outcomes(1) {
				if d := w.differs(found[string(key)], o); d != "" {
					t.Errorf("%s: %s", key, d)
				}
			}
			if a, e := w.unsealed("http://a.example/"), w.unsealed("http://e.example/"); len(a) != 0 || len(e) != 1 {
				t.Errorf("after sealing the first: %+v, %+v", a, e)
			}
			_, err = next.Finish(ctx)
			w.must(err)
		})
	}
}

// TestUnsealedLeft: a segment that was given up, and resumed by the same process or the next one, still says what is in
// it; one that is sealed from its files does not.
func TestUnsealedLeft(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	w.storeAll(open, page(t, "http://a.example/"))
	var s segment.Scratch
	w.must(open.Abandon())
	if list := w.unsealed("http://a.example/"); len(list) != 1 {
		t.Errorf("given up: %+v", list)
	}
	w.Segments = segment.New(w.env(w.store)) // another process
	if list := w.unsealed("http://a.example/"); len(list) != 0 {
		t.Errorf("nobody has read it: %+v", list)
	}
	open, err := w.Resume(ctx, w.record(1), nil)
	w.must(err)
	later := page(t, "http://a.example/")
	later.At = later.At.Add(time.Hour)
	later.Response.Start = later.At
	_, err = open.Store(later, &s)
	w.must(err)
	if list := w.unsealed("http://a.example/"); len(list) != 1 {
		t.Errorf("resumed: %+v", list)
	}
	_, err = open.Sync()
	w.must(err)
	list := w.unsealed("http://a.example/")
	if len(list) != 2 || list[0].Outcome.Time >= list[1].Outcome.Time ||
		list[0].Outcome.Location.File == list[1].Outcome.Location.File {
		t.Errorf("fetched again: %+v", list)
	}
	w.must(open.Abandon())
	_, err = w.Seal(ctx, w.record(1))
	w.must(err)
	if list := w.unsealed("http://a.example/"); len(list) != 0 {
		t.Errorf("sealed: %+v", list)
	}
}

// TestUnsealedWithoutContent: a page of which no body is stored is found too; what is in it is known once it is sealed.
func TestUnsealedWithoutContent(t *testing.T) {
	w := newWorld(t)
	env := w.env(w.store)
	env.NoContent = true
	w.Segments = segment.New(env)
	open := w.create()
	w.storeAll(open, page(t, "http://a.example/"))
	list, rows := w.unsealed("http://a.example/"), w.unsealedRows()
	if len(list) != 1 || list[0].Outcome.Status != storage.FetchSuccess || list[0].Outcome.MediaType != "" ||
		list[0].Text != nil || len(rows) != 1 {
		t.Errorf("%+v, %q", list, rows)
	}
	_, err := open.Finish(ctx)
	w.must(err)
	o := w.outcomes(1)["example,a,)/ http"]
	if o.MediaType != "text/html" || o.Location != list[0].Outcome.Location {
		t.Errorf("%+v", o)
	}
}

// TestUnsealedFiles: a segment may have more than one file, and a URL more fetches than are read.
func TestUnsealedFiles(t *testing.T) {
	w := newWorld(t)
	env := w.env(w.store)
	env.FileBytes = 1
	w.Segments = segment.New(env)
	open := w.create()
	for i := range 20 {
		a := page(t, "http://a.example/")
		a.At = a.At.Add(time.Duration(i) * time.Second)
		a.Response.Start = a.At
		w.storeAll(open, a, page(t, fmt.Sprintf("http://b.example/%d", i)))
	}
	list := w.unsealed("http://a.example/")
	if len(list) != 16 || list[15].Outcome.Time != start.Add(19*time.Second+123456*time.Microsecond).UnixMilli() {
		t.Errorf("%d fetches, the last of %+v", len(list), list[len(list)-1].Outcome)
	}
	files := map[string]bool{}
	for i := range 20 {
		list := w.unsealed(fmt.Sprintf("http://b.example/%d", i))
		if len(list) != 1 {
			t.Fatalf("%d: %+v", i, list)
		}
		files[list[0].Outcome.Location.File] = true
	}
	if len(files) != 20 {
		t.Errorf("%d files", len(files))
	}
	rows := w.unsealedRows()
	_, err := open.Finish(ctx)
	w.must(err)
	if sealed := w.sealedRows(); len(sealed) != 40 || !slices.Equal(sealed, rows) {
		t.Errorf("captures\n%q\nbefore sealing\n%q", sealed, rows)
	}
}

// TestUnsealedFailures: what cannot be read is an error that says which segment it was about.
func TestUnsealedFailures(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	w.storeAll(open, page(t, "http://a.example/"))
	u := parseURL(t, "http://a.example/")
	w.files.failing(failOn("open"))
	if _, err := w.Unsealed(u); err == nil || !strings.Contains(err.Error(), "http://a.example/ in segment 1") {
		t.Errorf("%v", err)
	}
	w.files.failing(nil)
	w.must(open.Abandon())
	path := w.path(1, 0)
	whole := w.bytes(path)
	broken := slices.Clone(whole)
	broken[len(broken)-12] ^= 1
	w.replace(path, broken)
	none := func(_, _ []byte) error { return nil }
	if err := w.UnsealedCaptures(ctx, none); err == nil || !strings.Contains(err.Error(), "segment 1") {
		t.Errorf("damaged: %v", err)
	}
	if list, err := w.Unsealed(u); err == nil {
		t.Errorf("damaged: %+v", list)
	}
	w.replace(path, whole[:len(whole)/4])
	if list, err := w.Unsealed(u); err == nil {
		t.Errorf("cut: %+v", list)
	}
	w.must(w.files.Remove(path))
	if list, err := w.Unsealed(u); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed: %+v, %v", list, err)
	}
}

// TestUnsealedAtOnce: looking disturbs nobody who stores, and finds what a sync has returned.
func TestUnsealedAtOnce(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	var fetchers sync.WaitGroup
	for i := range 4 {
		fetchers.Go(func() {
			var s segment.Scratch
			for n := range 50 {
				if _, err := open.Store(page(t, fmt.Sprintf("http://a%d.example/%d", i, n)), &s); err != nil {
					t.Error(err)
				}
				stored, err := open.Sync()
				if err != nil {
					t.Error(err)
				}
				for _, x := range stored {
					list, err := w.Unsealed(x.URL)
					if err != nil || len(list) != 1 || list[0].Outcome.Location != x.Outcome.Location {
						t.Errorf("%s: %+v, %v", x.URL, list, err)
					}
				}
			}
		})
	}
	fetchers.Wait()
	_, err := open.Finish(ctx)
	w.must(err)
}
