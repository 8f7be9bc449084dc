// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
	splits []urlkey.Part // what is refused from Commit on, if resplit is set
	joined []urlkey.Part // what comes from other directories
	// resplit: other parts are refused. ask: everything is pending from Commit on.
	resplit, ask bool
	// readmitted are pending prefixes whose links were looked at again.
	readmitted map[string]bool
	// refreshes and fingerprint are of NewChanges. Newer live filters may have answered since.
	refreshes     uint64
	fingerprint   string
	fingerprinted bool // WriteTo wrote a fingerprint
	seedsKept     bool // after WriteTo: each seed has a row
	written       bool // WriteTo was called
	rows          map[string]string
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
		rows:      map[string]string{},
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

// Set adds a row of meta that somebody else keeps: an ingestion has one writer of these.
func (c *Changes) Set(key, value []byte) { c.rows[string(key)] = string(value) }

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

// Split refuses the URLs of a part from Commit on, because it was moved to another directory.
func (c *Changes) Split(p urlkey.Part) { c.setSplits(append(without(c.refused(), p), p)) }

// refused are the parts that are refused, with what has changed so far.
func (c *Changes) refused() []urlkey.Part {
	if c.resplit {
		return c.splits
	}
	return c.a.splits.parts()
}

// Join ends Split for a part that comes back, but for those parts of it that were moved on from where it was. From
// Commit on everything is pending. The caller has looked at nothing that is pending since NewChanges. A directory that
// is a part itself takes the other one along when it comes back.
func (c *Changes) Join(p urlkey.Part, movedOn []urlkey.Part) {
	c.joined = append(c.joined, p)
	was := c.refused()
	list := without(was, p)
	for _, on := range movedOn {
		for _, q := range was {
			if both, ok := on.Common(q); ok {
				if both, ok = both.Common(p); ok {
					list = append(list, both)
				}
			}
		}
	}
	if !slices.Equal(list, was) {
		c.setSplits(list)
		c.Ask()
	}
}

// Ask makes everything pending from Commit on, because withheld links came from elsewhere.
func (c *Changes) Ask() { c.ask = true }

func (c *Changes) setSplits(list []urlkey.Part) {
	slices.SortFunc(list, func(a, b urlkey.Part) int { return strings.Compare(a.From, b.From) })
	c.splits, c.resplit = list, true
}

// splitRows adds the rows of parts that are refused from now on, and of those that a part has joined, and notes those
// that go.
func (c *Changes) splitRows(rows map[string]string, deleted map[string]bool) error {
	if len(c.joined) > 0 {
		own, err := OwnParts(c.a.o.Store)
		if err != nil {
			return fmt.Errorf("reading which part this is: %w", err)
		}
		for _, p := range c.joined {
			within := func(q urlkey.Part) bool { return len(p.Without(q)) == 0 }
			if len(own) > 0 && !slices.ContainsFunc(own, within) {
				rows[partPrefix+p.From] = p.Until
			}
		}
	}
	if !c.resplit {
		return nil
	}
	for _, p := range c.a.splits.parts() {
		deleted[splitPrefix+p.From] = true
	}
	for _, p := range c.splits {
		delete(deleted, splitPrefix+p.From)
		rows[splitPrefix+p.From] = p.Until
	}
	return nil
}

// WriteTo writes the changes as rows of meta. withheld says whether the store holds withheld links, or will by this
// ingestion. If it does not, there is nothing to readmit.
func (c *Changes) WriteTo(ing *storage.Ingestion, withheld bool) error {
	rows := maps.Clone(c.rows)
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
	if err := c.splitRows(rows, deleted); err != nil {
		return err
	}
	c.seedsKept = c.a.scopes.seeds.rows(len(c.hosts) > 0, c.a.scopes.needsURLs(), rows, deleted)
	c.written = true
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
	case c.ask && withheld:
		return "", true
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
	if c.written {
		a.scopes.seeds.done(c.seedsKept)
	}
	if c.resplit {
		a.splits.set(c.splits)
	}
	if c.ask {
		a.pending.refreshed()
	}
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
	if len(c.hosts)+len(c.urls)+len(c.closed) > 0 || c.resplit {
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
