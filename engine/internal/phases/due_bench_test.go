// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: how long it takes to choose what is due, by how much of a host is due and how many URLs are wanted,
// and to find out that nothing is due. The store is on disk, with a cache of 256 MiB. Times are of the process's
// processor, so that they hold on a busy machine; what Pebble does beside is part of them.
//
//	Refill/due=N/window=W   one refill of W URLs of a host with N due, nothing handed out before
//	Refill/due=N/drain=W    refills of W URLs one after the other, none of which updatedb has seen, up to 60,000
//	Refill/due=N/refused    the same with windows of 600, where a live filter refuses nine in ten
//	Refill/due=N/scan       bare: the same host's rows of crawldb read in key order, nothing decoded
//	Generate                10^7 known URLs of 34,000 hosts: nothing due, one in 100 due, and a scan that decodes all
//
// With -short hosts have at most 10^5 URLs. How to run:
//
//	go test -run '^$' -bench 'Refill|Generate' -benchtime 5x ./engine/internal/phases

// benchWorld is a world on disk.
func benchWorld(b *testing.B) *world {
	w := &world{t: b, now: firstMS, dir: b.TempDir(), cacheBytes: 256 << 20, tableBytes: 32 << 20}
	w.options = admission.Options{MaxRedirects: 10, Now: func() time.Time { return time.UnixMilli(w.now) }}
	w.open()
	return w
}

// fill writes records of keys that ascend, as a phase does.
func (w *world) fill(n int, row func(i int) (key []byte, r storage.Record)) {
	const perIngestion = 1_000_000
	var value []byte
	for i := 0; i < n; {
		ing := w.store.NewIngestion()
		tally, table := w.p.newHostTally(ing), ing.Table(storage.Crawldb())
		for end := min(i+perIngestion, n); i < end; i++ {
			key, r := row(i)
			value = storage.AppendRecord(value[:0], &r)
			if err := errors.Join(tally.change(key, false, &storage.Record{}, &r), table.Set(key, value)); err != nil {
				w.t.Fatal(err)
			}
		}
		err := tally.finish()
		tally.close()
		if err := errors.Join(err, ing.Commit()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// benchRecord is a record of any status but those of fetched pages, or one of a page that was fetched.
func benchRecord(rng *rand.Rand, fetched bool) storage.Record {
	r := storage.Record{
		Status: storage.StatusUnfetched, FetchTime: firstMS - 1000, Interval: 30 * 86_400,
		Depth: uint16(1 + rng.IntN(6)), Score: float64(1+rng.IntN(1<<16)) / (1 << 16),
	}
	if fetched {
		at := firstMS - 1 - rng.Int64N(29*86_400_000)
		r.Status, r.LastFetch, r.ModifiedTime, r.HTTPStatus, r.Segment = storage.StatusFetched, at, at, 200, 7
		r.FetchTime = at + 30*86_400_000
		for i := range r.Signature {
			r.Signature[i] = byte(rng.Uint32())
		}
	}
	return r
}

// cpu reports the processor time since start in a unit, per one of n things that each iteration does.
func cpu(b *testing.B, start time.Duration, n int, unit string) {
	b.StopTimer()
	per := float64(cpuNow(b)-start) / float64(b.N*n)
	if unit[:2] == "ms" {
		per /= 1e6
	} else {
		per /= 1e3
	}
	b.ReportMetric(per, unit)
}

// cpuNow is the processor time of the process.
func cpuNow(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkRefill(b *testing.B) {
	for _, due := range []int{10_000, 100_000, 1_000_000, 10_000_000} {
		if testing.Short() && due > 100_000 {
			continue
		}
		b.Run(fmt.Sprintf("due=%d", due), func(b *testing.B) {
			w := benchWorld(b)
			defer w.close()
			rng := rand.New(rand.NewPCG(1, 2))
			w.fill(due, func(i int) ([]byte, storage.Record) {
				key := fmt.Appendf(nil, "com,example,www,)/articles/2026/%08d/index.html https", i)
				return key, benchRecord(rng, false)
			})
			w.options.Scope = policy.ScopeAny
			w.restart()
			const host = urlkey.HostKey("com,example,www,)")
			for _, window := range []int{16, 600, 65_536} {
				b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) { w.benchWindow(b, host, min(window, due)) })
			}
			for _, window := range []int{16, 600} {
				b.Run(fmt.Sprintf("drain=%d", window), func(b *testing.B) {
					w.benchDrain(b, host, window, min(due, 60_000))
				})
			}
			w.options.Live = []policy.LiveFilter{mostRefused{}}
			w.restart()
			b.Run("refused", func(b *testing.B) { w.benchDrain(b, host, 600, min(due/20, 60_000)) })
			b.Run("scan", func(b *testing.B) {
				start := cpuNow(b)
				for b.Loop() {
					sc := w.store.Scan(storage.Crawldb(), []byte(host), PrefixEnd([]byte(host)))
					for sc.Next() {
					}
					if err := sc.Close(); err != nil {
						b.Fatal(err)
					}
				}
				cpu(b, start, due, "µs/row")
			})
		})
	}
}

// mostRefused refuses nine in ten URLs.
type mostRefused struct{}

func (mostRefused) Accept(u urlkey.URL) string {
	if xxh3.HashString(u.String())%10 > 0 {
		return "refused"
	}
	return ""
}
func (mostRefused) Explain(urlkey.URL) string { return "" }
func (mostRefused) Fingerprint() uint64       { return 1 }
func (mostRefused) Refresh() (bool, error)    { return false, nil }

// benchWindow refills a host of which nothing is handed out.
func (w *world) benchWindow(b *testing.B, host urlkey.HostKey, window int) {
	start := cpuNow(b)
	for b.Loop() {
		w.p.Anew()
		list, _, err := w.p.Window(w.store, host, w.now, window, false, func([]byte) bool { return false }, w.p.Mark())
		if err != nil || len(list) != window {
			b.Fatalf("%d, %v", len(list), err)
		}
	}
	cpu(b, start, window, "µs/URL")
}

// benchDrain refills a host again and again.
func (w *world) benchDrain(b *testing.B, host urlkey.HostKey, window, most int) {
	start := cpuNow(b)
	for b.Loop() {
		w.p.Anew()
		handed := map[uint64]struct{}{}
		taken := func(key []byte) bool { _, ok := handed[xxh3.Hash(key)]; return ok }
		for len(handed) < most {
			list, sel, err := w.p.Window(w.store, host, w.now, min(window, most-len(handed)), false, taken, w.p.Mark())
			if err != nil || len(list) == 0 && !sel.More {
				b.Fatalf("%d, %v", len(handed), err)
			}
			for _, c := range list {
				handed[xxh3.HashString(string(c.Key))] = struct{}{}
			}
		}
	}
	cpu(b, start, most, "µs/URL")
}

func BenchmarkGenerate(b *testing.B) {
	hosts, pages := 34_000, 300
	if testing.Short() {
		hosts = 1000
	}
	w := benchWorld(b)
	defer w.close()
	rng := rand.New(rand.NewPCG(3, 4))
	w.fill(hosts*pages, func(i int) ([]byte, storage.Record) {
		r := benchRecord(rng, true)
		if rng.IntN(100) == 0 { // due in a day
			r.FetchTime = firstMS + rng.Int64N(86_400_000)
		} else {
			r.FetchTime = max(r.FetchTime, firstMS+2*86_400_000)
		}
		return fmt.Appendf(nil, "com,example%05d,www,)/articles/2026/%08d/index.html https", i/pages, i), r
	})
	w.options.Scope = policy.ScopeAny
	w.restart()
	for _, c := range []struct {
		name string
		days int
	}{{"nothing", 0}, {"one in 100", 1}} {
		b.Run(c.name, func(b *testing.B) {
			start := cpuNow(b)
			for b.Loop() {
				g, err := w.p.Generate(context.Background(), GenerateOptions{AddDays: c.days, IgnoreMarked: true})
				if (c.days == 0) != errors.Is(err, ErrNothingDue) || c.days > 0 && (err != nil || g.Selected == 0) {
					b.Fatalf("%+v %v", g, err)
				}
			}
			cpu(b, start, 1, "ms/op")
		})
	}
	b.Run("scan", func(b *testing.B) {
		var r storage.Record
		start := cpuNow(b)
		for b.Loop() {
			sc := w.store.Scan(storage.Crawldb(), nil, nil)
			for sc.Next() {
				if err := storage.DecodeRecord(sc.Value(), &r); err != nil {
					b.Fatal(err)
				}
			}
			if err := sc.Close(); err != nil {
				b.Fatal(err)
			}
		}
		cpu(b, start, 1, "ms/op")
	})
}
