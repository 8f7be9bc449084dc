// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// widenedPrefix begins the meta keys of prefixes that came into reach and are not readmitted yet. It is
// written with the change, so that a crash between the two loses nothing.
const widenedPrefix = "widened/"

// fingerprintKey is the meta key of the fingerprint under which links were withheld.
const fingerprintKey = "admission"

// Changes are what one ingestion changes of the answer. The zero value is not usable; see NewChanges.
// One goroutine.
type Changes struct {
	a      *Admission
	hosts  map[urlkey.HostKey]bool
	urls   map[urlkey.Key]bool
	closed []string
	// Referral collects which domains link to which.
	Referral Referral
}

// NewChanges returns an empty set of changes.
func (a *Admission) NewChanges() *Changes {
	return &Changes{a: a, hosts: map[urlkey.HostKey]bool{}, urls: map[urlkey.Key]bool{}}
}

// Seed takes a seed, or what a seed redirects to, into the scope: from Commit on. It is cheap for keys in order.
func (c *Changes) Seed(key urlkey.Key) {
	c.hosts[urlkey.HostKey(urlkey.HostKeyOf([]byte(key)))] = true
	if c.a.needsURLs() {
		c.urls[key] = true
	}
}

// Close refuses everything below a prefix of keys, from Commit on.
func (c *Changes) Close(prefix string) { c.closed = append(c.closed, prefix) }

// WriteTo writes the changes as rows of meta. withheld says whether links are withheld in the store, or
// will be by this ingestion: if none are, nothing has to be readmitted.
func (c *Changes) WriteTo(ing *storage.Ingestion, withheld bool) error {
	rows := map[string]string{}
	for _, p := range c.closed {
		rows[closedPrefix+p] = ""
	}
	if err := c.Referral.rows(c.a, rows); err != nil {
		return err
	}
	for h := range c.hosts {
		rows[seedHostPrefix+string(h)] = ""
		if withheld && (c.a.o.Hosts != nil || c.a.needsURLs() || !c.a.HasHost(h)) {
			rows[widenedPrefix+c.a.reach(h)] = ""
		}
	}
	for k := range c.urls {
		rows[seedURLPrefix+string(k)] = ""
	}
	c.a.pendMu.Lock()
	if withheld && !c.a.known {
		rows[fingerprintKey] = c.a.fingerprint()
	}
	c.a.pendMu.Unlock()
	if len(rows) == 0 {
		return nil
	}
	w := ing.Table(storage.Meta())
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if err := w.Set([]byte(key), []byte(rows[key])); err != nil {
			return fmt.Errorf("writing changes of the scope: %w", err)
		}
	}
	return nil
}

// Commit makes the changes effective. Their ingestion must be durable.
func (c *Changes) Commit() error {
	a := c.a
	for h := range c.hosts {
		if news := a.admitHost(h); news || a.needsURLs() {
			a.pend(a.reach(h))
		}
	}
	for k := range c.urls {
		u, err := k.URL()
		if err != nil {
			return fmt.Errorf("%w: seed %q: %w", storage.ErrCorrupt, k, err)
		}
		a.admitURL(u)
	}
	a.close(c.closed)
	return nil
}

// reach is the prefix of the keys that a seed's host may bring into scope. Hosts with a scope of their own
// may follow a seed of their domain.
func (a *Admission) reach(h urlkey.HostKey) string {
	if a.o.Scope == policy.ScopeDomain || a.o.Hosts != nil {
		return h.DomainKey()
	}
	return string(h)
}

func (a *Admission) pend(prefix string) {
	a.pendMu.Lock()
	a.pending[prefix] = true
	a.pendMu.Unlock()
}

func (a *Admission) loadPending() error {
	err := a.scan(widenedPrefix, func(prefix string) error {
		a.pend(prefix)
		return nil
	})
	if err != nil {
		return err
	}
	stored, ok, err := a.o.Store.Get(storage.Meta(), []byte(fingerprintKey), nil)
	if err != nil {
		return err
	}
	a.known = ok
	if ok && string(stored) != a.fingerprint() {
		a.pend("") // the scope or a filter differs from the last run's
	}
	return nil
}

// Pending returns the prefixes of keys below which withheld links may be admitted by now, in key order;
// "" stands for everything.
func (a *Admission) Pending() []string {
	a.pendMu.Lock()
	defer a.pendMu.Unlock()
	if a.pending[""] {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(a.pending))
}

// Readmitted writes, into the ingestion of the phase that readmitted what was below these prefixes, that
// this is done. done makes it effective and is called once the ingestion is durable.
func (a *Admission) Readmitted(ing *storage.Ingestion, prefixes []string) (done func(), err error) {
	fingerprint := a.fingerprint()
	all := slices.Contains(prefixes, "")
	drop := map[string]bool{}
	for _, p := range prefixes {
		drop[p] = true
	}
	a.pendMu.Lock()
	if all {
		for p := range a.pending {
			drop[p] = true
		}
	}
	a.pendMu.Unlock()
	w := ing.Table(storage.Meta())
	if all {
		if err := w.Set([]byte(fingerprintKey), []byte(fingerprint)); err != nil {
			return nil, err
		}
	}
	for _, p := range slices.Sorted(maps.Keys(drop)) {
		if err := w.Delete([]byte(widenedPrefix + p)); err != nil {
			return nil, err
		}
	}
	return func() {
		a.pendMu.Lock()
		defer a.pendMu.Unlock()
		for p := range drop {
			if p != "" || a.fingerprint() == fingerprint { // else a filter changed meanwhile
				delete(a.pending, p)
			}
		}
		a.known = a.known || all
	}, nil
}
