// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/bench/simweb"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// ScheduleOptions say which changing pages Schedules fetches, and for how long.
type ScheduleOptions struct {
	Each     int           // pages of each rate of changes
	Interval time.Duration // in which the budget pays one fetch of each page; an hour to a year
	Days     int
}

// ScheduleRun is how fresh pages were under a schedule.
type ScheduleRun struct {
	Name    string    `json:"name"` // "fixed", "adaptive" or "freshness"
	Fetches int       `json:"fetches"`
	Daily   []float64 `json:"daily"` // mean share of pages whose stored content was what the server had, each day
}

// Mean is the mean freshness of the second half of the days, when schedules know the pages.
func (r *ScheduleRun) Mean() (m float64) {
	half := r.Daily[len(r.Daily)/2:]
	for _, x := range half {
		m += x / float64(len(half))
	}
	return m
}

// Line returns the result as a line of a benchmark.
func (r *ScheduleRun) Line() Line {
	return Line{Name: "Schedules/" + r.Name, Count: 1, Metrics: []Metric{
		{"freshness", r.Mean()}, {"fetches", float64(r.Fetches)},
	}}
}

// Schedules lets each schedule spend the same fetches on the same changing pages of simweb, in virtual time: no request
// is made, and the result depends on the options alone. The error says which interval is possible: the clock goes by
// hours, in each of which a page is fetched at most once.
func Schedules(o ScheduleOptions) (list []ScheduleRun, err error) {
	if o.Interval < time.Hour || o.Interval > intervalMost {
		return nil, fmt.Errorf("interval %s: want 1h to %s", o.Interval, intervalMost)
	}
	for _, name := range []string{"fixed", "adaptive", "freshness"} {
		c, err := newRecrawl(o.Each, o.Interval)
		if err != nil {
			return nil, err
		}
		list = append(list, ScheduleRun{Name: name, Daily: c.run(name, o.Days), Fetches: c.fetches})
	}
	return list, nil
}

// intervalMost is the longest interval that Schedules takes.
const intervalMost = 365 * 24 * time.Hour

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

// recrawlStart is when simulated crawls begin.
var recrawlStart = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// recrawl is a simulated crawl of changing pages, with a virtual clock and one budget for all schedules: in each hour
// it fetches as many pages as it may, those due first, then those that are due next.
type recrawl struct {
	pages   []*changingPage
	budget  float64 // fetches an hour
	saved   float64 // of the budget, less than one
	now     time.Time
	fetches int
	body    []byte
}

func newRecrawl(each int, interval time.Duration) (*recrawl, error) {
	c := &recrawl{now: recrawlStart}
	for i, every := range changingEvery {
		p := simweb.Bench(1, each)
		p.PageBytes, p.Links, p.NavLinks = 500, 2, 1
		p.Seed, p.ChangeEvery = uint64(i+1), every
		web, err := simweb.New(p, 80)
		if err != nil {
			return nil, fmt.Errorf("making a changing web: %w", err)
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
	return c, nil
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
		c.fetches++
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

// run returns the mean freshness of each day. The price follows the estimated rates.
func (c *recrawl) run(schedule string, days int) (daily []float64) {
	var s policy.FetchSchedule
	for range days {
		switch schedule {
		case "fixed":
			s = policy.FixedSchedule{MaxInterval: 365 * 86400}
		case "adaptive":
			s = policy.AdaptiveSchedule{}
		case "freshness":
			s = c.freshnessSchedule()
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

func (c *recrawl) freshnessSchedule() policy.FreshnessSchedule {
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
	return f
}
