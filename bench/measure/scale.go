// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// ScaleOptions say what Scale measures. All fields but Dir are required.
type ScaleOptions struct {
	URLs     []int // sizes of crawldb, in URLs
	Segments int   // segments that are brought into each
	Pages    int   // pages of a segment
	Links    int   // links of a page
	Top      int   // URLs that generate chooses after each segment
	Due      int   // URLs that are due in the second store
	Memory   int64 // as engine.Options.Memory
	Dir      string
	// Line is called with every result as it comes, Log with a text before each step, both on the goroutine of Scale.
	Line func(Line)
	Log  func(string)
}

// What the generated crawldb and its segments are made of.
const (
	scaleNow      = 1_750_000_000_000 // ms since 1970: the clock of the stores
	scaleInterval = 30 * 24 * 3600    // s
	scaleRest     = 200 * time.Millisecond
	scalePerHost  = 64 // URLs of a host in a fetchlist, as a crawl's windows are small
)

// Scale measures what stays the same work while crawldb grows: bringing the same segments into a crawldb of each size.
// Nothing is fetched: crawldb and parse records are generated, and the phases of an Engine run on them.
//
// The first store of each size has URLs that were never fetched. It gets the segments one by one; each goes through
// updatedb and is followed by generate, which chooses the next fetchlist as a crawl's refill does, and by all
// compactions that these leave. Bare Pebble joins the same keys with the same records and writes as many.
// The second store's URLs were all fetched. Generate finds nothing due in it, and then some that are spread over all.
//
// It takes a minute for each 10^6 URLs and some 150 bytes of disk for each URL.
func Scale(ctx context.Context, o ScaleOptions) error {
	for _, n := range o.URLs {
		if err := o.size(ctx, n); err != nil {
			return fmt.Errorf("a crawldb of %d URLs: %w", n, err)
		}
	}
	return nil
}

// size measures one size.
func (o *ScaleOptions) size(ctx context.Context, n int) error {
	o.Log(fmt.Sprintf("%d URLs: their hosts", n))
	web := newScaleWeb(n)
	l := Line{Name: fmt.Sprintf("Scale/urls=%d", n), Count: o.Segments}
	for _, part := range []func(context.Context, *scaleRound) error{o.grow, o.bare, o.due} {
		r := scaleRound{web: web, line: &l}
		err := r.within(o.Dir, func() error { return part(ctx, &r) })
		if err != nil {
			return err
		}
	}
	mine, _ := l.Value("updatedb-cpu-µs/link")
	bare, _ := l.Value("bare-cpu-µs/link")
	l.Metrics = append(l.Metrics, Metric{"bare/updatedb", bare / mine})
	o.Line(l)
	return nil
}

// scaleRound is one store.
type scaleRound struct {
	web  *scaleWeb
	dir  string
	line *Line
}

func (r *scaleRound) within(dir string, fn func() error) (err error) {
	if r.dir, err = os.MkdirTemp(dir, "seine-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.dir)) }()
	return fn()
}

func (r *scaleRound) add(unit string, value float64) {
	r.line.Metrics = append(r.line.Metrics, Metric{unit, value})
}

// cpuTime is the processor time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("BUG: getrusage of the process itself: " + err.Error())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rest waits until this process does nothing any more: compactions have come to an end.
func rest(ctx context.Context) error {
	for {
		before := cpuTime()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(scaleRest):
		}
		if cpuTime()-before < scaleRest/20 {
			return nil
		}
	}
}

// engine opens an engine over the round's directory.
func (o *ScaleOptions) engine(r *scaleRound, now int64) (*engine.Engine, error) {
	return engine.Open(engine.Options{
		Dir: r.dir, Memory: o.Memory, Contact: "https://example.org/", Scope: policy.ScopeAny, NoIndex: true,
		Now: func() time.Time { return time.UnixMilli(now) },
	})
}

// store opens the store of the round's directory. The first time it has been made by an engine, with its settings.
func (r *scaleRound) store() (*storage.Store, error) {
	return storage.Open(filepath.Join(r.dir, "store"), storage.Options{MustExist: true})
}

// fill makes crawldb: a record of each URL, made by record.
func (o *ScaleOptions) fill(r *scaleRound, record func(number int) storage.Record) error {
	e, err := o.engine(r, scaleNow)
	if err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	s, err := r.store()
	if err != nil {
		return err
	}
	defer s.Close()
	in := s.NewIngestion()
	defer in.Abort()
	days := storage.NewSorter(storage.SorterOptions{Dir: s.SortDir()})
	defer days.Close()
	records, due, counts := in.Table(storage.Crawldb()), in.Table(storage.Due()), in.Table(storage.HostCountsRange())
	var list, waits []scaleEntry
	var value []byte
	for h := range r.web.hosts {
		host := &r.web.hosts[h]
		list, waits = list[:0], waits[:0]
		for i := range host.n {
			list = append(list, scaleEntry{host.appendKey(nil, i), host.first + i})
		}
		slices.SortFunc(list, compareEntries)
		var c storage.HostCounts
		for _, e := range list {
			rec := record(e.number)
			c.ByStatus[rec.Status]++
			if rec.IsNew() {
				c.New++
			}
			if at := storage.DueAt(rec.FetchTime); c.NextDue == 0 || at < c.NextDue {
				c.NextDue = at
			}
			value = storage.AppendRecord(value[:0], &rec)
			if err := records.Set(e.key, value); err != nil {
				return err
			}
			key := storage.AppendDueKey([]byte(host.key), &rec, e.key[len(host.key):])
			waits = append(waits, scaleEntry{key: key})
			if !rec.IsNew() {
				value = storage.AppendDueDayKey(value[:0], &rec, e.key)
				if err := days.Add(value, nil); err != nil {
					return err
				}
			}
		}
		slices.SortFunc(waits, compareEntries)
		for _, e := range waits {
			if err := due.Set(e.key, nil); err != nil {
				return err
			}
		}
		if err := counts.Set([]byte(host.key), storage.AppendHostCounts(nil, &c)); err != nil {
			return err
		}
	}
	if err := writeKeys(days, due); err != nil {
		return err
	}
	return in.Commit()
}

// writeKeys writes the keys of a sorter, in order and without values.
func writeKeys(sorter *storage.Sorter, w *storage.TableWriter) error {
	run, err := sorter.Sort()
	if err != nil {
		return err
	}
	defer run.Close()
	for run.Next() {
		if err := w.Set(run.Key(), nil); err != nil {
			return err
		}
	}
	return run.Err()
}

type scaleEntry struct {
	key    []byte
	number int
}

func compareEntries(a, b scaleEntry) int { return bytes.Compare(a.key, b.key) }

// seal makes a sealed segment of pages.
func (o *ScaleOptions) seal(r *scaleRound, number uint32, pages []scalePage) error {
	s, err := r.store()
	if err != nil {
		return err
	}
	defer s.Close()
	seg := storage.Segment{Number: number, State: storage.SegmentOpen, Created: time.UnixMilli(scaleNow)}
	if err := s.PutSegment(seg); err != nil {
		return err
	}
	in := s.NewIngestion()
	defer in.Abort()
	from := [][]byte{nil} // parts, as a crawl leaves them
	for i := 1; i < runtime.GOMAXPROCS(0); i++ {
		from = append(from, []byte(pages[i*len(pages)/runtime.GOMAXPROCS(0)].key))
	}
	writers := in.TableParts(storage.ParseLinks(number), from)
	part := 0
	var to []urlkey.Key
	var value []byte
	for i := range pages {
		p := &pages[i]
		out := storage.FetchOutcome{
			Status: storage.FetchSuccess, HTTPStatus: 200, Time: scaleNow, MediaType: "text/html", Bytes: 40_000,
			TookMS: 100, Signature: scaleSignature(p.seed),
		}
		to = r.web.links(to[:0], p, o.Links)
		for _, k := range to {
			out.Outlinks = append(out.Outlinks, storage.Outlink{Key: k})
		}
		value = storage.AppendFetchOutcome(value[:0], &out)
		if part+1 < len(from) && string(from[part+1]) <= p.key {
			part++
		}
		if err := writers[part].Set([]byte(p.key), value); err != nil {
			return err
		}
	}
	seg.State, seg.Sealed = storage.SegmentSealed, time.UnixMilli(scaleNow)
	seg.Counts.Fetched, seg.Counts.Links = uint64(len(pages)), uint64(len(pages)*o.Links)
	if err := in.PutSegment(seg); err != nil {
		return err
	}
	return in.Commit()
}

func scaleSignature(seed uint64) (s storage.Signature) {
	for i := range s {
		s[i] = byte(mix(seed) >> (4 * (i % 16)))
	}
	return s
}

// grow brings segments into a crawldb of URLs that were never fetched.
func (o *ScaleOptions) grow(ctx context.Context, r *scaleRound) error {
	o.Log(fmt.Sprintf("%d URLs: crawldb", r.web.n))
	err := o.fill(r, func(number int) storage.Record { return newScaleRecord(number) })
	if err != nil {
		return err
	}
	if err := o.sizes(r, "injected"); err != nil {
		return err
	}
	var update, wall, generate, all time.Duration
	var links, written, added float64
	for k := range o.Segments {
		o.Log(fmt.Sprintf("%d URLs: segment %d of %d", r.web.n, k+1, o.Segments))
		pages := r.web.pages(o.Pages, k)
		links += float64(len(pages) * o.Links)
		number := uint32(2*k + 1) // generate makes those between
		if err := o.seal(r, number, pages); err != nil {
			return err
		}
		e, err := o.engine(r, scaleNow)
		if err != nil {
			return err
		}
		err = func() error {
			if err := rest(ctx); err != nil {
				return err
			}
			t0, begin := cpuTime(), time.Now()
			report, err := e.UpdateDB(ctx, number)
			if err != nil {
				return err
			}
			t1 := cpuTime()
			wall += time.Since(begin)
			if err := rest(ctx); err != nil {
				return err
			}
			t2 := cpuTime()
			if _, err := e.Generate(ctx, engine.GenerateOptions{Top: o.Top, MaxPerHost: scalePerHost}); err != nil {
				return err
			}
			t3 := cpuTime()
			if err := rest(ctx); err != nil {
				return err
			}
			status, err := e.Inspect().Status()
			if err != nil {
				return err
			}
			update, generate, all = update+t1-t0, generate+t3-t2, all+cpuTime()-t0
			written += float64(status.Store.Tables.WrittenBytes)
			added += float64(report.New) + float64(len(pages))
			return nil
		}()
		if err = errors.Join(err, e.Close()); err != nil {
			return err
		}
	}
	perLink := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / links }
	r.add("cpu-µs/link", perLink(all))
	r.add("updatedb-cpu-µs/link", perLink(update))
	r.add("updatedb-µs/link", perLink(wall))
	r.add("generate-cpu-µs/link", perLink(generate))
	r.add("written-B/record", written/added)
	return o.sizes(r, "updated")
}

// newScaleRecord is the record of a URL that was never fetched.
func newScaleRecord(number int) storage.Record {
	return storage.Record{
		Status: storage.StatusUnfetched, FetchTime: scaleNow - int64(mix(uint64(number))%(30*24*3600*1000)),
		Interval: scaleInterval, Depth: 3, Score: 1 / float64(1+mix(uint64(number))%64),
	}
}

// sizes adds the size of what crawldb and the ranges beside it take for a record.
func (o *ScaleOptions) sizes(r *scaleRound, when string) error {
	s, err := r.store()
	if err != nil {
		return err
	}
	defer s.Close()
	for _, of := range []struct {
		name string
		r    storage.Range
	}{{"crawldb", storage.Crawldb()}, {"due", storage.Due()}} {
		size, err := s.RangeBytes(of.r)
		if err != nil {
			return err
		}
		r.add(fmt.Sprintf("%s-%s-B/record", when, of.name), float64(size)/float64(r.web.n))
	}
	return nil
}

// due measures generate where all URLs were fetched.
func (o *ScaleOptions) due(ctx context.Context, r *scaleRound) error {
	o.Log(fmt.Sprintf("%d URLs: all fetched", r.web.n))
	// So many of 2^32 URLs are due at scaleNow + 1, the others a month later; none is due at scaleNow.
	part := uint64(float64(o.Due) / float64(r.web.n) * (1 << 32))
	err := o.fill(r, func(number int) storage.Record {
		x := mix(uint64(number) ^ 0xd0e)
		rec := newScaleRecord(number)
		rec.Status, rec.Segment, rec.HTTPStatus, rec.Signature = storage.StatusFetched, 1, 200, scaleSignature(x)
		rec.FetchTime = scaleNow + 1 + int64(x>>32%(scaleInterval*1000))
		if x&(1<<32-1) < part {
			rec.FetchTime = scaleNow + 1
		}
		rec.LastFetch = rec.FetchTime - scaleInterval*1000
		rec.ModifiedTime = rec.LastFetch
		return rec
	})
	if err != nil {
		return err
	}
	if err := o.sizes(r, "fetched"); err != nil {
		return err
	}
	measure := func(now int64, unit string, want error) error {
		e, err := o.engine(r, now)
		if err != nil {
			return err
		}
		defer e.Close()
		if err := rest(ctx); err != nil {
			return err
		}
		began := cpuTime()
		if _, err := e.Generate(ctx, engine.GenerateOptions{}); !errors.Is(err, want) {
			return fmt.Errorf("generate: %v, want %v", err, want)
		}
		r.add(unit, float64((cpuTime()-began).Microseconds())/1000)
		return nil
	}
	if err := measure(scaleNow, "nothing-due-ms", engine.ErrNothingDue); err != nil {
		return err
	}
	if err := o.scan(r); err != nil {
		return err
	}
	return measure(scaleNow+1, "spread-due-ms", nil)
}

// scan adds the time of a scan of crawldb.
func (o *ScaleOptions) scan(r *scaleRound) error {
	s, err := r.store()
	if err != nil {
		return err
	}
	defer s.Close()
	began := cpuTime()
	sc := s.Scan(storage.Crawldb(), nil, nil)
	defer sc.Close()
	var rec storage.Record
	for sc.Next() {
		if err := storage.DecodeRecord(sc.Value(), &rec); err != nil {
			return err
		}
	}
	r.add("scan-ms", float64((cpuTime()-began).Microseconds())/1000)
	return sc.Err()
}
