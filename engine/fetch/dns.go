// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bufio"
	"container/list"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"
)

// Resolver finds the addresses of a host.
type Resolver interface {
	Lookup(ctx context.Context, host string) ([]netip.Addr, error)
}

// Hosts are names with addresses that are never asked of DNS.
type Hosts map[string][]netip.Addr

// LoadHosts reads a hosts(5) file: address, then names, '#' begins a comment.
func LoadHosts(path string) (Hosts, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("hosts file: %w", err)
	}
	defer f.Close()
	hosts := Hosts{}
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		line, _, _ := strings.Cut(sc.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		addr, err := netip.ParseAddr(words[0])
		if err != nil || len(words) < 2 {
			return nil, fmt.Errorf("hosts file %s, line %d: want an address and names, not %q", path, n, sc.Text())
		}
		for _, name := range words[1:] {
			name = strings.ToLower(strings.TrimSuffix(name, "."))
			hosts[name] = append(hosts[name], addr)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("hosts file %s: %w", path, err)
	}
	return hosts, nil
}

// ResolverOptions of NewResolver.
type ResolverOptions struct {
	Hosts Hosts
	// LookUp asks DNS; nil means Go's resolver with the system's servers.
	LookUp  func(ctx context.Context, host string) ([]netip.Addr, error)
	Timeout time.Duration // 0 means 5 s
	Now     func() time.Time
}

// NewResolver returns a resolver that asks the hosts file first and remembers what DNS said, good
// or bad. Go's resolver does not tell how long an answer is valid, so answers are kept five minutes
// and failures one. Lookups of the same name are made once, and at most 64 at a time.
func NewResolver(o ResolverOptions) Resolver {
	if o.LookUp == nil {
		r := &net.Resolver{PreferGo: true}
		o.LookUp = func(ctx context.Context, host string) ([]netip.Addr, error) { return r.LookupNetIP(ctx, "ip", host) }
	}
	if o.Timeout == 0 {
		o.Timeout = defaultDNS
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &resolver{o: o, slots: make(chan struct{}, resolveInFlight), cache: map[string]*list.Element{}, lru: list.New()}
}

type resolver struct {
	o     ResolverOptions
	slots chan struct{}
	mu    sync.Mutex
	cache map[string]*list.Element
	lru   *list.List // of *answer, newest first
}

// answer is a lookup, under way until done is closed.
type answer struct {
	host    string
	done    chan struct{}
	addrs   []netip.Addr
	err     error
	expires time.Time
}

// Lookup returns at most eight addresses.
func (r *resolver) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
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

// entry returns the answer for a host, and whether the caller is to find it out.
func (r *resolver) entry(host string) (a *answer, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if el, ok := r.cache[host]; ok {
		a := el.Value.(*answer)
		if a.expires.IsZero() || r.o.Now().Before(a.expires) {
			r.lru.MoveToFront(el)
			return a, false
		}
		r.lru.Remove(el)
	}
	a = &answer{host: host, done: make(chan struct{})}
	r.cache[host] = r.lru.PushFront(a)
	if r.lru.Len() > resolveCacheMax {
		old := r.lru.Back()
		r.lru.Remove(old)
		delete(r.cache, old.Value.(*answer).host)
	}
	return a, true
}

func (r *resolver) ask(ctx context.Context, a *answer) {
	defer close(a.done)
	// The lookup serves others too, so only its own clock ends it.
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.o.Timeout)
	defer cancel()
	r.slots <- struct{}{}
	addrs, err := r.o.LookUp(own, a.host)
	<-r.slots
	ttl := resolveTTL
	if err != nil {
		a.err, ttl = classify(err, FailDNSTimeout), resolveFailTTL
		if own.Err() != nil {
			a.err = &fault{FailDNSTimeout, err}
		}
	}
	for _, addr := range addrs[:min(len(addrs), maxAddresses)] {
		a.addrs = append(a.addrs, addr.Unmap())
	}
	r.mu.Lock()
	a.expires = r.o.Now().Add(ttl)
	r.mu.Unlock()
}
