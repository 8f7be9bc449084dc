// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestRobotsLeadsToRefused: a robots.txt that is redirected to an address which the settings refuse is requested less
// and less often, as any that cannot be read.
func TestRobotsLeadsToRefused(t *testing.T) {
	w := newWorld(t, admission.Options{})
	const robots = "http://a.example/robots.txt"
	w.web.set(robots, moved("http://10.0.0.1/robots.txt"))
	w.web.set("http://10.0.0.1/robots.txt", broken(fetch.FailAddress))
	h := NewHosts(w.env)
	ask := func() time.Duration {
		ctx := context.Background()
		ways := noWays
		keep := ways.keep
		ways.follow = func(to urlkey.URL) *deferredRobots { return h.followAlone(ctx, to, keep) }
		s, err := h.robots(ctx, w.url("http://a.example/"), ways)
		if err == nil && s.pending {
			s, err = h.robots(ctx, w.url("http://a.example/"), ways)
		}
		w.must(err)
		return s.unreach
	}
	wait := 5 * time.Minute
	for n := 1; n <= 12; n++ {
		if got := ask(); got <= wait-time.Minute || got > wait {
			t.Errorf("after request %d: %s, want %s", n, got, wait)
		}
		w.pass(wait - time.Minute)
		ask()
		if got := w.web.count(robots); got != n {
			t.Errorf("%d requests, want %d", got, n)
		}
		w.pass(time.Minute)
		wait = min(2*wait, 24*time.Hour)
	}
	w.web.set(robots, status(404))
	if got := ask(); got != 0 {
		t.Errorf("it answers: %s", got)
	}
}
