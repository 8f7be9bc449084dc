// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"sync"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// places remember how far the URLs of hosts were offered, so that no refill reads again what an earlier one handed out
// or what filters refused. That is only a help: without a place a host is read from its beginning.
//
// A place says that nothing before it may be offered. Four things end that, and each takes places back, or drops
// them, after it is to be seen by all:
//
//	a phase makes due what is before a place             changed, to the first such key
//	a URL is given back that had been handed out         Reoffer, the whole host
//	a segment's URLs may be handed out again             Reoffer, all hosts' URLs that were fetched before
//	filters, scope or blocks answer in another way       admission's version, all hosts
//
// A refill that began before such a change may not see it. It has a mark of that time, and its place is not kept.
type places struct {
	mu      sync.Mutex
	version uint64 // of admission, and of what is due
	refused uint64 // version of admission that the places are of
	by      map[urlkey.HostKey]reach
	deleted bool // URLs were deleted in this process, so that one that is handed out may be new
}

// reach is how far a host's URLs of both kinds were offered.
type reach struct{ new, again extent }

// extent is a part of a host's due keys, without the host key: what is before from was offered, and of what is between
// from and to the best was. "" is the beginning; to is "" if there is no such part.
type extent struct{ from, to string }

// newlyDue is the first key of each kind that a phase adds to a host, without the host key.
type newlyDue struct {
	host       urlkey.HostKey
	new, again string
}

// againFirst is below all keys of URLs that were fetched, without the host key, and above all others.
var againFirst = storage.AppendDueAt(nil, 0)

// add notes a key; keys ascend.
func (n *newlyDue) add(key []byte) {
	switch again := string(key) >= string(againFirst); {
	case !again && n.new == "":
		n.new = string(key)
	case again && n.again == "":
		n.again = string(key)
	}
}

// mark is what a refill remembers of the moment before its snapshot.
func (p *places) mark(admission uint64) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused != admission || p.by == nil {
		p.refused, p.by = admission, map[urlkey.HostKey]reach{}
		p.version++
	}
	return p.version
}

// get returns the place of a host as of a mark.
func (p *places) get(host urlkey.HostKey) reach {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.by[host]
}

// put notes a place that was reached with what could be seen at a mark.
func (p *places) put(host urlkey.HostKey, at reach, mark uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if mark != p.version {
		return
	}
	if at == (reach{}) {
		delete(p.by, host)
		return
	}
	if len(p.by) >= placesMax {
		clear(p.by)
	}
	p.by[host] = at
}

// changed takes places back to what a phase made due.
func (p *places) changed(earned []newlyDue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version++
	if len(p.by) == 0 {
		return
	}
	for _, e := range earned {
		at, ok := p.by[e.host]
		if !ok {
			continue
		}
		if e.new != "" && e.new < at.new.from {
			at.new.from = e.new
		}
		if e.again != "" && e.again < at.again.from {
			at.again.from = e.again
		}
		p.by[e.host] = at
	}
}

// drop forgets the places of a host; with "" it is called after the commit of a segment.
func (p *places) drop(host urlkey.HostKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version++
	switch {
	case host != "":
		delete(p.by, host)
	case p.deleted:
		clear(p.by)
	default: // its URLs were fetched
		for h, at := range p.by {
			at.again = extent{}
			p.by[h] = at
		}
	}
}

// clear forgets all places.
func (p *places) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version++
	clear(p.by)
}

// forgets notes that URLs are deleted.
func (p *places) forgets() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deleted = true
}
