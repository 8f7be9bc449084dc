// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/bench/simweb"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// changingPage is a page of a changing simweb, and what a crawler has of it.
type changingPage struct {
	web    *simweb.Web
	number int
	stored uint64
	r      storage.Record
}

// changingEvery are the mean times between two changes of the pages, as many of each.
var changingEvery = []time.Duration{
	2 * time.Hour, 12 * time.Hour, 2 * 24 * time.Hour, 8 * 24 * time.Hour, 32 * 24 * time.Hour, 128 * 24 * time.Hour,
}

// recrawl is a simulated crawl of changing pages, with a virtual clock and one budget for all schedules: in each hour
// it fetches as many pages as it may, those due first, then those that are due next.
type recrawl struct {
	pages  []*changingPage
	budget float64 // fetches an hour
	saved  float64 // of the budget, less than one
	now    time.Time
	fetch  int
	body   []byte
}

func newRecrawl(tb testing.TB, each int, interval time.Duration) *recrawl {
	c := &recrawl{now: someDay}
	for i, every := range changingEvery {
		p := simweb.Bench(1, each)
		p.PageBytes, p.Links, p.NavLinks = 500, 2, 1
		p.Seed, p.ChangeEvery = uint64(i+1), every
		web, err := simweb.New(p, 80)
		if err != nil {
			tb.Fatal(err)
		}
		for n := range web.Pages(0) {
			page := &changingPage{web: web, number: n}
			page.stored = c.content(page)
			at := c.now.UnixMilli()
			// First fetches are spread over an interval, as those of a crawl are.
			spread := int64(n) * interval.Milliseconds() / int64(web.Pages(0))
			page.r = storage.Record{
				Status: storage.StatusFetched, LastFetch: at, FetchTime: at + spread,
				Interval: uint32(interval.Seconds()), Signature: storage.Signature{1},
			}
			c.pages = append(c.pages, page)
		}
	}
	c.budget = float64(len(c.pages)) / interval.Hours()
	return c
}

// content is a hash of what the server has of a page now.
func (c *recrawl) content(p *changingPage) uint64 {
	c.body = p.web.AppendHTML(c.body[:0], 0, p.number, c.now)
	return xxh3.Hash(c.body)
}

// hour fetches for an hour.
func (c *recrawl) hour(s policy.FetchSchedule) {
	c.now = c.now.Add(time.Hour)
	at := c.now.UnixMilli()
	slices.SortStableFunc(c.pages, func(a, b *changingPage) int { return cmp.Compare(a.r.FetchTime, b.r.FetchTime) })
	c.saved += c.budget
	n := int(c.saved)
	c.saved -= float64(n)
	for _, p := range c.pages[:n] {
		content := c.content(p)
		change := policy.ChangeNone
		if content != p.stored {
			change = policy.ChangeModified
		}
		p.stored = content
		p.r.Wait(at - p.r.LastFetch)
		p.r.Watch(change == policy.ChangeModified)
		p.r.LastFetch = at
		s.Reschedule(&p.r, change, at)
		c.fetch++
	}
}

// freshness is the share of pages whose stored content is what the server has.
func (c *recrawl) freshness() float64 {
	fresh := 0
	for _, p := range c.pages {
		if c.content(p) == p.stored {
			fresh++
		}
	}
	return float64(fresh) / float64(len(c.pages))
}

// run returns the freshness at the end of each day. The price follows the estimated rates.
func (c *recrawl) run(schedule string, days int) (daily []float64) {
	var s policy.FetchSchedule
	for range days {
		switch schedule {
		case "fixed":
			s = policy.FixedSchedule{MaxInterval: 365 * 86400}
		case "adaptive":
			s = policy.AdaptiveSchedule{}
		case "freshness":
			var rates []float64
			for _, p := range c.pages {
				if rate, ok := policy.ChangeRate(&p.r); ok {
					rates = append(rates, rate)
				}
			}
			f := policy.FreshnessSchedule{
				Price:       float64(len(c.pages)) / c.budget * 3600 / 4, // as `seine crawl` has it
				MinInterval: 3600, MaxInterval: 60 * 86400,
			}
			if len(rates) > 0 {
				f.Price = policy.PriceFor(rates, c.budget/3600*float64(len(rates))/float64(len(c.pages)))
			}
			s = f
		}
		sum := 0.
		for h := range 24 {
			if c.hour(s); h%6 == 5 {
				sum += c.freshness() / 4
			}
		}
		daily = append(daily, sum)
	}
	return daily
}

func mean(v []float64) (m float64) {
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}

var scheduleNames = []string{"fixed", "adaptive", "freshness"}

// BenchmarkSchedules says how fresh 1,200 changing pages are under each schedule, with as many fetches: one for each
// page in two days. It prints the freshness of each tenth of 100 days, and a bar for it.
func BenchmarkSchedules(b *testing.B) {
	for b.Loop() {
		for _, name := range scheduleNames {
			c := newRecrawl(b, 200, 48*time.Hour)
			daily := c.run(name, 100)
			var line strings.Builder
			for i := 0; i < len(daily); i += 10 {
				m := mean(daily[i : i+10])
				fmt.Fprintf(&line, "\n%-10s day %3d %.3f %s", name, i+10, m, strings.Repeat("#", int(m*60)))
			}
			b.Logf("%d fetches%s", c.fetch, line.String())
			b.ReportMetric(mean(daily[len(daily)/2:]), name+"-freshness")
		}
	}
}

// TestSchedules: with as many fetches, the schedule that spends them on freshness keeps more pages fresh than a fixed
// one, and than an adaptive one.
func TestSchedules(t *testing.T) {
	fresh, fetches := map[string]float64{}, map[string]int{}
	for _, name := range scheduleNames {
		c := newRecrawl(t, 30, 48*time.Hour)
		fresh[name], fetches[name] = mean(c.run(name, 60)[30:]), c.fetch
	}
	if fresh["freshness"] < fresh["fixed"]+.03 || fresh["freshness"] < fresh["adaptive"]+.03 ||
		fetches["freshness"] != fetches["fixed"] || fetches["adaptive"] != fetches["fixed"] {
		t.Errorf("freshness %v with %v fetches", fresh, fetches)
	}
}
