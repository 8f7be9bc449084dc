// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"errors"
	"net/netip"
	"sync"
	"time"
)

// refusals remembers which ports of which addresses refused a connection. However many hosts share an address,
// and however many links lead to its ports, each port is dialled once in refusedHold. The zero value is ready
// to use; it is safe for concurrent use.
type refusals struct {
	mu    sync.Mutex
	until map[netip.AddrPort]time.Time
}

var errRefusedBefore = errors.New("the port refused a connection some seconds ago")

// note remembers a refusal. If maxRefusals are known, it forgets those that have expired, or else all.
func (r *refusals) note(ap netip.AddrPort, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[netip.AddrPort]time.Time{}
	}
	if len(r.until) >= maxRefusals {
		for ap, until := range r.until {
			if now.After(until) {
				delete(r.until, ap)
			}
		}
		if len(r.until) >= maxRefusals {
			clear(r.until)
		}
	}
	r.until[ap] = now.Add(refusedHold)
}

// recent reports whether the port refused a connection within refusedHold.
func (r *refusals) recent(ap netip.AddrPort, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	until, ok := r.until[ap]
	return ok && now.Before(until)
}
