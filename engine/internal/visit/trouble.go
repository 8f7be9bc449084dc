// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"cmp"
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
	Hosts   int            // that have this trouble
	Example urlkey.HostKey // one of them
}

// reason is a Trouble without hosts.
type reason struct {
	failure fetch.Failure
	robots  int
}

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
}

// note replaces what is known of a host.
func (t *troubles) note(host urlkey.HostKey, r reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[urlkey.HostKey]reason{}
	}
	if _, known := t.by[host]; known || len(t.by) < troublesMax {
		t.by[host] = r
		t.some.Store(true)
	}
}

// answered forgets the trouble of a host.
func (t *troubles) answered(host urlkey.HostKey) {
	if !t.some.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.by, host)
	t.some.Store(len(t.by) > 0)
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
			x = &Trouble{Failure: r.failure, Robots: r.robots, Example: host}
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
