// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/bench/simweb"
	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: what a crawl of a web that is known already keeps in memory and open, and that this does not grow.
// crawldb and hostdb are filled with every URL of a simweb, all due; a crawl with a second between requests to a host
// then runs for a while, with a tenth of the hosts in the frontier. The memory of the frontier is what a heap profile
// shows of the allocations under its functions, without Pebble's. How to run it at the sizes that the bound is meant
// for:
//
//	go test -run '^$' -bench Bounded -timeout 1h ./bench/measure -bounded.hosts 10000000 -bounded.time 10m
var (
	boundedHosts = flag.Int(
		"bounded.hosts", 20_000, "hosts of BenchmarkBounded, of ten URLs each; a tenth of them active",
	)
	boundedTime = flag.Duration("bounded.time", 8*time.Second, "how long BenchmarkBounded crawls")
)

const boundedPages = 10

// fillStore makes every URL of a web known, host by host in key order.
func fillStore(b *testing.B, s *storage.Store, web *simweb.Web) {
	type host struct {
		key urlkey.HostKey
		n   int
	}
	hosts := make([]host, web.Hosts())
	for n := range hosts {
		u, err := urlkey.Parse(web.Root(n))
		must(b, err)
		hosts[n] = host{u.HostKey(), n}
	}
	slices.SortFunc(hosts, func(a, c host) int { return strings.Compare(string(a.key), string(c.key)) })
	r := storage.Record{
		Status: storage.StatusUnfetched, FetchTime: time.Now().UnixMilli(), Interval: policy.DefaultInterval,
		Score: 1,
	}
	record := storage.AppendRecord(nil, &r)
	counts := storage.AppendHostCounts(nil, &storage.HostCounts{
		ByStatus: [storage.StatusCount]uint32{storage.StatusUnfetched: boundedPages},
		New:      boundedPages,
		NextDue:  r.FetchTime,
	})
	var url, arena, dueKey []byte
	keys := make([][]byte, 0, boundedPages)
	for part := range slices.Chunk(hosts, 100_000) {
		ing := s.NewIngestion()
		records, tally := ing.Table(storage.Crawldb()), ing.Table(storage.HostCountsRange())
		due := ing.Table(storage.Due())
		for _, h := range part {
			keys, arena = keys[:0], arena[:0]
			for n := range web.Pages(h.n) {
				url = web.AppendURL(url[:0], h.n, n)
				u, err := urlkey.Parse(string(url))
				must(b, err)
				from := len(arena)
				arena = u.AppendKey(arena)
				keys = append(keys, arena[from:len(arena):len(arena)])
			}
			slices.SortFunc(keys, bytes.Compare)
			for _, k := range keys {
				must(b, records.Set(k, record))
				dueKey = storage.AppendDueKey(append(dueKey[:0], h.key...), &r, k[len(h.key):])
				must(b, due.Set(dueKey, nil))
			}
			must(b, tally.Set([]byte(h.key), counts))
		}
		must(b, ing.Commit())
	}
}

// webResolver computes the addresses of a simweb's hosts.
type webResolver struct {
	web  *simweb.Web
	port int
}

func (r webResolver) Lookup(_ context.Context, host string) ([]netip.Addr, error) {
	ref, ok := r.web.Find(fmt.Sprintf("http://%s:%d/", host, r.port))
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	a, err := netip.ParseAddr(r.web.Address(ref.Host))
	return []netip.Addr{a}, err
}

// held is what is open and in memory at a moment.
type held struct{ goroutines, files, active, queued, heapMB float64 }

func heldNow(p engine.Progress) held {
	files, _ := os.ReadDir("/proc/self/fd")
	return held{
		float64(runtime.NumGoroutine()), float64(len(files)), float64(p.HostsActive), float64(p.Queued),
		float64(p.HeapBytes) / 1e6,
	}
}

// frontierBytes is the memory in use that was allocated under functions of the frontier. It logs the largest parts.
func frontierBytes(b *testing.B) (sum int64) {
	runtime.GC()
	by := map[string]int64{} // where it was allocated
	records := make([]runtime.MemProfileRecord, 10_000)
	n, ok := runtime.MemProfile(records, false)
	for !ok {
		records = make([]runtime.MemProfileRecord, 2*n)
		n, ok = runtime.MemProfile(records, false)
	}
	for _, r := range records[:n] {
		ours, pebble, where := false, false, ""
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			if where == "" && strings.Contains(f.Function, "seine/") {
				where = f.Function
			}
			ours = ours || strings.Contains(f.Function, "seine/frontier.")
			pebble = pebble || strings.Contains(f.Function, "cockroachdb/pebble")
		}
		if ours && !pebble {
			// The profile samples an allocation each MemProfileRate bytes.
			size := float64(r.AllocBytes) / float64(max(r.AllocObjects, 1))
			p := 1 - math.Exp(-size/float64(runtime.MemProfileRate))
			bytes := int64(float64(r.InUseBytes()) / p)
			sum += bytes
			by[where] += bytes
		}
	}
	where := slices.SortedFunc(maps.Keys(by), func(x, y string) int { return cmp.Compare(by[y], by[x]) })
	for _, w := range where[:min(len(where), 8)] {
		b.Logf("%6.1f MB  %s", float64(by[w])/1e6, w)
	}
	return sum
}

func BenchmarkBounded(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	port := l.Addr().(*net.TCPAddr).Port
	must(b, l.Close())
	p := simweb.Bench(*boundedHosts, boundedPages)
	web, err := simweb.New(p, port)
	must(b, err)
	dir := b.TempDir()
	e, err := engine.Open(engine.Options{
		// The frontier has 3% of it for hosts, of which each takes up to 1 KB.
		Dir: dir, Memory: max(64<<20, int64(*boundedHosts)/10*34<<10), NoIndex: true,
		Contact: "https://seine.example/", Scope: policy.ScopeAny, Concurrency: 256,
		AllowPrivate: true, Resolver: webResolver{web, port},
	})
	must(b, err)
	began := time.Now()
	fillStore(b, e.Store(), web)
	b.Logf(
		"%d hosts and %d URLs made known in %s", *boundedHosts, *boundedHosts*boundedPages,
		time.Since(began).Round(time.Second),
	)

	serveWeb(b, port, *boundedHosts, boundedPages)
	var samples []held
	var frontier int64
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	began = time.Now()
	r, err := e.Crawl(ctx, engine.CrawlOptions{Progress: func(p engine.Progress) {
		if p.Phase != "crawling" {
			return
		}
		samples = append(samples, heldNow(p))
		if time.Since(began) >= *boundedTime && frontier == 0 {
			frontier = frontierBytes(b)
			cancel()
		}
	}})
	must(b, err)
	must(b, e.Close())
	if len(samples) < 4 || r.Fetched == 0 {
		b.Fatalf("%d samples, %d pages", len(samples), r.Fetched)
	}
	mean := func(of []held) (m held) {
		for _, s := range of {
			m.goroutines, m.files, m.active = m.goroutines+s.goroutines, m.files+s.files, m.active+s.active
			m.queued, m.heapMB = m.queued+s.queued, m.heapMB+s.heapMB
		}
		n := float64(len(of))
		return held{m.goroutines / n, m.files / n, m.active / n, m.queued / n, m.heapMB / n}
	}
	half := len(samples) / 2
	first, second, last := mean(samples[len(samples)/10:half]), mean(samples[half:]), samples[len(samples)-1]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(r.Fetched)/time.Since(began).Seconds(), "pages/s")
	b.ReportMetric(last.active, "hosts")
	b.ReportMetric(last.queued, "queued-URLs")
	b.ReportMetric(float64(frontier)/1e6, "frontier-MB")
	b.ReportMetric(100*float64(frontier)/(1024*last.active+100*last.queued), "bound-%")
	b.ReportMetric(first.goroutines, "goroutines-1st-half")
	b.ReportMetric(second.goroutines, "goroutines-2nd-half")
	b.ReportMetric(first.files, "files-1st-half")
	b.ReportMetric(second.files, "files-2nd-half")
	b.ReportMetric(second.heapMB, "heap-MB")
}
