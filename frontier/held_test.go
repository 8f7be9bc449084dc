// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestHeld: the hosts that take the longest are named with the reason, the longest first and sleeping ones last.
func TestHeld(t *testing.T) {
	f := start(t, Options{
		Source: sites{each: 10, more: func(i int, r *Refill) {
			switch i {
			case 1:
				r.CrawlDelay = time.Minute
			case 2:
				r.ResponseTime = 10 * time.Second
			case 3:
				r.URLs = r.URLs[:2]
			}
		}}, Delay: time.Second, Fetchers: 8,
	}, 6)
	// h4 does not answer, h5 demands a pause: the others stay with their fetchers.
	for range 6 {
		v, err := f.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		switch v.Host {
		case "example,h4,)":
			f.Done(v, Outcome{Kind: HostFailure, RetryAfter: time.Hour, Left: int32(len(v.URLs))})
		case "example,h5,)":
			f.Done(v, Outcome{Kind: Throttled, RetryAfter: 10 * time.Minute, Left: int32(len(v.URLs))})
		}
	}
	f.await(t, "a sleeping host", func(s Stats) bool { return s.Asleep == 1 && s.Throttled == 1 })
	want := []struct {
		host    urlkey.HostKey
		urls    int
		because HeldBecause
	}{
		{"example,h5,)", 10, HeldByThrottle},
		{"example,h1,)", 10, HeldByCrawlDelay},
		{"example,h2,)", 10, HeldBySlowness},
		{"example,h0,)", 10, HeldByDelay},
		{"example,h3,)", 2, HeldByDelay},
		{"example,h4,)", 0, HeldByFailures},
	}
	got := f.Held(10)
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		g := got[i]
		if g.Host != w.host || g.Because != w.because || g.URLs < w.urls-1 || g.URLs > w.urls {
			t.Errorf("%d: %+v, want %+v", i, g, w)
		}
	}
	if n := len(f.Held(2)); n != 2 {
		t.Errorf("%d of 2", n)
	}
	if wait := time.Until(got[5].Next); wait < 50*time.Minute || wait > 2*time.Hour {
		t.Errorf("the sleeping host wakes in %s", wait)
	}
	for host, where := range map[urlkey.HostKey]Where{
		"example,h0,)": InFlight, "example,h4,)": Asleep, "example,h5,)": Waiting, "example,none,)": Absent,
	} {
		if h := f.Host(host); h.Where != where {
			t.Errorf("%s: %+v, want it at %d", host, h, where)
		}
	}
	if h := f.Host("example,h1,)"); h.Visits != 1 || h.URLs != 9 || h.Delay != time.Minute ||
		h.Because != HeldByCrawlDelay {
		t.Errorf("%+v", h)
	}
	if h := f.Host("example,h5,)"); h.Throttles != 1 || h.URLs != 10 || time.Until(h.Next) < 9*time.Minute {
		t.Errorf("%+v", h)
	}
	if h := f.Host("example,h4,)"); !h.Next.Equal(got[5].Next) || h.URLs != 0 {
		t.Errorf("%+v, want it to wait until %s", h, got[5].Next)
	}
}

// TestHeldByAddressDelay: where the pause of an address is longer than the host's own, it is the one that is shown.
func TestHeldByAddressDelay(t *testing.T) {
	for delay, because := range map[time.Duration]HeldBecause{
		20 * time.Millisecond: HeldByAddressDelay, 300 * time.Millisecond: HeldByDelay,
	} {
		f := start(t, Options{Source: sites{each: 10}, Delay: delay, Fetchers: 1}, 1)
		v, err := f.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		want := max(delay, defaultAddressDelay)
		if h := f.Host(v.Host); h.Delay != want || h.Because != because {
			t.Errorf("delay %s: %+v", delay, h)
		}
		if held := f.Held(1); len(held) != 1 || held[0].Delay != want || held[0].Because != because {
			t.Errorf("delay %s: %+v", delay, held)
		}
	}
}

// TestVisitAtARestingAddress: a host whose own delay is none, in a crawl with one, has visits of one URL, since between
// two requests to an address lies its delay. While its address is not known, and in a crawl without a delay, it has
// longer ones.
func TestVisitAtARestingAddress(t *testing.T) {
	for _, c := range []struct {
		delay time.Duration
		known bool
		want  int
	}{{time.Second, true, 1}, {time.Second, false, defaultVisitURLs}, {-1, true, defaultVisitURLs}} {
		f := start(t, Options{Delay: c.delay, Source: sites{each: 50, more: func(_ int, r *Refill) {
			if r.Delay = -1; !c.known {
				r.Addr = netip.Addr{}
			}
		}}}, 1)
		v, err := f.Next(t.Context())
		if err != nil || len(v.URLs) != c.want {
			t.Errorf("delay %s, address known %t: %d URLs, want %d: %v", c.delay, c.known, len(v.URLs), c.want, err)
		}
	}
}
