// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/storage"
)

// twoAddresses is a host with two addresses, of which some take no connection. A request without an address tries both,
// as those of fetch.Client do.
type twoAddresses struct {
	list [2]netip.Addr
	mu   sync.Mutex
	dead map[netip.Addr]bool
	at   []netip.Addr // of the requests for pages
}

func (a *twoAddresses) Lookup(context.Context, string) ([]netip.Addr, error) { return a.list[:], nil }

func (a *twoAddresses) kill(addr netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dead = map[netip.Addr]bool{addr: true}
}

// reached are the addresses of the requests for pages.
func (a *twoAddresses) reached() []netip.Addr {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]netip.Addr(nil), a.at...)
}

// serve answers at the addresses that are not dead.
func (a *twoAddresses) serve(page answer) answer {
	return func(ctx context.Context, r *fetch.Request) *fetch.Response {
		try := a.list[:]
		if r.Addr.IsValid() {
			try = []netip.Addr{r.Addr}
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, addr := range try {
			if r.URL.Path() != "/robots.txt" {
				a.at = append(a.at, addr)
			}
			if !a.dead[addr] {
				resp := page(ctx, r)
				resp.Addr = addr
				return resp
			}
		}
		return &fetch.Response{Failure: fetch.FailRefused}
	}
}

// TestDeadAddress: a host is visited at the address that answers, whichever is the first in DNS, in later processes
// too. If that takes no connections any more, the next visit is to the other.
func TestDeadAddress(t *testing.T) {
	first, second := netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.2")
	a := &twoAddresses{list: [2]netip.Addr{first, second}}
	w := newWorld(t, admission.Options{})
	w.env.Resolver = a
	w.web.set("http://a.example/robots.txt", a.serve(robotsTxt(disallowNo)))
	page := func(path string) string {
		u := "http://a.example" + path
		w.web.set(u, a.serve(html("This is "+u)))
		return u
	}
	status := func(number uint32, u string) storage.FetchStatus { return w.outcomes(number)[w.url(u).Key()].Status }

	a.kill(first)
	one := page("/1")
	h := NewHosts(w.env)
	w.start(h, newList(w, one), 1, Limits{}).finished()
	if got := status(1, one); got != storage.FetchSuccess {
		t.Errorf("the first address is dead: %s, requested at %s", got, a.reached())
	}
	w.must(h.Flush())
	h = NewHosts(w.env) // as in a new process
	two := page("/2")
	w.start(h, newList(w, two), 1, Limits{}).finished()
	if got := status(2, two); got != storage.FetchSuccess {
		t.Errorf("with what hostdb has: %s, requested at %s", got, a.reached())
	}

	a.kill(second)
	three, four := page("/3"), page("/4")
	w.start(h, newList(w, three, four), 1, Limits{}).finished()
	if got := status(3, four); got != storage.FetchSuccess {
		t.Errorf("its address died: %s, requested at %s", got, a.reached())
	}
}

// addressesOf says where a host is.
type addressesOf func(host string) []netip.Addr

func (r addressesOf) Lookup(_ context.Context, host string) ([]netip.Addr, error) {
	return r(host), nil
}

// at answers at one address only.
func at(addr netip.Addr, page answer) answer {
	return func(ctx context.Context, r *fetch.Request) *fetch.Response {
		if r.Addr.IsValid() && r.Addr != addr {
			return &fetch.Response{Failure: fetch.FailRefused}
		}
		resp := page(ctx, r)
		resp.Addr = addr
		return resp
	}
}

// TestRobotsAtTheAddress: robots.txt is requested at the address whose turn it is, though DNS has the addresses in
// another order each time: others may be visited at those.
func TestRobotsAtTheAddress(t *testing.T) {
	list := []netip.Addr{
		netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.2"), netip.MustParseAddr("198.18.0.3"),
	}
	var turns atomic.Int32
	w := newWorld(t, admission.Options{})
	w.env.Resolver = addressesOf(func(string) []netip.Addr {
		n := int(turns.Add(1)) % len(list)
		return append(slices.Clone(list[n:]), list[:n]...)
	})
	page := "http://a.example/yes"
	w.web.set("http://a.example/robots.txt", robotsTxt(disallowNo))
	w.web.set(page, html("hi"))
	w.start(NewHosts(w.env), newList(w, page), 1, Limits{}).finished()
	requests := w.web.requests()
	for _, r := range requests {
		if !r.Addr.IsValid() || r.Addr != requests[0].Addr {
			t.Errorf("%s was requested at %s, the first request was at %s", r.URL, r.Addr, requests[0].Addr)
		}
	}
	if len(requests) != 2 {
		t.Errorf("%d requests", len(requests))
	}
}

// TestNewAddressEachTime: a host for which DNS has another address each time is visited all the same.
func TestNewAddressEachTime(t *testing.T) {
	var n atomic.Int32
	w := newWorld(t, admission.Options{})
	w.env.Resolver = addressesOf(func(string) []netip.Addr {
		return []netip.Addr{netip.AddrFrom4([4]byte{198, 18, 0, byte(n.Add(1))})}
	})
	page := "http://a.example/yes"
	w.web.set("http://a.example/robots.txt", robotsTxt(disallowNo))
	w.web.set(page, html("hi"))
	if c := w.start(NewHosts(w.env), newList(w, page), 1, Limits{}).finished(); c.Fetched != 1 {
		t.Errorf("%+v", c)
	}
}

// TestMoves: a host is visited at its new address once the old one takes no connection, also where both are of one /64,
// which visits share as one address.
func TestMoves(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"198.18.0.1", "198.18.0.2"}, {"2001:db8::1", "2001:db8::2"},
	} {
		from, to := netip.MustParseAddr(c.from), netip.MustParseAddr(c.to)
		for name, later := range map[string][]netip.Addr{"the only one": {to}, "one of two": {from, to}} {
			w := newWorld(t, admission.Options{})
			w.delay.Store(int64(time.Millisecond))
			var moved atomic.Bool
			w.env.Resolver = addressesOf(func(string) []netip.Addr {
				if moved.Load() {
					return later
				}
				return []netip.Addr{from}
			})
			w.web.set("http://a.example/robots.txt", at(from, robotsTxt(disallowNo)))
			one := "http://a.example/1"
			w.web.set(one, func(ctx context.Context, r *fetch.Request) *fetch.Response {
				moved.Store(true)
				return at(from, html("one"))(ctx, r)
			})
			l := newList(w, one)
			for i := range 3 {
				u := fmt.Sprintf("http://a.example/later%d", i)
				w.web.set(u, at(to, html(u)))
				l.add(Choice{Key: w.url(u).Key()})
			}
			c := w.start(NewHosts(w.env), l, 1, Limits{}).finished()
			if c.Fetched != 3 || c.Failed != 1 { // what is requested at the old address is fetched a day later
				t.Errorf("from %s to %s, %s: %+v", from, to, name, c)
			}
		}
	}
}

// TestFirstAddressIsDead: of a host whose first address takes no connection, robots.txt and pages are requested at the
// second, also where both are of one /64, and also a robots.txt to which that of another host is redirected.
func TestFirstAddressIsDead(t *testing.T) {
	for _, list := range [][2]string{{"198.18.0.1", "198.18.0.2"}, {"2001:db8::1", "2001:db8::2"}} {
		first, second := netip.MustParseAddr(list[0]), netip.MustParseAddr(list[1])
		w := newWorld(t, admission.Options{})
		w.delay.Store(int64(time.Millisecond))
		w.env.Resolver = addressesOf(func(host string) []netip.Addr {
			if host == "one.example" {
				return []netip.Addr{second}
			}
			return []netip.Addr{first, second}
		})
		w.web.set("http://two.example/robots.txt", at(second, robotsTxt(disallowNo)))
		w.web.set("http://one.example/robots.txt", at(second, moved("http://deferred.example/robots.txt")))
		w.web.set("http://deferred.example/robots.txt", at(second, robotsTxt(disallowNo)))
		two, one := "http://two.example/yes", "http://one.example/yes"
		w.web.set(two, at(second, html("two")))
		w.web.set(one, at(second, html("one")))
		r := w.start(NewHosts(w.env), newList(w, two, one), 1, Limits{})
		if c := r.finished(); c.Fetched != 2 || c.Failed != 0 {
			t.Errorf("%s, %s: %+v", first, second, c)
		}
	}
}
