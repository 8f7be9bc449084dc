// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// trapWatch closes places where a site shows the same pages under ever new URLs: a calendar without
// entries, a list whose parameters do nothing, links with session ids. It watches prefixes of URLs: a
// host's root, its folders two deep, and pages with a query; a page is of the deepest that it is below.
// When most of the pages lately fetched of one are copies of other pages of the very same, its other URLs
// are refused with reason "duplicates". A translation or a mirror in another folder closes nothing, not
// the folder above either: its pages are copies of pages elsewhere.
//
// What is closed is kept in meta, the counts are not: they begin anew with the process.
type trapWatch struct {
	percent int // of copies that closes a prefix; 0: none does

	any    atomic.Bool // something is closed
	mu     sync.RWMutex
	closed map[string]bool // prefixes of keys

	counts map[string]*prefixCount // of Dedup, which runs once at a time
}

// prefixCount counts pages and copies; both are halved when they were looked at, so the past fades.
type prefixCount struct{ pages, copies int }

// closedPrefix begins the meta keys of what is closed: closedPrefix, prefix → nothing.
const closedPrefix = "closed/"

const reasonDuplicates = "duplicates"

// openTraps reads what was closed.
func (e *Engine) openTraps() error {
	e.traps.percent = e.o.TrapDuplicates
	e.traps.closed = map[string]bool{}
	sc := e.store.Scan(storage.Meta(), []byte(closedPrefix), prefixEnd([]byte(closedPrefix)))
	defer sc.Close()
	for sc.Next() {
		e.traps.closed[string(sc.Key()[len(closedPrefix):])] = true
		e.traps.any.Store(e.traps.percent > 0)
	}
	return sc.Err()
}

// eachPrefix calls fn with the prefixes of a key that are watched, the shortest first. They are parts of
// the key.
func eachPrefix(key []byte, fn func(prefix []byte) (more bool)) {
	at := len(urlkey.HostKeyOf(key)) + 1 // past the root's slash
	end := len(key)
	if space := bytes.LastIndexByte(key, ' '); space >= at {
		end = space
	}
	if at > end || !fn(key[:at]) {
		return
	}
	query := bytes.IndexByte(key[at:end], '?')
	if query >= 0 {
		query += at
	}
	for folder := 0; folder < trapFolders; folder++ {
		slash := bytes.IndexByte(key[at:end], '/')
		if slash < 0 || query >= 0 && at+slash > query {
			break
		}
		if at += slash + 1; !fn(key[:at]) {
			return
		}
	}
	if query >= 0 {
		fn(key[:query+1])
	}
}

// deepest returns the prefix that a key belongs to.
func deepest(key []byte) (prefix []byte) {
	eachPrefix(key, func(p []byte) bool {
		prefix = p
		return true
	})
	return prefix
}

// Accept refuses URLs below a closed prefix.
func (t *trapWatch) Accept(u urlkey.URL) string {
	if !t.any.Load() {
		return ""
	}
	if t.closing(u.AppendKey(make([]byte, 0, 256))) != "" {
		return reasonDuplicates
	}
	return ""
}

// closing returns the closed prefix that a key is below, "" if there is none.
func (t *trapWatch) closing(key []byte) (prefix string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	eachPrefix(key, func(p []byte) bool {
		if t.closed[string(p)] {
			prefix = string(p)
		}
		return prefix == ""
	})
	return prefix
}

func (t *trapWatch) count(prefix []byte) *prefixCount {
	c := t.counts[string(prefix)]
	if c == nil {
		if t.counts == nil || len(t.counts) >= trapPrefixesMax {
			t.counts = map[string]*prefixCount{}
		}
		c = new(prefixCount)
		t.counts[string(prefix)] = c
	}
	return c
}

// page counts a page that was just fetched.
func (t *trapWatch) page(key []byte) {
	if t.percent > 0 {
		t.count(deepest(key)).pages++
	}
}

// group counts the copies among pages that are equal; fresh are those just fetched.
func (t *trapWatch) group(group []member) {
	if t.percent <= 0 || len(group) < 2 {
		return
	}
	all, fresh := map[string]int{}, map[string]int{}
	for i := range group {
		p := string(deepest([]byte(group[i].key)))
		all[p]++
		if group[i].fresh {
			fresh[p]++
		}
	}
	for p, n := range fresh {
		t.count([]byte(p)).copies += min(n, all[p]-1)
	}
}

// verdicts returns the prefixes to close and lets the past fade. The root of a seed's host stays open.
func (t *trapWatch) verdicts(isSeed func(urlkey.HostKey) bool) (closing []string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for p, c := range t.counts {
		if c.pages < trapPages || t.closed[p] { // what was under way when it closed still comes
			continue
		}
		host := urlkey.HostKeyOf([]byte(p))
		if root := len(p) == len(host)+1; 100*c.copies >= t.percent*c.pages && !(root && isSeed(urlkey.HostKey(host))) {
			closing = append(closing, p)
		}
		c.pages, c.copies = c.pages/2, c.copies/2
	}
	return closing
}

// closeTraps closes what the watch has found since the last time.
func (e *Engine) closeTraps() (closed int, err error) {
	t := &e.traps
	closing := t.verdicts(func(h urlkey.HostKey) bool { return e.isSeedDomain(h.DomainKey()) })
	if len(closing) == 0 {
		return 0, nil
	}
	slices.Sort(closing)
	ing := e.store.NewIngestion()
	defer ing.Abort()
	w := ing.Table(storage.Meta())
	for _, p := range closing {
		if err := w.Set([]byte(closedPrefix+p), nil); err != nil {
			return 0, err
		}
	}
	if err := ing.Commit(); err != nil {
		return 0, fmt.Errorf("closing %d prefixes: %w", len(closing), err)
	}
	t.mu.Lock()
	for _, p := range closing {
		t.closed[p] = true
	}
	t.mu.Unlock()
	t.any.Store(true)
	for _, p := range closing {
		e.warn(fmt.Errorf("%s… is closed: of the pages lately fetched there %d%% or more were copies of one another (--trap-duplicates)", spelledPrefix(p), t.percent))
	}
	return len(closing), nil
}

// spelledPrefix writes a prefix of a key as people know URLs.
func spelledPrefix(p string) string {
	host := urlkey.HostKeyOf([]byte(p))
	return urlkey.HostKey(host).String() + p[len(host):]
}
