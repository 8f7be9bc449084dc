// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"math"
	"testing"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
)

// TestFreshnessSchedule: a page that changes as often as the price is made for is fetched once in that time, one that
// never changes seldom, and one that always changes as seldom as may be; a page of which little is known keeps its
// interval.
func TestFreshnessSchedule(t *testing.T) {
	const now, day = 1_700_000_000_000, 86400
	s := policy.FreshnessSchedule{Price: day / 4, MaxInterval: 90 * day}
	for _, c := range []struct {
		visits, changes uint8
		watched         uint32
		least, most     uint32 // of the interval
	}{
		{0, 0, 0, 7 * day, 7 * day},
		{1, 1, day, 7 * day, 7 * day},
		{40, 25, 40 * day, day * 9 / 10, day * 11 / 10},
		{40, 0, 40 * day, 2 * day, 6 * day},
		{40, 40, 40 * day / 24, 90 * day, 90 * day},
	} {
		r := storage.Record{Interval: 7 * day, Visits: c.visits, Changes: c.changes, Watched: c.watched}
		s.Reschedule(&r, policy.ChangeNone, now)
		if r.Interval < c.least || r.Interval > c.most || r.FetchTime != now+int64(r.Interval)*1000 {
			t.Errorf("%d changes in %d visits: interval %d, want %d to %d",
				c.changes, c.visits, r.Interval, c.least, c.most)
		}
	}
	rates := []float64{1. / day, 2. / day, 1. / 30 / day, 100. / day}
	price := policy.PriceFor(rates, 3./day)
	sum := 0.
	for _, rate := range rates {
		sum += policy.FetchRate(rate, price) * day
	}
	if math.Abs(sum-3) > 1e-6 {
		t.Errorf("a budget of 3 pays %g fetches a day", sum)
	}
	if !math.IsInf(policy.PriceFor(nil, 1), 1) || !math.IsInf(policy.PriceFor(rates, 0), 1) {
		t.Error("there is nothing to pay, and it has a price")
	}
}
