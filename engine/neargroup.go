// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"

	"github.com/seine-crawler/seine/storage"
)

// The values of Options.NearDuplicates.
const (
	nearCollapse = "collapse"
	nearMark     = "mark"
)

// nearGroups answers which group of near-duplicates a document belongs to, for searches that collapse them. A document
// has its page's fingerprint, which never changes; Dedup makes the groups (internal/phases/near.go), which grow and
// merge. It is safe for concurrent use.
type nearGroups struct {
	store   *storage.Store
	mu      sync.RWMutex
	known   map[uint64]uint64
	changed uint64 // how often groups have
}

// of returns the number that all documents of a fingerprint's group have. What the store cannot say is a group of its
// own: Verify reports damage. A group that an index filter gave is no fingerprint, and stays as it is.
func (n *nearGroups) of(fingerprint uint64) uint64 {
	n.mu.RLock()
	group, ok := n.known[fingerprint]
	at := n.changed
	n.mu.RUnlock()
	if ok || fingerprint == 0 {
		return group
	}
	group = fingerprint
	if found, err := n.store.NearGroup(storage.SimHash(fingerprint)); err == nil {
		group = uint64(found)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed != at {
		return group // it may be that of before
	}
	if n.known == nil || len(n.known) >= nearGroupsKnown {
		n.known = map[uint64]uint64{}
	}
	n.known[fingerprint] = group
	return group
}

// forget follows a change of groups.
func (n *nearGroups) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known = nil
	n.changed++
}

// changes is a number that grows with each change of groups.
func (n *nearGroups) changes() uint64 {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.changed
}
