// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Trouble is one reason for which hosts give nothing now.
type Trouble struct {
	// Failure says what happened at the newest request, "" if it was answered. Robots is the HTTP status of a
	// robots.txt that did not say what may be fetched, 0 if it was not that.
	Failure fetch.Failure
	Robots  int
	// Unanswered says that Failure is that of the request for a robots.txt to a server that takes connections.
	Unanswered bool
	Hosts      int            // that have this trouble
	Example    urlkey.HostKey // one of them
}

// reason is a Trouble without hosts.
type reason struct {
	failure    fetch.Failure
	robots     int
	unanswered bool
	redirected bool // of the request for a robots.txt at the URL to which it was redirected; no part of a Trouble
}

// unanswered reports whether a failure is that of a server that takes connections.
func unanswered(f fetch.Failure) bool {
	return f == fetch.FailHeadTimeout || f == fetch.FailTooSlow || f == fetch.FailReset || f == fetch.FailClosed
}

// RefusedHere reports whether the crawl's own settings forbid to reach the hosts: no wait changes that.
func (t *Trouble) RefusedHere() bool { return refusedHere(t.Failure) }

// refusedHere reports whether the crawl's own settings forbid to reach a host, not the host. Another process may have
// other settings, so nothing of it is kept in hostdb.
func refusedHere(f fetch.Failure) bool {
	return f == fetch.FailAddress || f == fetch.FailContact || f == fetch.FailPort
}

// troubles remembers which hosts give nothing, and why. It is in memory only, and bounded by troublesMax.
type troubles struct {
	some atomic.Bool // there may be one; most crawls have none, and then an answer costs nothing here
	mu   sync.Mutex
	by   map[urlkey.HostKey]reason
	// before are those of earlier crawls and fetches, of hosts that this one has not come to.
	before map[urlkey.HostKey]reason

	refused atomic.Int64 // of by, those that the crawl's own settings forbid to reach
}

// note replaces what is known of a host.
func (t *troubles) note(host urlkey.HostKey, r reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[urlkey.HostKey]reason{}
	}
	r.redirected = false
	delete(t.before, host)
	if old, known := t.by[host]; known || len(t.by) < troublesMax {
		t.by[host] = r
		t.some.Store(true)
		t.count(old, -1)
		t.count(r, 1)
	}
}

// count changes the number of refused hosts if r is a refusal. mu is held.
func (t *troubles) count(r reason, by int64) {
	if refusedHere(r.failure) {
		t.refused.Add(by)
	}
}

// forgetRefused forgets the hosts that the crawl's own settings forbid to reach.
func (t *troubles) forgetRefused() {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.by, func(_ urlkey.HostKey, r reason) bool { return refusedHere(r.failure) })
	t.refused.Store(0)
	t.some.Store(len(t.by)+len(t.before) > 0)
}

// begin: a crawl or fetch begins. It counts only the hosts that it comes to.
func (t *troubles) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.before == nil || len(t.before)+len(t.by) > troublesMax {
		t.before = map[urlkey.HostKey]reason{}
	}
	maps.Copy(t.before, t.by)
	t.by = nil
	t.refused.Store(0)
}

// sleeps: a host sleeps as an earlier crawl or fetch left it, so what was its trouble is.
func (t *troubles) sleeps(host urlkey.HostKey) {
	if !t.some.Load() {
		return
	}
	t.mu.Lock()
	r, ok := t.before[host]
	t.mu.Unlock()
	if ok {
		t.note(host, r)
	}
}

// answered forgets the trouble of a host.
func (t *troubles) answered(host urlkey.HostKey) {
	if !t.some.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(t.by[host], -1)
	delete(t.by, host)
	delete(t.before, host)
	t.some.Store(len(t.by)+len(t.before) > 0)
}

func (t *troubles) of(host urlkey.HostKey) (reason, bool) {
	if !t.some.Load() {
		return reason{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.by[host]
	return r, ok
}

// list sums up by reason, the reason with the most hosts first.
func (t *troubles) list() []Trouble {
	if !t.some.Load() {
		return nil
	}
	sums := map[reason]*Trouble{}
	t.mu.Lock()
	for host, r := range t.by {
		x := sums[r]
		if x == nil {
			x = &Trouble{Failure: r.failure, Robots: r.robots, Unanswered: r.unanswered, Example: host}
			sums[r] = x
		}
		x.Hosts++
		x.Example = min(x.Example, host)
	}
	t.mu.Unlock()
	list := make([]Trouble, 0, len(sums))
	for _, x := range sums {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b Trouble) int {
		return cmp.Or(cmp.Compare(b.Hosts, a.Hosts), cmp.Compare(a.Failure, b.Failure), cmp.Compare(a.Robots, b.Robots))
	})
	return list
}
