// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"errors"
	"net/netip"
	"sync"
	"time"
)

// refusals remembers which ports of which addresses refused a connection, so that however many hosts share
// an address, or links name its ports, it is knocked at once in refusedHold. The zero value is ready.
type refusals struct {
	mu    sync.Mutex
	until map[netip.AddrPort]time.Time
}

var errRefusedBefore = errors.New("connection refused a moment ago")

// note remembers a refusal. When too many are known, those that are over are forgotten, or else all.
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

// recent reports whether a connection was refused a moment ago.
func (r *refusals) recent(ap netip.AddrPort, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	until, ok := r.until[ap]
	return ok && now.Before(until)
}
