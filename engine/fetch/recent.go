// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"errors"
	"sync"
	"time"
)

// recent remembers for a while that something happened to a key. Beyond most keys it forgets those whose time is over,
// or else all. It is safe for concurrent use.
type recent[K comparable] struct {
	hold time.Duration
	most int

	mu    sync.Mutex
	until map[K]time.Time
}

var errRefusedBefore = errors.New("the port refused a connection some seconds ago")

// note remembers a key from now on.
func (r *recent[K]) note(k K, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[K]time.Time{}
	}
	if len(r.until) >= r.most {
		for k, until := range r.until {
			if now.After(until) {
				delete(r.until, k)
			}
		}
		if len(r.until) >= r.most {
			clear(r.until)
		}
	}
	r.until[k] = now.Add(r.hold)
}

// has reports whether a key is remembered.
func (r *recent[K]) has(k K, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	until, ok := r.until[k]
	return ok && now.Before(until)
}
