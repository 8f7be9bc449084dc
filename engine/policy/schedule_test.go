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

// TestTypeRules: the most specific rule of a media type counts; its rates are those of an adaptive schedule, and its
// bounds hold for any.
func TestTypeRules(t *testing.T) {
	var rules policy.TypeRules
	for _, text := range []string{"text/html inc=1 dec=0.5", "image/* min=240h", "* max=48h"} {
		rule, err := policy.ParseTypeRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, rule)
	}
	const now, day = 1_700_000_000_000, 86400
	for _, c := range []struct {
		mediaType string
		schedule  policy.FetchSchedule
		change    policy.Change
		want      uint32
	}{
		{"text/html", policy.AdaptiveSchedule{SyncDeltaRate: -1}, policy.ChangeNone, 8 * day},
		{"text/html", policy.AdaptiveSchedule{SyncDeltaRate: -1}, policy.ChangeModified, 2 * day},
		{"text/html", policy.FixedSchedule{}, policy.ChangeNone, 4 * day},
		{"image/png", policy.FixedSchedule{}, policy.ChangeNone, 10 * day},
		{"application/pdf", policy.FixedSchedule{}, policy.ChangeNone, 2 * day},
		{"", policy.AdaptiveSchedule{SyncDeltaRate: -1}, policy.ChangeModified, 2 * day},
	} {
		r := storage.Record{Interval: 4 * day, ModifiedTime: now}
		rules.For(c.mediaType).Schedule(c.schedule).Reschedule(&r, c.change, now)
		if r.Interval != c.want || r.FetchTime != now+int64(c.want)*1000 {
			t.Errorf("%q, %T: %d, want %d", c.mediaType, c.schedule, r.Interval, c.want)
		}
	}
	if rules[:2].For("audio/ogg") != nil {
		t.Error("a rule for a type without one")
	}
	for _, text := range []string{
		"", "text/html", "html min=1h", "*/html min=1h", "text/ min=1h", "text/html min", "text/html min=0s",
		"text/html min=1h max=10m", "text/html dec=1", "text/html inc=-1", "text/html inc=NaN", "text/html often=1",
	} {
		if rule, err := policy.ParseTypeRule(text); err == nil {
			t.Errorf("%q is %+v", text, rule)
		}
	}
}
