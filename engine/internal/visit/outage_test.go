// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
)

// TestOutageOfNewHosts: hosts that are met while the network is cut are not blamed: the request for robots.txt, which
// is the first to each, shows an outage as well as a page does, and in an outage it decides nothing. What the requests
// before decided, which nothing told from dead hosts, is taken back.
func TestOutageOfNewHosts(t *testing.T) {
	const many = 120
	w := newWorld(t, admission.Options{})
	var cut atomic.Bool
	cut.Store(true)
	var urls []string
	for i := range many {
		u := fmt.Sprintf("http://h%d.example/", i)
		urls = append(urls, u)
		for path, up := range map[string]answer{u + "robots.txt": status(404), u: html("hello")} {
			w.web.set(path, func(ctx context.Context, r *fetch.Request) *fetch.Response {
				if cut.Load() {
					return &fetch.Response{Failure: fetch.FailUnreachable}
				}
				return up(ctx, r)
			})
		}
	}
	r := w.start(NewHosts(w.env), newList(w, urls...), 2, Limits{})
	w.until("an outage", r.front.Outage)
	w.until("a try", func() bool { return len(w.web.requests()) > 40 })
	cut.Store(false)
	w.until("the end of the outage", func() bool { return !r.front.Outage() })
	c := r.finished()
	if c.Fetched != many || c.Attempts() != c.Fetched {
		t.Errorf("%+v", c)
	}
}

// TestOutageIsSeen: what needs no network, and a seed whose https attempt fails, is no answer of a host: an outage is
// seen beside it.
func TestOutageIsSeen(t *testing.T) {
	const many = 60
	for name, beside := range map[string]string{
		"refused ports": "http://p%d.example:8080/", "seeds": "https://s%d.example/",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, admission.Options{})
			var urls []string
			for i := range many {
				u := w.url(fmt.Sprintf(beside, i))
				failure := fetch.FailPort
				if u.Scheme() == "https" {
					failure = fetch.FailUnreachable
					w.assume(u)
				}
				other := fmt.Sprintf("http://h%d.example/", i)
				w.web.set(u.String()+"robots.txt", broken(failure))
				w.web.set(other+"robots.txt", broken(fetch.FailUnreachable))
				urls = append(urls, u.String(), other)
			}
			r := w.start(NewHosts(w.env), newList(w, urls...), 2, Limits{})
			defer r.end()
			w.until("an outage, or an attempt at all", func() bool {
				s := r.front.Stats()
				return s.Outage || s.Ready+s.InFlight+s.Queued+s.Refilling+s.Pending == 0 && r.Busy() == 0
			})
			if s := r.front.Stats(); !s.Outage {
				t.Errorf("no outage is seen: %+v", s)
			}
		})
	}
}
