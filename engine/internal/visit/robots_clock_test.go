// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/admission"
)

// TestRobotsWrongClock: what a clock that was a year ahead noted of a robots.txt, or that there was none to be had,
// does not hold for a year.
func TestRobotsWrongClock(t *testing.T) {
	noted := map[string]answer{"a file": robotsTxt("User-agent: *\nDisallow: /"), "none": status(503)}
	for name, first := range noted {
		w := newWorld(t, admission.Options{})
		robots := "http://a.example/robots.txt"
		ask := func() robotsState {
			t.Helper()
			h := NewHosts(w.env)
			s, err := h.robots(context.Background(), w.url("http://a.example/x"), noWays)
			w.must(err)
			w.must(h.Flush())
			w.reopen()
			return s
		}
		w.web.set(robots, first)
		w.pass(365 * 24 * time.Hour)
		if s := ask(); s.unreach == 0 && s.rules.Allowed("/yes") {
			t.Errorf("%s: it is not obeyed: %+v", name, s)
		}
		w.web.set(robots, robotsTxt(disallowNo))
		w.pass(-365 * 24 * time.Hour)
		if s := ask(); !s.requested || s.unreach > 0 || !s.rules.Allowed("/yes") || s.rules.Allowed("/no") {
			t.Errorf("%s: the one of today is not obeyed: %+v", name, s)
		}
		w.pass(23 * time.Hour)
		if s := ask(); s.requested {
			t.Errorf("%s: the one of today is requested again", name)
		}
	}
}
