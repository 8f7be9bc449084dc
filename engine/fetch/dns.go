// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"container/list"
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Resolver finds the addresses of a host.
type Resolver interface {
	Lookup(ctx context.Context, host string) ([]netip.Addr, error)
}

// ResolverOptions of NewResolver. The zero value asks the system's name servers.
type ResolverOptions struct {
	// Hosts are asked first.
	Hosts Hosts
	// Servers are the recursive name servers; none: those of /etc/resolv.conf.
	Servers []netip.AddrPort
	// LookUp replaces DNS: how long its answers are valid is not known, so they are kept five minutes.
	LookUp func(ctx context.Context, host string) ([]netip.Addr, error)
	// Timeout bounds a lookup with all its queries; 0 means 5 s.
	Timeout time.Duration
	// Now replaces the clock by which answers grow old.
	Now func() time.Time
}

// CachingResolver asks the hosts file, then what it remembers, then DNS. Lookups of one name at the same
// time are one lookup; so many names are looked up at once (limits.go) and no more. It is safe for
// concurrent use and needs no closing.
type CachingResolver struct {
	o     ResolverOptions
	dns   *dnsClient
	slots chan struct{}

	mu    sync.Mutex
	cache map[string]*list.Element
	lru   *list.List // of *answer, newest first

	lookups, hits, failures atomic.Uint64
}

// answer is a lookup, under way until done is closed. What lies behind done does not change after.
type answer struct {
	host    string
	done    chan struct{}
	addrs   []netip.Addr
	err     error
	expires time.Time // guarded by the resolver's mu; zero while under way
}

// NewResolver returns a resolver.
func NewResolver(o ResolverOptions) *CachingResolver {
	if o.Timeout == 0 {
		o.Timeout = defaultDNS
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &CachingResolver{o: o, dns: newDNSClient(o.Servers), slots: make(chan struct{}, resolveInFlight), cache: map[string]*list.Element{}, lru: list.New()}
}

// Lookup returns at most eight addresses, those of IPv4 first. The error is classified: a name that does
// not exist is FailDNSNotFound, no answer in time FailDNSTimeout, anything else FailDNS.
func (r *CachingResolver) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return []netip.Addr{a}, nil
	}
	if addrs := r.o.Hosts[host]; len(addrs) > 0 {
		return addrs, nil
	}
	a, mine := r.entry(host)
	if mine {
		r.ask(ctx, a)
	}
	select {
	case <-a.done:
		return a.addrs, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ResolverStats count since the start.
type ResolverStats struct {
	Lookups  uint64 // that DNS was asked for
	Hits     uint64 // that were answered from memory
	Failures uint64 // of Lookups
	InFlight int
	Names    int // in memory
}

// Stats returns the numbers of the moment.
func (r *CachingResolver) Stats() ResolverStats {
	r.mu.Lock()
	names := r.lru.Len()
	r.mu.Unlock()
	return ResolverStats{r.lookups.Load(), r.hits.Load(), r.failures.Load(), len(r.slots), names}
}

// entry returns the answer for a host, and whether the caller is to find it out.
func (r *CachingResolver) entry(host string) (a *answer, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if el, ok := r.cache[host]; ok {
		a := el.Value.(*answer)
		if a.expires.IsZero() || r.o.Now().Before(a.expires) {
			r.lru.MoveToFront(el)
			r.hits.Add(1)
			return a, false
		}
		r.lru.Remove(el)
	}
	r.lookups.Add(1)
	a = &answer{host: host, done: make(chan struct{})}
	r.cache[host] = r.lru.PushFront(a)
	if r.lru.Len() > resolveCacheMax {
		old := r.lru.Back()
		r.lru.Remove(old)
		delete(r.cache, old.Value.(*answer).host)
	}
	return a, true
}

// ask finds an answer out and says how long it holds.
func (r *CachingResolver) ask(ctx context.Context, a *answer) {
	defer close(a.done)
	// The lookup serves others too, so only its own clock ends it.
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.o.Timeout)
	defer cancel()
	var found dnsAnswer
	select {
	case r.slots <- struct{}{}:
		found = r.query(own, a.host)
		<-r.slots
	case <-own.Done():
		found.err = &fault{FailDNSTimeout, errors.New("too many lookups at once")}
	}
	if found.err != nil {
		r.failures.Add(1)
	}
	a.addrs, a.err = found.addrs, found.err
	r.mu.Lock()
	a.expires = r.o.Now().Add(found.ttl)
	r.mu.Unlock()
}

func (r *CachingResolver) query(ctx context.Context, host string) (found dnsAnswer) {
	if r.o.LookUp == nil {
		found = r.dns.lookup(ctx, host)
	} else {
		found.addrs, found.err = r.o.LookUp(ctx, host)
		found.ttl = resolveTTL
		if found.err != nil {
			found.ttl = resolveFailTTL
		}
	}
	if found.err != nil {
		f := classify(found.err, FailDNSTimeout)
		if ctx.Err() != nil {
			f = &fault{FailDNSTimeout, found.err}
		}
		found.err = f
		return found
	}
	addrs := found.addrs[:min(len(found.addrs), maxAddresses)]
	found.addrs = make([]netip.Addr, len(addrs))
	for i, addr := range addrs {
		found.addrs[i] = addr.Unmap()
	}
	return found
}
