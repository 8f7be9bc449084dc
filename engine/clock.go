// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"
	"time"
)

// clock is the system's, but never goes back: where the wall clock is set back, its own runs on as it went until the
// other has caught up. What was found before would else not be due, and what is stored would be older than what it
// replaces. When the wall clock is set forward, or the machine was suspended, the clock follows. Its times have a true
// monotonic reading, so delays last as long as they should, whatever the wall clock does.
type clock struct {
	mu     sync.Mutex
	read   func() time.Time // time.Now
	latest time.Time        // as read when it was last ahead of the clock
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.read()
	if c.latest.IsZero() {
		c.latest = t
	}
	own := c.latest.Add(t.Sub(c.latest))
	if t.Round(0).Before(own.Round(0)) {
		return own
	}
	c.latest = t
	return t
}
