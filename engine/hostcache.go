// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"container/list"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/fetch/robots"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// hostCache keeps what is known of the authorities (scheme, host, port) that are being visited:
// their robots rules and the facts that hostdb remembers. It is bounded; what falls out is written
// to hostdb if it changed, and read again when needed.
type hostCache struct {
	e    *Engine
	mu   sync.Mutex
	by   map[string]*list.Element // authority key → element of lru
	lru  *list.List               // of *authority, most recently used first
	size int
}

// authority is one (scheme, host, port). mu is held for moments, never while a server is waited for: what
// writes facts to hostdb takes it with the whole cache locked, and all fetchers need that.
type authority struct {
	key      string // host key, ' ', scheme: the key of its facts in hostdb
	mu       sync.Mutex
	facts    storage.HostFacts
	rules    *robots.Rules // nil until decided
	dirty    bool
	fetching chan struct{} // closed when the request for robots.txt that is under way ends; nil: none is
	errand   *errand       // the robots.txt was redirected and is asked for in another host's turn; nil: it is not
}

func newHostCache(e *Engine) *hostCache {
	return &hostCache{e: e, by: map[string]*list.Element{}, lru: list.New(), size: hostCacheMax}
}

func authorityKey(u urlkey.URL) string { return string(u.HostKey()) + " " + u.Scheme() }

// get returns the authority with a key, loading its facts when it is not in memory.
func (c *hostCache) get(key string) (*authority, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.by[key]; ok {
		c.lru.MoveToFront(el)
		return el.Value.(*authority), nil
	}
	a := &authority{key: key}
	if _, err := c.e.store.HostFacts(urlkey.HostKey(key), &a.facts); err != nil {
		return nil, fmt.Errorf("hostdb facts of %s: %w", key, err)
	}
	c.by[key] = c.lru.PushFront(a)
	if c.lru.Len() <= c.size {
		return a, nil
	}
	return a, c.shrink()
}

// shrink forgets the sixteenth that was not used for longest, with one write for all of it. c.mu is held.
func (c *hostCache) shrink() error {
	return c.e.store.Apply(func(b *storage.Batch) error {
		for c.lru.Len() > c.size-c.size/16 {
			el := c.lru.Back()
			old := el.Value.(*authority)
			old.mu.Lock()
			dirty := old.dirty
			old.dirty = false
			value := storage.AppendHostFacts(nil, &old.facts)
			old.mu.Unlock()
			if dirty {
				if err := b.Set(storage.HostFactsRange(), []byte(old.key), value); err != nil {
					return err
				}
			}
			c.lru.Remove(el)
			delete(c.by, old.key)
		}
		return nil
	})
}

// peek returns the authority with a key if it is in memory.
func (c *hostCache) peek(key string) *authority {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, ok := c.by[key]; ok {
		return el.Value.(*authority)
	}
	return nil
}

// stateKey is the key of what the frontier learned of a host, whatever the scheme.
func stateKey(h urlkey.HostKey) string { return string(h) + " *" }

// remember keeps what the frontier learned of a host: it is to survive a restart.
func (e *Engine) remember(h urlkey.HostKey, s frontier.HostState) {
	e.changeFacts(h, func(f *storage.HostFacts) {
		f.NextFetch, f.Failures, f.Sleeps = s.NotBefore.UnixMilli(), uint16(s.Failures), uint16(s.Sleeps)
		f.ResponseMS = uint32(min(s.ResponseTime.Milliseconds(), math.MaxUint32))
	})
	if s.Asleep && e.o.Events.HostAsleep != nil {
		e.o.Events.HostAsleep(h, s.NotBefore)
	}
}

// rememberDelay keeps a host's Crawl-delay.
func (e *Engine) rememberDelay(h urlkey.HostKey, d time.Duration) {
	e.changeFacts(h, func(f *storage.HostFacts) { f.CrawlDelayMS = uint32(min(d.Milliseconds(), math.MaxUint32)) })
}

// changeFacts changes what is kept of a host, whatever the scheme.
func (e *Engine) changeFacts(h urlkey.HostKey, change func(*storage.HostFacts)) {
	a, err := e.hosts.get(stateKey(h))
	if err != nil {
		e.warn(err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.facts)
	a.dirty = true
}

// recall tells the frontier what is known of a host from before. A time that lies further ahead than
// any wait can is from a clock that was wrong.
func (e *Engine) recall(h urlkey.HostKey, r *frontier.Refill) error {
	var f storage.HostFacts
	if a := e.hosts.peek(stateKey(h)); a != nil {
		a.mu.Lock()
		f = a.facts
		a.mu.Unlock()
	} else if _, err := e.store.HostFacts(urlkey.HostKey(stateKey(h)), &f); err != nil {
		return fmt.Errorf("hostdb facts of %s: %w", h, err)
	}
	if f.NextFetch > 0 {
		if at := time.UnixMilli(f.NextFetch); at.Sub(e.o.Now()) < hostSleepMax {
			r.NotBefore = at
		}
	}
	r.Failures, r.Sleeps = int(f.Failures), int(f.Sleeps)
	r.ResponseTime = time.Duration(f.ResponseMS) * time.Millisecond
	r.CrawlDelay = time.Duration(f.CrawlDelayMS) * time.Millisecond
	return nil
}

// flush saves every changed authority. Facts are a memory aid: losing the last seconds of them in
// a crash costs a robots.txt request, so they are saved when segments are sealed, not per fetch.
func (c *hostCache) flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.e.store.Apply(func(b *storage.Batch) error {
		for el := c.lru.Front(); el != nil; el = el.Next() {
			a := el.Value.(*authority)
			a.mu.Lock()
			dirty := a.dirty
			a.dirty = false
			value := storage.AppendHostFacts(nil, &a.facts)
			a.mu.Unlock()
			if !dirty {
				continue
			}
			if err := b.Set(storage.HostFactsRange(), []byte(a.key), value); err != nil {
				return err
			}
		}
		return nil
	})
}

// warcExchange is a response as the WARC writer takes it.
func warcExchange(u urlkey.URL, r *fetch.Response, fields ...warc.Field) *warc.Exchange {
	return &warc.Exchange{URI: u.String(), Addr: r.Addr, Start: r.Start, Request: r.RequestHead, ResponseHead: r.Head,
		Body: r.Body, Truncated: r.Truncated, Fields: fields}
}
