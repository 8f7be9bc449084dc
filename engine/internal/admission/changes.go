// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Changes collects how one ingestion changes the answer. NewChanges makes it; it belongs to one goroutine.
type Changes struct {
	a      *Admission
	hosts  map[urlkey.HostKey]bool
	urls   map[urlkey.Key]bool
	last   urlkey.HostKey // host of the last Seed
	closed []string
	// readmitted are pending prefixes whose links were looked at again.
	readmitted map[string]bool
	// refreshes and fingerprint are of NewChanges. Newer live filters may have answered since.
	refreshes     uint64
	fingerprint   string
	fingerprinted bool // WriteTo wrote a fingerprint
	// Referral collects which domains link to which.
	Referral Referral
}

// NewChanges returns an empty set of changes. A phase calls it before the first Verdict by which it withholds or
// readmits a link.
func (a *Admission) NewChanges() *Changes {
	a.pending.mu.Lock()
	refreshes := a.pending.refreshes
	a.pending.mu.Unlock()
	return &Changes{
		a: a, hosts: map[urlkey.HostKey]bool{}, urls: map[urlkey.Key]bool{}, readmitted: map[string]bool{},
		refreshes: refreshes, fingerprint: a.live.fingerprint(),
	}
}

// Seed takes a seed, or the target of a seed's redirect, into the scope from Commit on. It is fastest for keys in
// order.
func (c *Changes) Seed(key urlkey.Key) {
	if h := key.HostKey(); h != c.last {
		c.last = h
		c.hosts[h] = true
	}
	if c.a.scopes.needsURLs() {
		c.urls[key] = true
	}
}

// Add adds what another has collected by Seed, Close and Referral. The other was made after c, and nobody uses it any
// more.
func (c *Changes) Add(other *Changes) {
	maps.Copy(c.hosts, other.hosts)
	maps.Copy(c.urls, other.urls)
	c.closed = append(c.closed, other.closed...)
	for domain, bits := range other.Referral.bits {
		c.Referral.Add(domain, bits)
	}
}

// Readmitted says that since NewChanges the caller has looked again at all links withheld below these prefixes, which
// come from Pending. From Commit on they are no longer pending. "" stays pending if a live filter changed meanwhile.
func (c *Changes) Readmitted(prefixes []string) {
	for _, p := range prefixes {
		c.readmitted[p] = true
	}
	if !c.readmitted[""] {
		return
	}
	c.a.pending.mu.Lock()
	defer c.a.pending.mu.Unlock()
	for p := range c.a.pending.prefixes {
		c.readmitted[p] = true
	}
}

// Close refuses everything below a prefix of keys, from Commit on.
func (c *Changes) Close(prefix string) { c.closed = append(c.closed, prefix) }

// WriteTo writes the changes as rows of meta. withheld says whether the store holds withheld links, or will by this
// ingestion. If it does not, there is nothing to readmit.
func (c *Changes) WriteTo(ing *storage.Ingestion, withheld bool) error {
	rows := map[string]string{}
	for _, p := range c.closed {
		rows[closedPrefix+p] = ""
	}
	if err := c.Referral.rows(&c.a.budgets, rows); err != nil {
		return fmt.Errorf("reading which domains link to which: %w", err)
	}
	for h := range c.hosts {
		rows[seedHostPrefix+string(h)] = ""
		if withheld && (c.a.o.Hosts != nil || c.a.scopes.needsURLs() || !c.a.scopes.hasHost(h)) {
			rows[widenedPrefix+c.a.scopes.reach(h)] = ""
		}
	}
	for k := range c.urls {
		rows[seedURLPrefix+string(k)] = ""
	}
	var fingerprint string
	if fingerprint, c.fingerprinted = c.fingerprintRow(withheld); c.fingerprinted {
		rows[fingerprintKey] = fingerprint
	}
	deleted := map[string]bool{}
	for p := range c.readmitted {
		if key := widenedPrefix + p; p != "" && !has(rows, key) {
			deleted[key] = true
		}
	}
	if len(rows)+len(deleted) == 0 {
		return nil
	}
	w := ing.Table(storage.Meta())
	keys := slices.AppendSeq(slices.Collect(maps.Keys(rows)), maps.Keys(deleted))
	slices.Sort(keys)
	for _, key := range keys {
		err := error(nil)
		if deleted[key] {
			err = w.Delete([]byte(key))
		} else {
			err = w.Set([]byte(key), []byte(rows[key]))
		}
		if err != nil {
			return fmt.Errorf("writing changes of the scope: %w", err)
		}
	}
	return nil
}

func has(rows map[string]string, key string) bool {
	_, ok := rows[key]
	return ok
}

// fingerprintRow returns the fingerprint to store and whether to store it. While everything is pending it is "", which
// equals no fingerprint: if the process ends now, the next one finds everything pending, even if its filters are those
// of an older fingerprint again.
func (c *Changes) fingerprintRow(withheld bool) (row string, write bool) {
	c.a.pending.mu.Lock()
	defer c.a.pending.mu.Unlock()
	current := c.refreshes == c.a.pending.refreshes
	switch {
	case c.readmitted[""] && current:
		return c.fingerprint, true
	case c.readmitted[""], withheld && (c.a.pending.prefixes[""] || !current):
		return "", true
	case withheld && !c.a.pending.known:
		return c.fingerprint, true
	}
	return "", false
}

// Commit makes the changes effective and reports each closed prefix through Options.Warn. Their ingestion must be
// durable. The error reports a seed that is not a canonical key, and wraps storage.ErrCorrupt.
func (c *Changes) Commit() error {
	a := c.a
	defer c.answers()
	a.pending.mu.Lock()
	for p := range c.readmitted {
		if p != "" || a.pending.refreshes == c.refreshes { // else a filter changed meanwhile
			delete(a.pending.prefixes, p)
		}
	}
	// If everything was readmitted and nothing was written, the stored fingerprint is out of date.
	a.pending.known = c.fingerprinted || a.pending.known && !c.readmitted[""]
	a.pending.mu.Unlock()
	for h := range c.hosts {
		if news := a.scopes.admitHost(h); news || a.scopes.needsURLs() {
			a.pending.add(a.scopes.reach(h))
		}
	}
	for k := range c.urls {
		u, err := k.URL()
		if err != nil {
			return fmt.Errorf("%w: seed %q: %w", storage.ErrCorrupt, k, err)
		}
		a.scopes.admitURL(u)
	}
	a.traps.close(c.closed)
	for _, p := range c.closed {
		a.o.Warn(fmt.Errorf("%s… is closed: at least %d%% of the pages recently fetched there were copies of one "+
			"another (setting trap-duplicates)", spellPrefix(p), a.traps.percent))
	}
	return nil
}

// answers notes that the answer for some URLs is another one now.
func (c *Changes) answers() {
	if len(c.hosts)+len(c.urls)+len(c.closed) > 0 {
		c.a.version.Add(1)
	}
}

// CloseTraps adds to c the prefixes that turned out to be traps since the last call, and returns their number. The root
// of a host in a seed's domain stays open.
func (a *Admission) CloseTraps(c *Changes) int {
	closing := a.traps.verdicts(a.scopes.isSeedDomain)
	for _, p := range closing {
		c.Close(p)
	}
	return len(closing)
}
