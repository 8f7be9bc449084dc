// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"math"
	"slices"

	"github.com/seine-crawler/seine/storage"
)

// FreshnessSchedule fetches pages where that gains most freshness: it estimates how often each page changes, and spends
// a budget of fetches on the pages that are made fresh by it for long.
//
// A page is fresh while what is stored is what the server has. The change rate comes from the fetches that found out
// whether the page had changed (storage.Record.Visits), with the estimator of Cho and Garcia-Molina ("Estimating
// frequency of change", 2003, r̂ = -log((n-X+½)/(n+½))), which counts changes that no fetch saw. The rate of fetches
// that makes the mean freshness greatest for a budget is that of Azar, Horvitz, Lubetzky, Peres and Shahaf ("Tractable
// near-optimal policies for crawling", PNAS 2018, which solves the problem of Cho and Garcia-Molina, "Effective page
// refresh policies for web crawlers", 2003): a page that changes at rate c is fetched at rate √(c/price) - c, and as
// seldom as may be if that is not positive. So pages that change all the time, which no fetch keeps fresh, take nothing
// from those that change now and then. The price is the freshness that the last fetch must gain: PriceFor finds the one
// that a budget pays.
//
// Zero fields take defaults. A page that was compared with an older version only once or never has the interval of its
// record.
type FreshnessSchedule struct {
	// Price is in seconds of freshness for a fetch; 0 means a fourth of DefaultInterval: with a fourth of an interval,
	// a page that changes once in the interval is fetched once in it.
	Price       float64
	MinInterval uint32 // seconds; 0 means DefaultMinInterval; at most the crawl's longest interval
	MaxInterval uint32 // seconds; 0 means DefaultMaxInterval
}

// Due reports whether the fetch time has come.
func (s FreshnessSchedule) Due(r *storage.Record, now int64) bool { return r.FetchTime <= now }

// Reschedule estimates the page's rate of changes, and sets the interval that the price asks for.
func (s FreshnessSchedule) Reschedule(r *storage.Record, c Change, at int64) {
	price, lo := s.Price, float64(orDefault(s.MinInterval, DefaultMinInterval))
	hi := max(float64(orDefault(s.MaxInterval, DefaultMaxInterval)), lo)
	if price <= 0 {
		price = DefaultInterval / 4
	}
	interval := float64(orDefault(r.Interval, DefaultInterval))
	if rate, ok := ChangeRate(r); ok {
		interval = 1 / FetchRate(rate, price) // +Inf without fetches
	}
	r.Interval = uint32(math.Round(min(max(interval, lo), hi)))
	r.FetchTime = at + int64(r.Interval)*1000
	if r.ModifiedTime <= 0 || c == ChangeModified {
		r.ModifiedTime = at
	}
}

// ChangeRate estimates how often a page changes, in changes a second; ok is false if too few fetches compared versions.
// It adds half a change to what was seen: the estimator of the paper says of a page that was never seen to change that
// it never will, and such a page would not be fetched again.
func ChangeRate(r *storage.Record) (rate float64, ok bool) {
	if r.Visits < 2 || r.Watched == 0 {
		return 0, false
	}
	n, same := float64(r.Visits), float64(r.Visits)-float64(r.Changes)
	return -math.Log((same+.5)/(n+1)) * n / float64(r.Watched), true
}

// FetchRate is how often to fetch a page that changes at a rate, both a second; 0: never.
func FetchRate(rate, price float64) float64 { return max(0, math.Sqrt(rate/price)-rate) }

// PriceFor returns the price at which pages with these rates of changes are fetched so often, in all, as a budget
// pays, in fetches a second. Without changes to fetch, and for a budget of 0, it is +Inf.
func PriceFor(rates []float64, budget float64) float64 {
	if budget <= 0 || len(rates) == 0 || slices.Max(rates) <= 0 {
		return math.Inf(1)
	}
	spent := func(price float64) (sum float64) {
		for _, rate := range rates {
			sum += FetchRate(rate, price)
		}
		return sum
	}
	lo, hi := 1e-9, 1e12 // spent falls with the price
	for range 200 {
		if mid := math.Sqrt(lo * hi); spent(mid) > budget {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
