// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"maps"
	"sync"
)

// tally counts by name, on any goroutine.
type tally struct {
	mu sync.Mutex
	by map[string]uint64
}

func (t *tally) add(more map[string]uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[string]uint64{}
	}
	for name, n := range more {
		t.by[name] += n
	}
}

func (t *tally) all() map[string]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.by)
}
