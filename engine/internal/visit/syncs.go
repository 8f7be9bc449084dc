// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"slices"
	"sync"
	"time"
)

// syncs are the syncs of segments that are under way: of the open one, and of those that are sealed meanwhile. One that
// ends says nothing of the others. The zero value is ready. Any goroutine may use it.
type syncs struct {
	mu    sync.Mutex
	begun []*time.Time // the oldest first
}

// begin notes that a sync begins. The caller calls end at its end.
func (s *syncs) begin(now time.Time) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = append(s.begun, &now)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.begun = slices.DeleteFunc(s.begun, func(at *time.Time) bool { return at == &now })
	}
}

// longest is how long the oldest one has lasted; 0: there is none.
func (s *syncs) longest(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.begun) == 0 {
		return 0
	}
	return max(now.Sub(*s.begun[0]), 0)
}
