// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Resolver finds the addresses of a host. Lookup must be safe for concurrent use.
type Resolver interface {
	// Lookup returns the addresses in the order in which to try them. It must end soon after ctx does.
	Lookup(ctx context.Context, host string) ([]netip.Addr, error)
}

// LookupSockets is how many sockets a lookup has at most: those of open queries, and of one that gives way, by type.
const LookupSockets = 2 * (dnsOpen + 1)

// ResolverOptions of NewResolver. The zero value queries the system's name servers.
type ResolverOptions struct {
	// Hosts take precedence over DNS. The map must not change later.
	Hosts Hosts
	// Servers are the recursive name servers; none means those of /etc/resolv.conf.
	Servers []netip.AddrPort
	// LookUp replaces DNS. It gives no TTL, so its answers are cached for five minutes and its errors for ten seconds.
	// Several goroutines call it at a time.
	LookUp func(ctx context.Context, host string) ([]netip.Addr, error)
	// Timeout bounds a lookup with all its queries, and how long it waits for its turn; 0 means 5 s.
	Timeout time.Duration
	// CacheMax is the number of names whose answers are cached, some 300 bytes each; 0 means 200,000. Beyond it, those
	// that were used least recently are forgotten.
	CacheMax int
	// InFlight is the number of names that are looked up at the same time, with up to LookupSockets each; 0 means 64.
	InFlight int
	// Now is the clock by which answers expire; nil means time.Now.
	Now func() time.Time
}

// CachingResolver looks in Hosts, then in its cache, then queries DNS. Concurrent lookups of a name share one
// query, and limits.go bounds the names that are looked up at the same time. It is safe for concurrent use and
// needs no closing.
type CachingResolver struct {
	o     ResolverOptions
	dns   *dnsClient
	slots chan struct{}

	mu    sync.Mutex
	cache map[string]*list.Element
	lru   *list.List // of *answer, most recently used first
	// Names that failed while no name server answered say nothing once one does: those up to number back. silent counts
	// such failures in a row, made those of all time.
	silent     int
	made, back uint64

	lookups, hits, failures atomic.Uint64
}

// answer is a lookup, which runs until done is closed. addrs, err and left are valid after that, and do not change.
type answer struct {
	host    string
	done    chan struct{}
	addrs   []netip.Addr
	err     error
	left    bool      // the caller that looked it up has left: who waits for it looks it up again
	expires time.Time // guarded by the resolver's mu; zero during the lookup
	failure uint64    // likewise; its number, if name servers failed
}

// NewResolver returns a resolver. Without ResolverOptions.Servers it reads /etc/resolv.conf at the first lookup, and
// at later ones what the file says by then.
func NewResolver(o ResolverOptions) *CachingResolver {
	if o.Timeout == 0 {
		o.Timeout = defaultDNS
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.InFlight <= 0 {
		o.InFlight = resolveInFlight
	}
	return &CachingResolver{
		o:     o,
		dns:   newDNSClient(o.Servers),
		slots: make(chan struct{}, o.InFlight),
		cache: map[string]*list.Element{},
		lru:   list.New(),
	}
}

// Lookup returns at most eight addresses, IPv4 before IPv6; the caller must not change them. A host that is an
// address, with or without brackets, is returned itself. "localhost" and names below it are loopback (RFC 6761). The
// error becomes the failure of the fetch:
// FailDNSNotFound if the name does not exist or has no address, FailDNSTimeout if no answer came in time,
// otherwise FailDNS. If ctx ends first, the error is ctx.Err().
func (r *CachingResolver) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return []netip.Addr{a}, nil
	}
	if isLocalhost(host) {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	if addrs := r.o.Hosts[host]; len(addrs) > 0 {
		return addrs, nil
	}
	for {
		a, mine := r.entry(host)
		if mine {
			r.find(ctx, a)
		}
		select {
		case <-a.done:
			if !a.left {
				return a.addrs, a.err
			}
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// isLocalhost reports whether a name is always that of loopback.
func isLocalhost(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// ResolverStats are the counters of a CachingResolver since it was created.
type ResolverStats struct {
	Lookups  uint64 // lookups by DNS
	Hits     uint64 // lookups answered from the cache
	Failures uint64 // Lookups that failed
	InFlight int    // lookups by DNS that are running
	Names    int    // names in the cache
}

// Stats returns the current counters. It may be called from any goroutine.
func (r *CachingResolver) Stats() ResolverStats {
	r.mu.Lock()
	names := r.lru.Len()
	r.mu.Unlock()
	return ResolverStats{r.lookups.Load(), r.hits.Load(), r.failures.Load(), len(r.slots), names}
}

// entry returns the answer for a host; mine means that the caller must look it up.
func (r *CachingResolver) entry(host string) (a *answer, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if el, ok := r.cache[host]; ok {
		a := el.Value.(*answer)
		if a.expires.IsZero() || r.o.Now().Before(a.expires) && (a.failure == 0 || a.failure > r.back) {
			r.lru.MoveToFront(el)
			r.hits.Add(1)
			return a, false
		}
		r.lru.Remove(el)
	}
	r.lookups.Add(1)
	a = &answer{host: host, done: make(chan struct{})}
	r.cache[host] = r.lru.PushFront(a)
	if r.lru.Len() > cmp.Or(r.o.CacheMax, resolveCacheMax) {
		old := r.lru.Back()
		r.lru.Remove(old)
		delete(r.cache, old.Value.(*answer).host)
	}
	return a, true
}

// find looks up an answer and sets when it expires. It ends with ctx. If that was canceled, or had less than half of
// Timeout, the failure says nothing of the name.
func (r *CachingResolver) find(ctx context.Context, a *answer) {
	defer close(a.done)
	end, bounded := ctx.Deadline()
	hurried := bounded && time.Until(end) < r.o.Timeout/2
	turn, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	var found dnsAnswer
	select {
	case r.slots <- struct{}{}: // its own time begins now: where DNS is slow, many wait for their turn
		own, cancel := context.WithTimeout(ctx, r.o.Timeout)
		found = r.query(own, a.host)
		cancel()
		<-r.slots
	case <-turn.Done():
		found.err = &fault{FailDNSTimeout, errors.New("too many lookups at the same time")}
	}
	if found.err != nil {
		r.failures.Add(1)
	}
	if err := ctx.Err(); found.err != nil && err != nil && (hurried || errors.Is(err, context.Canceled)) {
		found.ttl, a.left = 0, true
	}
	a.addrs, a.err = found.addrs, found.err
	r.mu.Lock()
	defer r.mu.Unlock()
	a.expires = r.o.Now().Add(found.ttl)
	switch {
	case found.err == nil || isNotFound(found.err):
		if r.silent >= resolveSilent {
			r.back = r.made
		}
		r.silent = 0
	case found.ttl > 0:
		r.silent++
		r.made++
		a.failure = r.made
	}
}

// query looks up a host by DNS or by ResolverOptions.LookUp. found.err is a *fault or nil.
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
		switch {
		case f.failure == FailFiles:
			found.ttl = 0 // says nothing of the name
		case ctx.Err() != nil:
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
