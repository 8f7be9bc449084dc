// SPDX-License-Identifier: Apache-2.0

package segment_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
)

// TestCreate: segments made at the same time are different ones.
func TestCreate(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	numbers := map[uint32]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			open, err := w.Create()
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			numbers[open.Number()] = true
			mu.Unlock()
			if !open.Created().Equal(start) {
				t.Errorf("created at %s", open.Created())
			}
			if err := open.Abandon(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(numbers) != 8 {
		t.Errorf("%d numbers: %v", len(numbers), numbers)
	}
}

// TestValidators: those of a response are kept as sent, unless they are too long to be any.
func TestValidators(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	var s segment.Scratch
	long := strings.Repeat("x", 513)
	for _, v := range [][4]string{
		{`W/"a"`, "Wed, 04 Mar 2026 05:00:00 GMT", `W/"a"`, "Wed, 04 Mar 2026 05:00:00 GMT"},
		{long[:512], "then", long[:512], "then"},
		{long, long, "", ""},
	} {
		head := "HTTP/1.1 200 OK\nContent-Type: text/html\nETag: " + v[0] + "\nLast-Modified: " + v[1]
		_, err := open.Store(response(t, "http://a.example/", head, "hi", ""), &s)
		w.must(err)
		if o := s.Outcome(); o.ETag != v[2] || o.LastModified != v[3] {
			t.Errorf("%.20q, %.20q: kept %.20q, %.20q", v[0], v[1], o.ETag, o.LastModified)
		}
	}
	w.must(open.Abandon())
}

// TestRefreshField: a page that has only a Refresh field in its header is a redirect.
func TestRefreshField(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	var s segment.Scratch
	head := "HTTP/1.1 200 OK\nContent-Type: text/html\nRefresh: 0; url=/next"
	_, err := open.Store(response(t, "http://a.example/", head, "", ""), &s)
	w.must(err)
	if o := s.Outcome(); o.Redirect != "example,a,)/next http" || len(o.Outlinks) != 1 {
		t.Errorf("%+v", o)
	}
	w.must(open.Abandon())
}

// TestSync: an outcome is returned once, after its record is synced and not before.
func TestSync(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	var s segment.Scratch
	_, err := open.Store(page(t, "http://a.example/"), &s)
	w.must(err)
	var synced []string
	w.files.failing(func(op, name string) error {
		if op == "sync" {
			synced = append(synced, name)
		}
		return nil
	})
	stored, err := open.Sync()
	if err != nil || len(stored) != 1 || len(synced) != 1 {
		t.Errorf("%+v, %v, synced %q", stored, err, synced)
	}
	if stored, err := open.Sync(); err != nil || len(stored) != 0 || len(synced) != 1 {
		t.Errorf("again: %+v, %v, synced %q", stored, err, synced)
	}
	_, err = open.Store(page(t, "http://b.example/"), &s)
	w.must(err)
	w.files.failing(failOn("sync"))
	if stored, err := open.Sync(); !errors.Is(err, os.ErrPermission) || len(stored) != 0 {
		t.Errorf("%+v, %v", stored, err)
	}
	w.files.failing(nil)
	if _, err := open.Finish(ctx); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "segment 1") {
		t.Errorf("sealed after a failed sync: %v", err)
	}
}

// TestResume: a fetch that goes on calls each with every key that is there, stores into a new file, and seals all of
// it.
func TestResume(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	a, b := page(t, "http://a.example/"), failed(t, "http://b.example/", "refused")
	a.Response.Received, a.Took, b.Received, b.Took = 4711, 3*time.Second, 12, 20*time.Millisecond
	w.storeAll(open, a, b)
	w.must(open.KeepRobots(parseURL(t, "http://a.example/robots.txt"), page(t, "http://a.example/robots.txt").Response))
	w.must(open.Abandon())
	var mu sync.Mutex
	var seen []string
	costs := map[string]string{}
	open, err := w.Resume(ctx, w.record(1), func(key []byte, received int64, took time.Duration) {
		mu.Lock()
		seen = append(seen, string(key))
		costs[string(key)] = fmt.Sprintf("%d bytes in %s", received, took)
		mu.Unlock()
	})
	w.must(err)
	slices.Sort(seen)
	if !slices.Equal(seen, []string{"example,a,)/ http", "example,b,)/ http"}) {
		t.Errorf("each was called with %q", seen)
	}
	if costs[seen[0]] != "4711 bytes in 3s" || costs[seen[1]] != "12 bytes in 20ms" {
		t.Errorf("%q", costs)
	}
	if size := open.Size(); size.Pages != 2 {
		t.Errorf("%+v", size)
	}
	if stored := w.storeAll(open, page(t, "http://c.example/")); len(stored) != 1 {
		t.Errorf("%d are new", len(stored))
	}
	var hashes []uint64
	for _, key := range append(seen, "example,c,)/ http") {
		hashes = append(hashes, xxh3.HashString(key))
	}
	slices.Sort(hashes)
	if got := slices.Sorted(slices.Values(open.Hashes())); !slices.Equal(got, hashes) {
		t.Errorf("hashes %x, want %x", got, hashes)
	}
	sealed, err := open.Finish(ctx)
	if err != nil || sealed.Pages != 3 {
		t.Errorf("%+v, %v", sealed, err)
	}
	seg := w.record(1)
	keys := "example,a,)/ http example,b,)/ http example,c,)/ http"
	if len(seg.WARC) != 2 || seg.Counts.Fetched != 2 || seg.Counts.Failed != 1 || w.keys(1) != keys {
		t.Errorf("%+v with %s", seg, w.keys(1))
	}
	live := w.dump(1)
	if _, err := w.Seal(ctx, seg); err != nil || w.dump(1) != live {
		t.Errorf("parsed again: %v\n%s\nlive:\n%s", err, w.dump(1), live)
	}
}

// TestLaterOutcome: of a URL that was fetched twice within a segment the later outcome is kept, in whatever order the
// file system lists the files.
func TestLaterOutcome(t *testing.T) {
	w := newWorld(t)
	w.files.reverse = true
	open := w.create()
	w.storeAll(open, page(t, "http://a.example/"))
	w.must(open.Abandon())
	open, err := w.Resume(ctx, w.record(1), func([]byte, int64, time.Duration) {})
	w.must(err)
	w.storeAll(open, failed(t, "http://a.example/", "refused"))
	_, err = open.Finish(ctx)
	w.must(err)
	for range 2 {
		if o := w.outcomes(1)["example,a,)/ http"]; o.Failure != "refused" {
			t.Errorf("%+v", o)
		}
		_, err = w.Seal(ctx, w.record(1))
		w.must(err)
	}
	if names, _ := w.Files(1); !slices.IsSorted(names) || len(names) != 2 {
		t.Errorf("%q", names)
	}
}

// TestKeepRobots: the response to a request for robots.txt is in the WARC and is no page.
func TestKeepRobots(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	w.must(open.KeepRobots(parseURL(t, "http://a.example/robots.txt"), page(t, "http://a.example/robots.txt").Response))
	w.must(open.Abandon())
	sealed, err := w.Seal(ctx, w.record(1))
	if err != nil || sealed.Pages != 0 || w.keys(1) != "" || w.record(1).WARC[0].Records != 3 {
		t.Errorf("%+v, %v, %q, %+v", sealed, err, w.keys(1), w.record(1).WARC)
	}
}

// TestClose: closing twice does nothing, and a writer that was given up leaks nothing.
func TestClose(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	w.storeAll(open, page(t, "http://a.example/"))
	open.Close()
	open.Close()
	open = w.create()
	w.storeAll(open, page(t, "http://a.example/"))
	_, err := open.Finish(ctx)
	w.must(err)
	open.Close()
	if err := open.Abandon(); err == nil {
		t.Error("a sealed segment was abandoned")
	}
}

// TestFailures: an error of the WARC reaches the caller, says which segment or URL it was about, and leaks neither
// files nor sorters.
func TestFailures(t *testing.T) {
	two := func(t testing.TB) *world {
		w := newWorld(t)
		open := w.create()
		w.storeAll(open, page(t, "http://a.example/"))
		w.must(open.Abandon())
		return w
	}
	for name, v := range map[string]struct {
		op    string
		run   func(w *world) error
		about string
	}{
		"create":        {"create", func(w *world) error { return store(w, nil) }, "http://x.example/"},
		"write":         {"write", func(w *world) error { return store(w, nil) }, "seine-00000002"},
		"list":          {"list", sealElsewhere, "parsing segment 1"},
		"open":          {"open", seal, "parsing segment 1"},
		"read":          {"read", seal, "parsing segment 1"},
		"resume":        {"read", resume, "segment 1"},
		"resume create": {"create", resume, "http://x.example/"},
	} {
		t.Run(name, func(t *testing.T) {
			w := two(t)
			w.files.failing(failOn(v.op))
			if err := v.run(w); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), v.about) {
				t.Errorf("%v, want something about %q", err, v.about)
			}
			w.files.failing(nil)
		})
	}
}

// store stores a page into a new segment, or into that one, and seals it.
func store(w *world, open *segment.Writer) error {
	if open == nil {
		var err error
		if open, err = w.Create(); err != nil {
			return err
		}
	}
	defer open.Abandon()
	var s segment.Scratch
	if _, err := open.Store(page(w, "http://x.example/"), &s); err != nil {
		return err
	}
	if _, err := open.Sync(); err != nil {
		return err
	}
	_, err := open.Finish(ctx)
	return err
}

func seal(w *world) error {
	_, err := w.Seal(ctx, w.record(1))
	return err
}

// sealElsewhere seals in another process, which does not know what this one wrote.
func sealElsewhere(w *world) error {
	_, err := segment.New(w.env(w.store)).Seal(ctx, w.record(1))
	return err
}

func resume(w *world) error {
	open, err := w.Resume(ctx, w.record(1), func([]byte, int64, time.Duration) {})
	if err != nil {
		return err
	}
	return store(w, open)
}

// TestCanceled: a context that ended leaves the segment open.
func TestCanceled(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	w.storeAll(open, page(t, "http://a.example/"))
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := open.Finish(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := w.Seal(canceled, w.record(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := w.Resume(canceled, w.record(1), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if state := w.record(1).State; state != storage.SegmentOpen {
		t.Errorf("it is %s", state)
	}
	if _, err := w.Seal(ctx, w.record(1)); err != nil {
		t.Error(err)
	}
}

// TestRefusedRecord: what the WARC cannot hold is an error about the URL, and what comes next is stored.
func TestRefusedRecord(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	var s segment.Scratch
	bad := page(t, "http://a.example/")
	bad.Response.Truncated = "nonsense"
	if _, err := open.Store(bad, &s); err == nil || !strings.Contains(err.Error(), "http://a.example/") {
		t.Errorf("%v", err)
	}
	w.storeAll(open, page(t, "http://b.example/"))
	sealed, err := open.Finish(ctx)
	if err != nil || sealed.Pages != 1 {
		t.Errorf("%+v, %v", sealed, err)
	}
}

// TestSealedInParts: a large segment is the same whether one goroutine writes its tables or several do, which leave
// parts that others share again.
func TestSealedInParts(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	var attempts []*segment.Attempt
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		body := fmt.Appendf(nil, "<title>Page %d</title><p>", i)
		for range 6000 { // words that do not compress to nothing
			body = fmt.Appendf(body, "word%d ", rng.Uint32())
		}
		attempts = append(attempts, response(t, fmt.Sprintf("http://a.example/%d", i),
			"HTTP/1.1 200 OK\nContent-Type: text/html", string(body), ""))
	}
	w.storeAll(open, attempts...)
	if _, err := open.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	alone := w.dump(1)
	env, steps := w.env(w.store), 0
	env.Processors = 3
	env.Spent = func(s segment.Step, d time.Duration) {
		if s == segment.StepSeal {
			w.mu.Lock()
			steps++
			w.mu.Unlock()
		}
	}
	if _, err := segment.New(env).Seal(ctx, w.record(1)); err != nil {
		t.Fatal(err)
	}
	if w.dump(1) != alone {
		t.Error("several goroutines sealed it otherwise")
	}
	if steps < 4 {
		t.Errorf("%d goroutines were measured", steps)
	}
	if parts, err := w.store.PartsOf(storage.ParseTextRange(1), 3); err != nil || len(parts) != 3 {
		t.Errorf("%d parts, %v", len(parts), err)
	}
}

// TestManyGoroutines: fetchers store at the same time, and everything they store is sealed.
func TestManyGoroutines(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			var s segment.Scratch
			for i := range 20 {
				a := page(t, fmt.Sprintf("http://h%d.example/%d", g, i))
				if _, err := open.Store(a, &s); err != nil {
					t.Error(err)
				}
				if s.Page().Title != a.URL.String() || len(s.Outcome().Outlinks) != 1 {
					t.Errorf("%s: %q, %+v", a.URL, s.Page().Title, s.Outcome())
				}
				if _, err := open.Sync(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	sealed, err := open.Finish(ctx)
	if err != nil || sealed.Pages != 80 || sealed.Links != 80 {
		t.Errorf("%+v, %v", sealed, err)
	}
}

// TestSpent: the processor time of each step is reported, of the first pages and of a share of later ones.
func TestSpent(t *testing.T) {
	fs := storage.NewMemFS()
	s, err := storage.Open("store", storage.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	calls := map[segment.Step]int{}
	w := newWorld(t)
	env := w.env(s)
	env.Spent = func(step segment.Step, d time.Duration) { calls[step]++ }
	open, err := segment.New(env).Create()
	if err != nil {
		t.Fatal(err)
	}
	var scratch segment.Scratch
	a := failed(t, "http://a.example/", "refused")
	for range 1024 + 80 {
		if _, err := open.Store(a, &scratch); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := open.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	if calls[segment.StepWARC] != 1024+10 || calls[segment.StepParse] != 1024+10 || calls[segment.StepSeal] != 1 {
		t.Errorf("%v", calls)
	}
}

// TestCounts: every outcome is in exactly one class.
func TestCounts(t *testing.T) {
	var c segment.Counts
	for _, o := range []storage.FetchOutcome{
		{Status: storage.FetchSuccess, Bytes: 10}, {Status: storage.FetchNotModified}, {Status: storage.FetchRedirTemp},
		{Status: storage.FetchRedirPerm},
		{Status: storage.FetchGone, HTTPStatus: 404, Bytes: 5}, {Status: storage.FetchGone, Failure: "robots_denied"},
		{Status: storage.FetchRetry, Failure: "refused"}, {Status: storage.FetchRetry, HTTPStatus: 503},
		{Status: storage.FetchRetry, HTTPStatus: 503},
	} {
		c.Add(&o)
	}
	want := "{Fetched:1 Failed:4 Gone:1 NotModified:1 Redirected:2 RobotsDenied:1 CrawlDelay:0 Bytes:15 " +
		"Replayed:0 Failures:map[http_404:1 http_503:2 refused:1]}"
	if got := fmt.Sprintf("%+v", c); got != want || c.Attempts() != 9 {
		t.Errorf("%s, %d attempts", got, c.Attempts())
	}
	sum := c.Plus(c)
	sum.Failures["refused"]++
	if sum.Fetched != 2 || sum.Attempts() != 18 || sum.Failures["http_503"] != 4 || c.Failures["refused"] != 1 {
		t.Errorf("%+v, %+v", sum, c)
	}
	if sum := (segment.Counts{}).Plus(c); sum.Failures["http_503"] != 2 || fmt.Sprintf("%+v", sum) != want {
		t.Errorf("%+v", sum)
	}
}

// TestSpan: a segment's times include that of a request which began under the segment before: by them the outcome of a
// URL is found.
func TestSpan(t *testing.T) {
	w := newWorld(t)
	open := w.create()
	early := failed(t, "http://a.example/", fetch.FailDNS)
	early.At = start.Add(-3 * time.Second)
	w.storeAll(open, page(t, "http://b.example/"), early)
	_, err := open.Finish(context.Background())
	w.must(err)
	seg := w.record(open.Number())
	if !seg.Created.Equal(early.At) {
		t.Errorf("created at %s", seg.Created)
	}
}
