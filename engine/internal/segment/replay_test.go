// SPDX-License-Identifier: Apache-2.0

package segment_test

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

type outcome = storage.FetchOutcome

// attemptCase is an attempt and what becomes of it.
type attemptCase struct {
	name    string
	attempt *segment.Attempt
	status  storage.FetchStatus
	check   func(o *outcome) bool
	text    bool // a text is stored
}

const html = "HTTP/1.1 200 OK\nContent-Type: text/html; charset=utf-8\n"

// attemptCases are one of each kind. The host's name says which.
func attemptCases(t testing.TB) []attemptCase {
	prefer := func(a *segment.Attempt, lines ...string) *segment.Attempt {
		a.Preferences = strings.Join(lines, "\n")
		return a
	}
	long := strings.Repeat("x", 250)
	return []attemptCase{
		{"page", response(t, "http://page.example/a?b=1",
			html+"ETag: \"e\"\nLast-Modified: Wed, 04 Mar 2026 05:00:00 GMT",
			`<html lang=en><title>T</title><link rel=canonical href=/a><main><h1>H</h1><p>Some text of a page.</main>`+
				`<nav><a href="/b#c" rel=nofollow>b</a><a href=http://other.example/>o</a></nav>`, ""),
			storage.FetchSuccess, func(o *outcome) bool {
				return len(o.Outlinks) == 3 && o.Outlinks[1].NoFollow && o.ETag == `"e"` && o.LastModified != "" &&
					o.Canonical == "example,page,)/a http" && o.TookMS == 876 && o.Time == start.UnixMilli()+123 &&
					o.Bytes == 9876 &&
					o.HTTPStatus == 200 && !o.Signature.IsZero()
			}, true},
		{"redirect", response(t, "http://redirect.example/", "HTTP/1.1 302 Found\nLocation: /to#x", "moved", ""),
			storage.FetchRedirTemp, func(o *outcome) bool { return o.Redirect == "example,redirect,)/to http" }, false},
		{"moved", response(t, "http://moved.example/", "HTTP/1.1 301 Moved\nLocation: https://moved.example/", "", ""),
			storage.FetchRedirPerm, func(o *outcome) bool { return o.Redirect == "example,moved,)/ https" }, false},
		{"nowhere", response(t, "http://nowhere.example/", "HTTP/1.1 301 Moved\nLocation: mailto:x", "", ""),
			storage.FetchGone, func(o *outcome) bool { return o.Failure == "bad_location" }, false},
		{"itself", response(t, "http://itself.example/", "HTTP/1.1 308 Moved\nLocation: /", "", ""),
			storage.FetchGone, func(o *outcome) bool { return o.Failure == "bad_location" }, false},
		{"gone", response(t, "http://gone.example/", "HTTP/1.1 404 Not Found\nContent-Type: text/html",
			"<a href=/x>x</a>", ""),
			storage.FetchGone, func(o *outcome) bool { return o.HTTPStatus == 404 && len(o.Outlinks) == 0 }, false},
		{"later", response(t, "http://later.example/", "HTTP/1.1 429 Slow Down", "", ""),
			storage.FetchRetry, func(o *outcome) bool { return o.HTTPStatus == 429 }, false},
		{"failure", failed(t, "http://failure.example/", "timeout_head"),
			storage.FetchRetry, func(o *outcome) bool {
				return o.Failure == "timeout_head" && o.TookMS == 5000 && o.Bytes == 4321
			}, false},
		{"dns", failed(t, "http://dns.example/", "blocked_port"),
			storage.FetchGone, func(o *outcome) bool { return o.Failure == "blocked_port" }, false},
		{"denied", failed(t, "http://denied.example/", segment.FailureRobots),
			storage.FetchGone, func(o *outcome) bool { return o.Failure == "robots_denied" }, false},
		{"unmodified", response(t, "http://unmodified.example/", "HTTP/1.1 304 Not Modified", "", ""),
			storage.FetchNotModified, func(o *outcome) bool { return true }, false},
		{"truncated", response(t, "http://truncated.example/", html, "<p>Half a <a href=/x>li", "disconnect"),
			storage.FetchSuccess, func(o *outcome) bool {
				return o.Truncated == "disconnect" && o.Flags&storage.FlagTruncated != 0
			}, true},
		{"image", response(t, "http://image.example/i", "HTTP/1.1 200 OK\nContent-Type: image/png",
			"\x89PNG\r\n\x1a\n", ""),
			storage.FetchSuccess, func(o *outcome) bool {
				return o.MediaType == "image/png" && o.Flags&storage.FlagNotParsed != 0
			}, false},
		{"undecodable", response(t, "http://undecodable.example/", html+"Content-Encoding: gzip",
			"\x1f\x8b\x08\x00broken", ""),
			storage.FetchParseFailed, func(o *outcome) bool { return o.Failure == "decode_error" }, false},
		{"refresh", response(t, "http://refresh.example/", html,
			`<meta http-equiv=refresh content="9; url=/r"><p>Wait.`, ""),
			storage.FetchSuccess, func(o *outcome) bool {
				return o.Redirect == "example,refresh,)/r http" && o.Flags&storage.FlagRefreshPerm != 0
			}, true},
		{"nofollow", response(t, "http://nofollow.example/", html,
			`<meta name=robots content=nofollow><meta http-equiv=refresh content="0; url=/r"><p>Wait.`, ""),
			storage.FetchSuccess, func(o *outcome) bool { return o.Redirect == "" }, true},
		{"nosnippet", response(t, "http://nosnippet.example/", html,
			`<p data-nosnippet>Secret words.</p><p>Public words.</p>`, ""),
			storage.FetchSuccess, func(o *outcome) bool { return o.Flags&storage.FlagContentOnly != 0 }, true},
		{"secret", response(t, "http://secret.example/", html, `<p data-nosnippet>All of it.</p>`, ""),
			storage.FetchSuccess, func(o *outcome) bool { return o.Flags&storage.FlagNoSnippet != 0 }, true},
		{"noindex", response(t, "http://noindex.example/", html+"X-Robots-Tag: noindex",
			`<p>Not to be found. <a href=/x>x</a>`, ""),
			storage.FetchSuccess, func(o *outcome) bool {
				return o.Flags&storage.FlagNoIndex != 0 && len(o.Outlinks) == 1
			}, false},
		{"preferences", prefer(response(t, "http://preferences.example/",
			html+"Content-Signal: ai-train=no\nTDM-Reservation: 1",
			`<meta name=robots content=noai><p>Read me.`, ""),
			"Content-Usage: train-ai=n", "License: https://l.example/"),
			storage.FetchSuccess, func(o *outcome) bool {
				return o.Preferences == "Content-Usage: train-ai=n\nLicense: https://l.example/\n"+
					"Content-Signal: ai-train=no\nTDM-Reservation: 1\nrobots: noai"
			}, true},
		{"search", prefer(response(t, "http://search.example/", html,
			`<p>Not to be found.`, ""), "Content-Usage: train-ai=y, search=n"),
			storage.FetchSuccess, func(o *outcome) bool { return o.Flags&storage.FlagNoIndex != 0 }, false},
		{"odd preferences", prefer(response(t, "http://odd.example/", html, `<p>Read me.`, ""),
			"Content-Usage: train-ai=n | search=y", "License: a\x01b\xff%0Ac é", "License:  twice  spaced ",
			"License: | a |", " | ", "Content-Signal: a |", "| b"),
			storage.FetchSuccess, func(o *outcome) bool { return o.Flags&storage.FlagNoIndex == 0 }, true},
		{"many preferences", prefer(response(t, "http://many.example/", html, `<p>Read me.`, ""),
			"License: 1"+long, "License: 2"+long, "License: 3"+long, "License: 4"+long, "Content-Usage: train-ai=n"),
			storage.FetchSuccess, func(o *outcome) bool {
				return len(o.Preferences) > 3*250 && len(o.Preferences) <= storage.PreferencesMaxBytes &&
					strings.HasSuffix(o.Preferences, "train-ai=n")
			}, true},
	}
}

// TestReplay: an attempt gives the same parse record, capture and counts live, read back after a crash, read back by a
// fetch that goes on, and parsed again.
func TestReplay(t *testing.T) {
	for _, c := range append(attemptCases(t), attemptCase{name: "all"}) {
		t.Run(c.name, func(t *testing.T) {
			attempts := func() (as []*segment.Attempt) {
				for _, again := range attemptCases(t) {
					if again.name == c.name || c.name == "all" {
						as = append(as, again.attempt)
					}
				}
				return as
			}
			w := newWorld(t)
			open := w.create()
			stored := w.storeAll(open, attempts()...)
			size := open.Size()
			sealed, err := open.Finish(ctx)
			w.must(err)
			live := w.dump(1)
			n := uint64(len(stored))
			if sealed.Pages != n || size.Pages != n || size.Bytes != sealed.Bytes || sealed.Segment != 1 {
				t.Errorf("%d are stored, the segment has %+v and was %+v full", n, sealed, size)
			}
			if c.check != nil {
				if o := w.outcomes(1)[c.attempt.URL.Key()]; o.Status != c.status || !c.check(&o) {
					t.Errorf("%+v", o)
				}
				first := stored[0]
				if first.Outcome.Status != c.status || first.URL != c.attempt.URL || first.Outcome.Outlinks != nil {
					t.Errorf("stored: %+v", first)
				}
				if text := strings.Contains(live, storage.ParseTextRange(1).String()+" "); text != c.text {
					t.Errorf("a text is stored: %t", text)
				}
			}
			again, err := w.Seal(ctx, w.record(1))
			w.must(err)
			if got := w.dump(1); got != live || again != sealed {
				t.Errorf("parsed again: %+v\n%s\nlive: %+v\n%s", again, got, sealed, live)
			}

			// The same file in a store that knows nothing of it but that the segment is open.
			copied := newWorld(t)
			copied.must(copied.store.PutSegment(storage.Segment{Number: 1, State: storage.SegmentOpen, Created: start}))
			copied.replace(w.path(1, 0), w.bytes(w.path(1, 0)))
			again, err = copied.Seal(ctx, copied.record(1))
			w.must(err)
			if got := copied.dump(1); got != live || again != sealed {
				t.Errorf("read back: %+v\n%s\nlive: %+v\n%s", again, got, sealed, live)
			}

			crashed := newWorld(t)
			open = crashed.create()
			crashed.storeAll(open, attempts()...)
			crashed.must(open.Abandon())
			if state := crashed.record(1).State; state != storage.SegmentOpen {
				t.Errorf("an abandoned segment is %s", state)
			}
			again, err = crashed.Seal(ctx, crashed.record(1))
			crashed.must(err)
			if got, want := crashed.outcomes(1), w.outcomes(1); again != sealed || !sameButPlace(got, want) {
				t.Errorf("abandoned: %+v\n%+v\nlive: %+v\n%+v", again, got, sealed, want)
			}
			if got, want := crashed.record(1).Counts, w.record(1).Counts; got != want {
				t.Errorf("abandoned: %+v, live: %+v", got, want)
			}
			if len(w.warns)+len(crashed.warns) > 0 {
				t.Errorf("warnings: %q, %q", w.warns, crashed.warns)
			}
		})
	}
}

// sameButPlace compares outcomes but for the places of their WARC records, which have random names.
func sameButPlace(a, b map[urlkey.Key]storage.FetchOutcome) bool {
	for _, all := range []map[urlkey.Key]storage.FetchOutcome{a, b} {
		for k, o := range all {
			o.Location = warc.Location{}
			all[k] = o
		}
	}
	return reflect.DeepEqual(a, b)
}

// threePages is a world with an open segment that was abandoned, and where the records of its pages are.
func threePages(t testing.TB) (w *world, path string, at []warc.Location) {
	w = newWorld(t)
	open := w.create()
	for _, host := range []string{"a", "b", "c"} {
		w.storeAll(open, page(t, "http://"+host+".example/"))
	}
	w.must(open.Abandon())
	path = w.path(1, 0)
	for _, rec := range w.records(path) {
		if rec.Type == warc.TypeResponse {
			at = append(at, rec.Location)
		}
	}
	if len(at) != 3 {
		t.Fatalf("%d responses", len(at))
	}
	return w, path, at
}

// TestHole: a damaged part in the middle of an open segment's file is reported and cut out, and is no record. A sealed
// segment has none, so there it is an error.
func TestHole(t *testing.T) {
	w, path, at := threePages(t)
	whole := len(w.records(path))
	b := w.bytes(path)
	for i := at[1].Offset; i < at[1].Offset+at[1].Length; i++ {
		b[i] = 0
	}
	w.replace(path, b)
	sealed, err := w.Seal(ctx, w.record(1))
	w.must(err)
	seg := w.record(1)
	file := seg.WARC[0]
	hole := at[1].Length
	if sealed.Pages != 2 || sealed.Torn != hole || file.Records != uint64(whole-1) || file.Size != int64(len(b))-hole {
		t.Errorf("%+v, %+v of %d records", sealed, seg.WARC, whole)
	}
	if keys := w.keys(1); keys != "example,a,)/ http example,c,)/ http" {
		t.Errorf("%s", keys)
	}
	if len(w.warns) != 1 || !strings.Contains(w.warns[0], path) {
		t.Errorf("warnings: %q", w.warns)
	}
	if again, err := w.Seal(ctx, seg); err != nil || again.Pages != 2 || again.Torn != 0 {
		t.Errorf("read back again: %+v, %v", again, err)
	}
	b = w.bytes(path)
	b[at[0].Offset+at[0].Length/2]++
	w.replace(path, b)
	if _, err := w.Seal(ctx, seg); err == nil {
		t.Error("a sealed segment with a hole was read back")
	}
}

// TestTornTail: the end of a file that was being written is cut off, at every byte.
func TestTornTail(t *testing.T) {
	w, path, at := threePages(t)
	b := w.bytes(path)
	seg := w.record(1)
	for _, cut := range []int64{
		at[2].Offset + at[2].Length - 1, at[2].Offset + 1, at[2].Offset, at[1].Offset + at[1].Length/2,
		at[0].Offset, 20, 0,
	} {
		w.replace(path, b[:cut])
		sealed, err := w.Seal(ctx, seg)
		w.must(err)
		pages := uint64(0)
		for _, loc := range at {
			if loc.Offset+loc.Length <= cut {
				pages++
			}
		}
		left, err := w.files.Size(path)
		w.must(err)
		if sealed.Pages != pages || sealed.Torn != cut-left || w.record(1).WARC[0].Size != left {
			t.Errorf("cut at %d of %d: %+v, %d bytes are left", cut, len(b), sealed, left)
		}
	}
}

// TestReplayMemory: reading back holds a bounded part of what it reads, however long bodies are.
func TestReplayMemory(t *testing.T) {
	const bodies, length = 24, 6 << 20
	w := newWorld(t)
	open := w.create()
	body := strings.Repeat("x", length)
	for i := range bodies {
		url := fmt.Sprintf("http://h%d.example/", i)
		w.storeAll(open, response(t, url, "HTTP/1.1 200 OK\nContent-Type: application/x-long", body, ""))
	}
	w.must(open.Abandon())
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // pools keep what they have for one
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most, n := held(), uint64(0), 0
	again, err := w.Resume(ctx, w.record(1), func([]byte, int64, time.Duration) {
		if n++; n == 2 {
			time.Sleep(500 * time.Millisecond) // what may be read ahead is
		}
		most = max(most, held())
	})
	w.must(err)
	w.must(again.Abandon())
	if n != bodies || most > before+10*length {
		t.Errorf("%d attempts were read back with %d MiB of bodies in memory", n, (most-before)>>20)
	}
}

// TestZeros: a file whose length reached the disk before its bytes is emptied: nothing of it was acknowledged. Of one
// whose first block alone is lost, which the disk may have done, what is behind it is kept.
func TestZeros(t *testing.T) {
	for name, c := range map[string]struct {
		zeros, pages int
		says         string
	}{
		"all":             {1 << 20, 0, "bytes are dropped and their pages are due again"},
		"the first block": {512, 3, "at offset 0: no record begins with"},
	} {
		w, path, _ := threePages(t) // of a segment that is open
		b := w.bytes(path)
		zeros := min(c.zeros, len(b))
		w.replace(path, append(make([]byte, zeros), b[zeros:]...))
		sealed, err := w.Seal(ctx, w.record(1))
		w.must(err)
		size, err := w.files.Size(path)
		w.must(err)
		if int(sealed.Pages) != c.pages || sealed.Torn+size != int64(len(b)) || (size == 0) != (c.pages == 0) {
			t.Errorf("%s: %+v, %d bytes are left", name, sealed, size)
		}
		if len(w.warns) != 1 || !strings.Contains(w.warns[0], c.says) {
			t.Errorf("%s: warnings: %q", name, w.warns)
		}
	}
	w, path, _ := threePages(t)
	b := []byte("something else, which nobody should cut off")
	w.replace(path, b)
	if _, err := w.Seal(ctx, w.record(1)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file of another kind: %v", err)
	}
	if size, err := w.files.Size(path); err != nil || size < int64(len(b)) {
		t.Errorf("%d bytes are left, %v", size, err)
	}
}
