// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Bounds of the trap watch.
const (
	// trapPages is the number of pages of a prefix from which it is judged.
	trapPages = 200
	// trapFolders is the number of folders, from the root down, that are watched.
	trapFolders = 2
	// trapPrefixesMax is the number of prefixes that are counted. Beyond it all counts start again from 0.
	trapPrefixesMax = 1 << 16
)

// traps closes places where a site shows the same pages under ever new URLs: a calendar without entries, a list whose
// parameters do nothing, links with session ids. It watches prefixes of URLs: a host's root, its folders two deep, and
// pages with a query. A page belongs to the longest prefix that it is below. When most recently fetched pages of a
// prefix are copies of other pages of the same prefix, the prefix is closed: its other URLs are refused. A translation
// or a mirror in another folder closes nothing, since its pages are copies of pages elsewhere.
//
// Closed prefixes are kept in meta. Counts are not: each process starts from 0.
type traps struct {
	percent int // of copies that closes a prefix; 0 or less: none is closed

	any    atomic.Bool // something is closed
	mu     sync.RWMutex
	closed map[string]bool // prefixes of keys

	counts map[string]*prefixCount // belongs to Dedup, which runs once at a time
}

// prefixCount counts pages and copies. Both are halved each time they are judged, so old pages count less and less.
type prefixCount struct{ pages, copies int }

func (t *traps) load(store storage.Reader) error {
	var closed []string
	err := scan(store, closedPrefix, func(prefix string) error {
		closed = append(closed, prefix)
		return nil
	})
	t.close(closed)
	return err
}

func (t *traps) close(prefixes []string) {
	if len(prefixes) == 0 {
		return
	}
	t.mu.Lock()
	if t.closed == nil {
		t.closed = map[string]bool{}
	}
	for _, p := range prefixes {
		t.closed[p] = true
	}
	t.mu.Unlock()
	t.any.Store(t.percent > 0)
}

// Closed is a prefix of keys that is closed, and the same as people write URLs, without the scheme.
type Closed struct{ Prefix, URL string }

// list returns the closed prefixes, in order.
func (t *traps) list() (prefixes []Closed) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, p := range slices.Sorted(maps.Keys(t.closed)) {
		prefixes = append(prefixes, Closed{p, spellPrefix(p)})
	}
	return prefixes
}

// refuses reports whether a URL is below a closed prefix.
func (t *traps) refuses(u urlkey.URL) bool {
	if !t.any.Load() {
		return false
	}
	return t.closing(u.AppendKey(make([]byte, 0, 256))) != ""
}

// closing returns the closed prefix that a key is below, "" if there is none.
func (t *traps) closing(key []byte) (prefix string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	ends, n := watched(key)
	for _, end := range ends[:n] {
		if t.closed[string(key[:end])] {
			return string(key[:end])
		}
	}
	return ""
}

// watched returns the lengths of the watched prefixes of a key, the shortest first, and their number.
func watched(key []byte) (ends [2 + trapFolders]int, n int) {
	at := len(urlkey.HostKeyOf(key)) + 1 // past the root's slash
	end := len(key)
	if space := bytes.LastIndexByte(key, ' '); space >= at {
		end = space
	}
	if at > end {
		return ends, 0
	}
	ends[0], n = at, 1
	query := bytes.IndexByte(key[at:end], '?')
	if query >= 0 {
		query += at
	}
	for range trapFolders {
		slash := bytes.IndexByte(key[at:end], '/')
		if slash < 0 || query >= 0 && at+slash > query {
			break
		}
		at += slash + 1
		ends[n] = at
		n++
	}
	if query >= 0 {
		ends[n] = query + 1
		n++
	}
	return ends, n
}

// TrapPrefix returns the prefix that a key belongs to, as the trap watch counts pages.
func TrapPrefix(key []byte) (prefix []byte) {
	ends, n := watched(key)
	if n == 0 {
		return nil
	}
	return key[:ends[n-1]]
}

func (t *traps) count(prefix []byte) *prefixCount {
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

// page counts a page that was fetched.
func (t *traps) page(key []byte) {
	if t.percent > 0 {
		t.count(TrapPrefix(key)).pages++
	}
}

// copies counts equal pages of a prefix, and how many of them are fresh. One of them is no copy.
func (t *traps) copies(prefix []byte, all, fresh int) {
	if n := min(fresh, all-1); n > 0 && t.percent > 0 {
		t.count(prefix).copies += n
	}
}

// verdicts returns the prefixes that turned out to be traps since the last call, in order. The root of a host in a
// seed's domain stays open.
func (t *traps) verdicts(isSeedDomain func(domain string) bool) (closing []string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for p, c := range t.counts {
		if c.pages < trapPages || t.closed[p] { // visits under way when it was closed still end
			continue
		}
		host := urlkey.HostKeyOf([]byte(p))
		root := len(p) == len(host)+1
		if 100*c.copies >= t.percent*c.pages && !(root && isSeedDomain(urlkey.HostKey(host).DomainKey())) {
			closing = append(closing, p)
		}
		c.pages, c.copies = c.pages/2, c.copies/2
	}
	slices.Sort(closing)
	return closing
}

// spellPrefix writes a prefix of a key the way people write URLs, without the scheme.
func spellPrefix(p string) string {
	host := urlkey.HostKeyOf([]byte(p))
	return urlkey.HostKey(host).String() + p[len(host):]
}
