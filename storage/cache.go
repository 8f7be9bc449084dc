// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// blockCache is Pebble's cache of blocks, with a part that it has only while others have no use for that memory.
type blockCache struct {
	cache *pebble.Cache
	spare int64

	mu       sync.Mutex
	giveBack func() // ends the reservation of the spare part; nil: blocks have it
}

// newBlockCache makes a cache of least bytes, which may grow to most.
func newBlockCache(least, most int64) *blockCache {
	c := &blockCache{cache: pebble.NewCache(max(least, most)), spare: max(most-least, 0)}
	c.lend(false)
	return c
}

func (c *blockCache) lend(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case on && c.giveBack != nil:
		c.giveBack()
		c.giveBack = nil
	case !on && c.giveBack == nil && c.spare > 0:
		c.giveBack = c.cache.Reserve(int(c.spare))
	}
}

// SetIdle says whether the block cache may have Options.IdleCacheBytes. When it may not any more, what is beyond
// CacheBytes is free when SetIdle returns. Any goroutine may call it.
func (s *Store) SetIdle(idle bool) { s.cache.lend(idle) }
