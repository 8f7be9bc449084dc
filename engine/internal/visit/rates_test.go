// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"fmt"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

func storedAt(t testing.TB, host string, status storage.FetchStatus) segment.Stored {
	t.Helper()
	u, err := urlkey.Parse("http://" + host + "/page")
	if err != nil {
		t.Fatal(err)
	}
	return segment.Stored{URL: u, Outcome: storage.FetchOutcome{Status: status, Bytes: 100}}
}

// TestRates: outcomes count for a minute, by host, and then no longer; a step counts a bounded number of hosts.
func TestRates(t *testing.T) {
	var r rates
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	const page, failed, redirect = storage.FetchSuccess, storage.FetchGone, storage.FetchRedirTemp
	for second := range 60 { // a has a page each second, b one in two and a failure in two
		some := []segment.Stored{storedAt(t, "a.example", page)}
		if second%2 == 0 {
			some = append(some, storedAt(t, "b.example:81", page), storedAt(t, "b.example:81", failed),
				storedAt(t, "b.example:81", redirect))
		}
		r.add(start.Add(time.Duration(second)*time.Second), some)
	}
	for _, c := range []struct {
		after      time.Duration // start
		pagesOfA   uint64
		span       time.Duration
		hosts, top int
	}{
		{59 * time.Second, 60, 59 * time.Second, 2, 2},
		{59 * time.Second, 60, 59 * time.Second, 2, 1},
		{65 * time.Second, 50, 55 * time.Second, 2, 2}, // the first step is over
		{75 * time.Second, 40, 55 * time.Second, 2, 2},
		{109 * time.Second, 10, 59 * time.Second, 2, 2},
		{110 * time.Second, 0, 50 * time.Second, 0, 2},
		{time.Hour, 0, 50 * time.Second, 0, 2},
	} {
		now := start.Add(c.after)
		list, span := r.top(now, c.top)
		if span != c.span || len(list) != min(c.hosts, c.top) {
			t.Fatalf("after %s: %+v in %s, want %d hosts in %s", c.after, list, span, min(c.hosts, c.top), c.span)
		}
		a, _ := r.of(now, "example,a,)")
		if a.Pages != c.pagesOfA || len(list) > 0 && list[0] != a {
			t.Errorf("after %s: %+v, want %d pages of a", c.after, a, c.pagesOfA)
		}
		if len(list) > 1 {
			want := Rate{list[1].Host, a.Pages / 2, a.Pages / 2, 150 * a.Pages}
			if list[1] != want || want.Host.String() != "b.example:81" {
				t.Errorf("after %s: %+v, want %+v", c.after, list[1], want)
			}
		}
	}
	var many rates
	for n := range rateHostsMax + 10 {
		many.add(start, []segment.Stored{storedAt(t, fmt.Sprintf("h%d.example", n), page)})
	}
	if list, _ := many.top(start, 2*rateHostsMax); len(list) != rateHostsMax {
		t.Errorf("%d hosts are counted, want %d", len(list), rateHostsMax)
	}
}

// BenchmarkFollow is what a page costs more because others may look: the steps of its fetcher, and the counts of its
// host.
func BenchmarkFollow(b *testing.B) {
	var r rates
	var f flight
	var hosts []segment.Stored
	for n := range 1000 {
		hosts = append(hosts, storedAt(b, fmt.Sprintf("h%d.example", n), storage.FetchSuccess))
	}
	now := time.Now()
	n := 0
	for b.Loop() {
		for _, at := range []Doing{DoingPrepare, DoingRequest, DoingConnect, DoingFirstByte, DoingBody, DoingPrepare,
			DoingSlot, DoingParse, DoingPage, DoingPrepare} {
			f.doing.set(at)
		}
		f.doing.write()
		f.over()
		r.add(now, hosts[n%1000:n%1000+1])
		n++
	}
}
