// SPDX-License-Identifier: Apache-2.0

package frontier_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// jumpingClock stands still but for what a test moves. Its times have a monotonic reading, which a jump leaves as it
// is.
type jumpingClock struct {
	start         time.Time
	passed, jumps atomic.Int64
}

func (c *jumpingClock) now() time.Time {
	t := c.start.Add(time.Duration(c.passed.Load()))
	seconds := uint64(c.jumps.Load() / int64(time.Second))
	*(*uint64)(unsafe.Pointer(&t)) += seconds << 30 // of the wall clock: no function of package time moves it alone
	return t
}

// stored is a time as a database keeps it.
func stored(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()) }

// laterSource has one URL, of a host that may be visited in a minute by the wall clock.
type laterSource struct{ clock *jumpingClock }

func (s laterSource) Refill(context.Context, urlkey.HostKey, int) (frontier.Refill, error) {
	return frontier.Refill{
		NotBefore: stored(s.clock.now().Add(time.Minute)),
		URLs:      []frontier.Candidate{{Rest: "/ http"}},
	}, nil
}

func (s laterSource) Hosts(context.Context, int) ([]urlkey.HostKey, error) { return nil, nil }

// TestJumps: when the wall clock jumps, hosts wait neither longer nor shorter, and the end of a rest is reported by the
// clock as it is by then.
func TestJumps(t *testing.T) {
	for _, jump := range []time.Duration{time.Hour, -time.Hour} {
		clock := &jumpingClock{start: time.Now()}
		reports := make(chan frontier.HostState, 1)
		f := open(t, frontier.Options{
			Source: laterSource{clock}, Fetchers: 1, Now: clock.now,
			OnHost: func(_ urlkey.HostKey, s frontier.HostState) { reports <- s },
		})
		clock.jumps.Store(int64(jump))
		const host = urlkey.HostKey("example,h,)")
		f.Wake(host)
		for f.Host(host).URLs == 0 && f.Host(host).Visits == 0 {
			time.Sleep(time.Millisecond)
		}
		held := f.Held(1)
		if len(held) != 1 || held[0].Remaining.Round(time.Second) != time.Minute {
			t.Errorf("after a jump of %s, a host that waits for a minute: %+v", jump, held)
			continue
		}
		clock.passed.Store(int64(2 * time.Minute))
		v, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f.Done(v, frontier.Outcome{Kind: frontier.Throttled, RetryAfter: 2 * time.Hour})
		rest := stored((<-reports).NotBefore).Sub(stored(clock.now()))
		if rest.Round(time.Hour) != 2*time.Hour {
			t.Errorf("after a jump of %s, a rest of two hours is reported as one of %s", jump, rest)
		}
	}
}
