// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// ReasonBlocked is the reason of a refusal because the operator has blocked the host.
const ReasonBlocked = "blocked"

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

// WriteBlock puts the rows into a batch that block hosts. Block comes when they are durable.
func (a *Admission) WriteBlock(b *storage.Batch, hosts []urlkey.HostKey) error {
	for _, h := range hosts {
		if err := b.Set(storage.Meta(), []byte(blockedPrefix+string(h)), nil); err != nil {
			return err
		}
	}
	return nil
}

// WriteUnblock puts the rows into a batch that end the blocks of hosts, and make their withheld links pending. Unblock
// comes when they are durable. No phase may run meanwhile that withholds or readmits links.
func (a *Admission) WriteUnblock(b *storage.Batch, hosts []urlkey.HostKey) error {
	for _, h := range hosts {
		if !a.blocks.has(h) {
			continue
		}
		if err := b.Delete(storage.Meta(), []byte(blockedPrefix+string(h))); err != nil {
			return err
		}
		if err := b.Set(storage.Meta(), []byte(widenedPrefix+string(h)), nil); err != nil {
			return err
		}
	}
	return nil
}

// Block refuses all URLs of hosts from now on. Any goroutine may call it.
func (a *Admission) Block(hosts []urlkey.HostKey) { a.blocks.change(hosts, true) }

// Unblock ends Block for hosts; those that are not blocked are ignored.
func (a *Admission) Unblock(hosts []urlkey.HostKey) {
	for _, h := range hosts {
		if a.blocks.has(h) {
			a.pending.add(string(h))
		}
	}
	a.blocks.change(hosts, false)
}

// IsBlocked reports whether a host is blocked. Any goroutine may call it.
func (a *Admission) IsBlocked(h urlkey.HostKey) bool { return a.blocks.has(h) }

// Blocked returns the hosts that are blocked, in the order of their keys. Any goroutine may call it.
func (a *Admission) Blocked() []urlkey.HostKey {
	hosts := a.blocks.hosts.Load()
	if hosts == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(*hosts))
}
