// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// blocks are the hosts that the operator has blocked. Unlike the rules of a live filter they are kept in the store, so
// no fingerprint of them is needed: what ends a block notes in the same write that the host's withheld links are
// pending. Safe for concurrent use.
type blocks struct {
	mu      sync.Mutex
	hosts   atomic.Pointer[map[urlkey.HostKey]bool] // replaced, never changed; nil: none
	changed atomic.Bool                             // since the last Refresh
}

func (b *blocks) has(h urlkey.HostKey) bool {
	hosts := b.hosts.Load()
	return hosts != nil && (*hosts)[h]
}

// refuses reports whether a URL's host is blocked. Without any blocked host it costs one load.
func (b *blocks) refuses(u urlkey.URL) bool {
	hosts := b.hosts.Load()
	return hosts != nil && (*hosts)[u.HostKey()]
}

// change blocks hosts, or ends that.
func (b *blocks) change(hosts []urlkey.HostKey, blocked bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := map[urlkey.HostKey]bool{}
	if old := b.hosts.Load(); old != nil {
		maps.Copy(now, *old)
	}
	for _, h := range hosts {
		if delete(now, h); blocked {
			now[h] = true
		}
	}
	if len(now) == 0 {
		b.hosts.Store(nil)
	} else {
		b.hosts.Store(&now)
	}
	b.changed.Store(true)
}

func (b *blocks) load(store storage.Reader) error {
	var hosts []urlkey.HostKey
	err := scan(store, blockedPrefix, func(host string) error {
		hosts = append(hosts, urlkey.HostKey(host))
		return nil
	})
	if len(hosts) > 0 {
		b.change(hosts, true)
	}
	return err
}
