// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"net/netip"
	"sync"
	"testing"

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
