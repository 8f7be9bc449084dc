// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/bench/hostile"
	"github.com/seine-crawler/seine/bench/simweb"
	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: how many pages a second a crawl stores of honest hosts, alone and with as many hosts of the hostile
// web beside them, one for each of its cases. Honest hosts have 200 ms between requests, so that neither processors nor
// fetchers are the limit while they are alone. How to run:
//
//	go test -run '^$' -bench Honest ./bench/measure

// honestWeb is a simweb with as many hosts as there are hostile ones, and a resolver for both.
type honestWeb struct {
	web     *simweb.Server
	hostile *hostile.Server
	seeds   []string // of honest hosts
	resolve fetch.Resolver
}

func newHonestWeb(b *testing.B) *honestWeb {
	var cases []hostile.Case
	for _, c := range hostile.Cases() {
		if !c.Policy && !c.TLS && c.URL == "" {
			cases = append(cases, c)
		}
	}
	s, err := hostile.Start(hostile.Options{Cases: cases})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	p := simweb.Small()
	p.Hosts, p.MeanPages, p.MaxPages = len(cases), 200, 400
	web, err := simweb.Start(p, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { web.Close() })
	w := &honestWeb{web: web, hostile: s}
	hosts := fetch.Hosts{}
	for h := range p.Hosts {
		hosts[web.Web.Host(h)] = []netip.Addr{netip.MustParseAddr(web.Web.Address(h))}
		w.seeds = append(w.seeds, web.Web.Root(h))
	}
	w.resolve = fetch.NewResolver(fetch.ResolverOptions{Hosts: hosts, LookUp: s.LookUp})
	return w
}

// honestRate is the number of honest pages a second in a crawl of the seeds, after it has settled.
func (w *honestWeb) honestRate(b *testing.B, seeds []string) float64 {
	const settle, span = 1500 * time.Millisecond, 2 * time.Second
	var pages atomic.Int64
	stored := func(u urlkey.URL, o *storage.FetchOutcome) {
		if o.Status == storage.FetchSuccess && !strings.HasSuffix(u.Host(), ".hostile.test") {
			pages.Add(1)
		}
	}
	e, err := engine.Open(engine.Options{
		Dir: b.TempDir(), Contact: "https://seine.example/", Scope: policy.ScopeHost,
		Delay: 200 * time.Millisecond, AllowPrivate: true, Resolver: w.resolve,
		Events: engine.EventListener{PageStored: stored},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := e.Crawl(ctx, engine.CrawlOptions{Inject: engine.InjectOptions{URLs: seeds}}); err != nil {
			b.Error(err)
		}
	})
	time.Sleep(settle)
	before := pages.Load()
	time.Sleep(span)
	rate := float64(pages.Load()-before) / span.Seconds()
	cancel()
	wg.Wait()
	if err := e.Close(); err != nil {
		b.Error(err)
	}
	return rate
}

func BenchmarkHonest(b *testing.B) {
	w := newHonestWeb(b)
	mixed := append([]string(nil), w.seeds...)
	for _, u := range w.hostile.Seeds() {
		mixed = append(mixed, fmt.Sprint(u))
	}
	alone, beside := w.honestRate(b, w.seeds), w.honestRate(b, mixed)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(alone, "alone-pages/s")
	b.ReportMetric(beside, "pages/s")
	b.ReportMetric(100*beside/alone, "kept-%")
}
