// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"maps"
	"slices"
	"sync"

	"github.com/seine-crawler/seine/storage"
)

// pending is what came into reach and is not readmitted yet. Safe for concurrent use.
type pending struct {
	mu        sync.Mutex
	prefixes  map[string]bool // of keys; "": everything
	known     bool            // the store holds a fingerprint
	refreshes uint64          // times that a live filter changed
}

func (p *pending) add(prefix string) {
	p.mu.Lock()
	p.prefixes[prefix] = true
	p.mu.Unlock()
}

// refreshed notes that a live filter changed: everything is pending.
func (p *pending) refreshed() {
	p.mu.Lock()
	p.refreshes++
	p.prefixes[""] = true
	p.mu.Unlock()
}

// list returns the prefixes in key order. "" means everything, and is then the only one.
func (p *pending) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.prefixes[""] {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(p.prefixes))
}

// load reads what an earlier process left. Everything is pending if the stored fingerprint is not the current one, or
// if that cannot be known.
func (p *pending) load(store storage.Reader, fingerprint string, unsure bool) error {
	err := scan(store, widenedPrefix, func(prefix string) error {
		p.add(prefix)
		return nil
	})
	if err != nil {
		return err
	}
	stored, ok, err := store.Get(storage.Meta(), []byte(fingerprintKey), nil)
	if err != nil {
		return err
	}
	p.known = ok
	if ok && (string(stored) != fingerprint || unsure) {
		p.add("")
	}
	return nil
}
