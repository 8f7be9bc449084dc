// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

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
func (a *Admission) Block(hosts []urlkey.HostKey) {
	a.blocks.change(hosts, true)
	a.version.Add(1)
}

// Unblock ends Block for hosts; those that are not blocked are ignored.
func (a *Admission) Unblock(hosts []urlkey.HostKey) {
	for _, h := range hosts {
		if a.blocks.has(h) {
			a.pending.add(string(h))
		}
	}
	a.blocks.change(hosts, false)
	a.version.Add(1)
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
