// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// tester is what *testing.T and *rapid.T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// world is a store in memory with phases over it, and a clock that stands still.
type world struct {
	t        tester
	fs       storage.FS
	store    *storage.Store
	options  admission.Options
	adm      *admission.Admission
	p        *Phases
	now      int64 // ms
	sitemaps []urlkey.Key
	// collected is called when UpdateDB has read all parse records; nil: nothing is.
	collected func()
	deleted   []urlkey.Key
	segment   uint32 // the last
	// dir is the store's directory, "store" if it is "". cacheBytes is storage.Options.CacheBytes.
	dir        string
	cacheBytes int64
	// tableBytes is Env.TableBytes, a MiB if it is 0. restart puts it in force.
	tableBytes int64
	// processors is Env.Processors, 3 if it is 0, and then the smallest work is shared. restart puts it in force.
	processors int
	// scorer is Env.Scorer, VoteScorer if it is nil. restart puts it in force.
	scorer policy.Scorer
	// schedule is Env.Schedule, FixedSchedule if it is nil. restart puts it in force.
	schedule policy.FetchSchedule
}

const firstMS = 1_700_000_000_000

func newWorld(t tester, o admission.Options) *world {
	t.Helper()
	w := &world{t: t, fs: storage.NewMemFS(), now: firstMS, options: o}
	if o.MaxRedirects == 0 {
		w.options.MaxRedirects = 10
	}
	w.options.Now = func() time.Time { return time.UnixMilli(w.now) }
	w.open()
	return w
}

// open opens the store, and makes admission and phases anew as another process would.
func (w *world) open() {
	w.t.Helper()
	if w.store != nil {
		w.close()
	}
	var err error
	if w.store, err = storage.Open(
		cmp.Or(w.dir, "store"), storage.Options{FS: w.fs, CacheBytes: w.cacheBytes},
	); err != nil {
		w.t.Fatal(err)
	}
	w.restart()
}

// restart makes admission and phases anew, over the open store.
func (w *world) restart() {
	w.t.Helper()
	if w.scorer == nil {
		w.scorer = policy.VoteScorer{}
	}
	if w.schedule == nil {
		w.schedule = policy.FixedSchedule{}
	}
	w.options.Store = w.store
	w.adm = admission.New(w.options)
	if err := w.adm.Load(); err != nil {
		w.t.Fatal(err)
	}
	sorterOf := func(bytes int64, combine func(dst, a, b []byte) []byte) *storage.Sorter {
		return storage.NewSorter(storage.SorterOptions{
			Dir: w.store.SortDir(), FS: w.fs, MemoryBytes: bytes, Combine: combine,
		})
	}
	w.p = New(Env{
		Store: w.store, Admission: w.adm, SorterOf: sorterOf,
		Sorter: func(combine func(dst, a, b []byte) []byte) *storage.Sorter {
			return sorterOf(storage.SorterMinBytes, combine)
		},
		TableBytes: cmp.Or(w.tableBytes, 1<<20), Now: w.options.Now, Processors: cmp.Or(w.processors, 3),
		Scorer: w.scorer, Schedule: w.schedule,
		MaxInterval: policy.DefaultMaxInterval * time.Second, Interval: policy.DefaultInterval * time.Second,
		SeedScore: 1, MaxInlinks: 10_000, AnchorLength: storage.AnchorMaxBytes,
		Sitemaps: func(uint32) ([]urlkey.Key, func()) {
			if w.collected != nil {
				w.collected()
			}
			return w.sitemaps, func() { w.sitemaps = nil }
		},
		Deletes: func(*storage.Ingestion) Deletes { return &deletions{w: w} },
		Warn:    func(err error) { w.t.Fatal(err) },
	})
	if w.processors != 1 {
		w.p.share = share{pages: 1, bytes: 1, partsOf: w.partsOf}
	}
}

// partsOf cuts a range into n parts, as one that was written in parts.
func (w *world) partsOf(r storage.Range, n int) (from [][]byte, err error) {
	var keys [][]byte
	sc := w.store.Scan(r, nil, nil)
	for sc.Next() {
		keys = append(keys, bytes.Clone(sc.Key()))
	}
	from = [][]byte{nil}
	for i := 1; i < min(n, len(keys)); i++ {
		from = append(from, keys[i*len(keys)/n])
	}
	return from, sc.Close()
}

func (w *world) close() {
	w.t.Helper()
	if err := w.store.Close(); err != nil {
		w.t.Fatal(err)
	}
}

// deletions stand for the index.
type deletions struct {
	w    *world
	keys []urlkey.Key
}

func (d *deletions) Delete(key urlkey.Key) error { d.keys = append(d.keys, key); return nil }
func (d *deletions) Abort()                      { d.keys = nil }
func (d *deletions) Finish() (uint64, error) {
	d.w.deleted = append(d.w.deleted, d.keys...)
	return uint64(len(d.keys)), nil
}

// page is one outcome of a fetch. The zero status is a success.
type page struct {
	url       string
	status    storage.FetchStatus
	redirect  string
	links     []string
	content   byte // signature, 0: none
	near      storage.SimHash
	at        int64 // after firstMS, ms
	bytes     uint32
	took      uint32                // ms
	outcome   *storage.FetchOutcome // in place of the fields above; its time is set
	mediaType string
	hints     []storage.LinkHint
}

func keyOf(t tester, url string) urlkey.Key {
	t.Helper()
	u, err := urlkey.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return u.Key()
}

func (w *world) key(url string) urlkey.Key { w.t.Helper(); return keyOf(w.t, url) }

// seal makes a sealed segment of pages and returns its number.
func (w *world) seal(pages ...page) uint32 {
	w.t.Helper()
	w.segment++
	seg := storage.Segment{Number: w.segment, State: storage.SegmentOpen}
	if err := w.store.PutSegment(seg); err != nil {
		w.t.Fatal(err)
	}
	seg.Counts.Fetched = uint64(len(pages))
	values, captures := map[urlkey.Key][]byte{}, map[urlkey.Key][]byte{}
	for _, p := range pages {
		o := storage.FetchOutcome{Status: p.status, Time: firstMS + p.at, Bytes: p.bytes, TookMS: p.took}
		switch {
		case p.redirect != "":
			o.Redirect = w.key(p.redirect)
			if p.status == 0 {
				o.Status = storage.FetchRedirPerm
			}
		case p.status == 0:
			o.Status = storage.FetchSuccess
		}
		o.MediaType, o.Hints = p.mediaType, p.hints
		if p.outcome != nil {
			o = *p.outcome
			o.Time = firstMS + p.at
		}
		o.SimHash = p.near
		if p.content != 0 {
			o.Signature = storage.Signature{p.content}
		}
		for _, l := range p.links {
			o.Outlinks = append(o.Outlinks, storage.Outlink{Key: w.key(l)})
		}
		values[w.key(p.url)] = storage.AppendFetchOutcome(nil, &o)
		captures[w.key(p.url)] = storage.AppendCDXKey(nil, []byte(w.key(p.url)), o.Time)
	}
	ing := w.store.NewIngestion()
	keys := make([]urlkey.Key, 0, len(values))
	for k := range values {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		cdx := storage.CDX{Segment: w.segment}
		cdx.Location.File, cdx.Location.Length = "w", 1
		err := ing.Table(storage.ParseLinks(w.segment)).Set([]byte(k), values[k])
		if err == nil {
			err = ing.Table(storage.CDXRange()).Set(captures[k], storage.AppendCDX(nil, &cdx))
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	seg.State, seg.WARC = storage.SegmentSealed, []storage.WARCFile{{Name: "w", Size: 1, Records: 1}}
	if err := ing.PutSegment(seg); err != nil {
		w.t.Fatal(err)
	}
	if err := ing.Commit(); err != nil {
		w.t.Fatal(err)
	}
	return w.segment
}

func (w *world) inject(urls ...string) Injected {
	w.t.Helper()
	r, err := w.p.Inject(context.Background(), InjectOptions{URLs: urls})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// update seals pages and brings them into crawldb.
func (w *world) update(pages ...page) Updated {
	w.t.Helper()
	r, err := w.p.UpdateDB(context.Background(), w.seal(pages...))
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) dedup(o DedupOptions) Deduped {
	w.t.Helper()
	r, err := w.p.Dedup(context.Background(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) targets(names ...string) Targets {
	w.t.Helper()
	all, err := w.p.Targets(names)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// remove deletes targets.
func (w *world) remove(names ...string) Deleted {
	w.t.Helper()
	r, err := w.p.Delete(context.Background(), DeleteOptions{Targets: w.targets(names...)})
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) readmit() Readmitted {
	w.t.Helper()
	r, err := w.p.Readmit(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// admit takes URLs into the scope without making records of them.
func (w *world) admit(urls ...string) {
	w.t.Helper()
	c := w.adm.NewChanges()
	for _, u := range urls {
		c.Seed(w.key(u))
	}
	ing := w.store.NewIngestion()
	defer ing.Abort()
	if err := c.WriteTo(ing, true); err != nil {
		w.t.Fatal(err)
	}
	if err := ing.Commit(); err != nil {
		w.t.Fatal(err)
	}
	if err := c.Commit(); err != nil {
		w.t.Fatal(err)
	}
}

// records returns crawldb by key.
func (w *world) records() map[urlkey.Key]storage.Record {
	w.t.Helper()
	all := map[urlkey.Key]storage.Record{}
	sc := w.store.Scan(storage.Crawldb(), nil, nil)
	for sc.Next() {
		var r storage.Record
		if err := storage.DecodeRecord(sc.Value(), &r); err != nil {
			w.t.Fatal(err)
		}
		all[urlkey.Key(sc.Key())] = r
	}
	if err := sc.Close(); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// dump prints crawldb, one record a line, bytewise but for the number of the segment.
func (w *world) dump() string {
	w.t.Helper()
	var lines []string
	for k, r := range w.records() {
		plain := fmt.Sprintf("%s score %g depth %d hops %d", r.Status, r.Score, r.Depth, r.Hops)
		r.Segment = min(r.Segment, 1)
		lines = append(lines, fmt.Sprintf("%s %s %x", k, plain, storage.AppendRecord(nil, &r)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// withheld lists the withheld targets.
func (w *world) withheld() (keys []urlkey.Key) {
	w.t.Helper()
	sc := w.store.Scan(storage.WithheldRange(), nil, nil)
	for sc.Next() {
		target, _, err := storage.SplitLinkdbKey(sc.Key())
		if err != nil {
			w.t.Fatal(err)
		}
		keys = append(keys, urlkey.Key(target))
	}
	if err := sc.Close(); err != nil {
		w.t.Fatal(err)
	}
	return slices.Compact(keys)
}

// dueHosts are the hosts with something due now.
func (w *world) dueHosts() (hosts []urlkey.HostKey) {
	w.t.Helper()
	err := w.p.DueHosts(context.Background(), w.store, "", w.now, 0, func(h urlkey.HostKey) error {
		hosts = append(hosts, h)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return hosts
}

// check verifies the store, with its due range, and that what hostdb says of due times is exact where it must be.
func (w *world) check() {
	w.t.Helper()
	if report, err := w.store.Verify(context.Background()); err != nil || !report.OK() {
		w.t.Fatalf("%v\n%s", err, report)
	}
	least := map[urlkey.HostKey]int64{}
	for k, r := range w.records() {
		h := k.HostKey()
		if at, ok := least[h]; !ok || r.FetchTime < at {
			least[h] = r.FetchTime
		}
	}
	sc := w.store.Scan(storage.HostCountsRange(), nil, nil)
	defer sc.Close()
	for sc.Next() {
		var c storage.HostCounts
		if err := storage.DecodeHostCounts(sc.Value(), &c); err != nil {
			w.t.Fatal(err)
		}
		h := urlkey.HostKey(sc.Key())
		if c.New == 0 && c.NextDue != least[h] || c.NextDue > least[h] || c.NextDue == 0 {
			w.t.Fatalf("%s: next due %d, want %d; %+v", h, c.NextDue, least[h], c)
		}
		delete(least, h)
	}
	if len(least) > 0 {
		w.t.Fatalf("no counts of %v", least)
	}
}

// liveDeny is a live filter that denies hosts.
type liveDeny struct {
	denied  map[urlkey.HostKey]bool
	version uint64
	changed bool
	// after, if not nil, is called once after an answer.
	after func()
	mu    sync.Mutex // guards after
}

// set changes the list; Refresh finds it.
func (f *liveDeny) set(version uint64, hosts ...urlkey.HostKey) {
	f.denied, f.version, f.changed = map[urlkey.HostKey]bool{}, version, true
	for _, h := range hosts {
		f.denied[h] = true
	}
}

func (f *liveDeny) Accept(u urlkey.URL) string {
	f.mu.Lock()
	after := f.after
	f.after = nil
	f.mu.Unlock()
	if after != nil {
		defer after()
	}
	if f.denied[u.HostKey()] {
		return "denied"
	}
	return ""
}
func (f *liveDeny) Explain(urlkey.URL) string { return "" }
func (f *liveDeny) Fingerprint() uint64       { return f.version }
func (f *liveDeny) Refresh() (bool, error) {
	changed := f.changed
	f.changed = false
	return changed, nil
}

// checkFew is rapid.Check with fewer cases, for properties whose cases each need a store. -rapid.checks overrides.
// Tests that run beside others must not call it: it sets the flag for all.
func checkFew(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if was := f.Value.String(); was == f.DefValue {
		if err := f.Value.Set("20"); err != nil {
			t.Fatal(err)
		}
		defer f.Value.Set(was)
	}
	rapid.Check(t, property)
}
