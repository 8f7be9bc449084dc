// SPDX-License-Identifier: Apache-2.0

package urlkey

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Domain returns the registered domain of the host by the public suffix list, without the port:
// "python.org" for docs.python.org. For an address, or a name that is itself a public suffix, it returns
// the host. h must come from this package; an empty HostKey panics.
func (h HostKey) Domain() string {
	host := h.Host()
	if host[len(host)-1] == ']' || endsInNumber(host) {
		return host
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return domain
}

// PublicSuffix returns the part of the host below which domains are registered, by the public suffix list: "co.uk" for
// www.bbc.co.uk. It is "" for an address. h must come from this package; an empty HostKey panics.
func (h HostKey) PublicSuffix() string {
	host := h.Host()
	if host[len(host)-1] == ']' || endsInNumber(host) {
		return ""
	}
	suffix, _ := publicsuffix.PublicSuffix(host)
	return suffix
}

// TLD returns the last label of the host: "uk". It is "" for an address. h must come from this package; an empty
// HostKey panics.
func (h HostKey) TLD() string {
	host := h.Host()
	if host[len(host)-1] == ']' || endsInNumber(host) {
		return ""
	}
	return host[strings.LastIndexByte(host, '.')+1:]
}

// DomainKey returns the common prefix of the keys of all hosts of the registered domain, "org,python,".
// For an address it returns the host key. Keys of other domains may have the same prefix: those of
// alice.github.io have that of github.io, which is a public suffix. So compare whole DomainKeys. h must come
// from this package; an empty HostKey panics.
func (h HostKey) DomainKey() string {
	domain := h.Domain()
	if domain[len(domain)-1] == ']' || endsInNumber(domain) {
		return string(h)
	}
	labels := strings.Count(domain, ".") + 1
	end := 0
	for range labels {
		end += strings.IndexByte(string(h[end:]), ',') + 1
	}
	return string(h[:end])
}

// SuffixList says which list of public suffixes this program has: domains of hosts may differ between two of them.
func SuffixList() string { return publicsuffix.List.String() }

// DomainMemo returns the domains of keys, and remembers those of some hosts: asking the list of public suffixes takes
// longer than all else. In the order of keys those of a host are neighbours, but the pages that link to a page come
// from the same hosts again and again. The zero value is ready. It takes some 50 KB and belongs to one goroutine at a
// time.
type DomainMemo struct {
	last  *hostDomain
	known []hostDomain // by the hash of the host: a host takes the place of another
	seed  maphash.Seed
}

// hostDomain is a host and its domain.
type hostDomain struct {
	host   []byte
	domain string
}

// memoHosts is the number of hosts that a DomainMemo remembers at most.
const memoHosts = 512

// DomainKey returns the HostKey.DomainKey of a key's host; "" for what is no key.
func (m *DomainMemo) DomainKey(key []byte) string {
	host := HostKeyOf(key)
	if len(host) == 0 {
		return ""
	}
	if m.last == nil {
		m.known, m.seed = make([]hostDomain, memoHosts), maphash.MakeSeed()
	} else if bytes.Equal(host, m.last.host) {
		return m.last.domain
	}
	m.last = &m.known[maphash.Bytes(m.seed, host)%memoHosts]
	if !bytes.Equal(host, m.last.host) {
		m.last.host, m.last.domain = append(m.last.host[:0], host...), HostKey(host).DomainKey()
	}
	return m.last.domain
}

// DomainWalk tells the registered domains of hosts that come in the order of their keys apart. Those of a domain are
// neighbours but for one case: a public suffix below a domain, as s3.amazonaws.com is below amazonaws.com, whose own
// domains stand between the hosts of that domain. So the walk remembers the domains around the current host, a few at
// most. The zero value is ready. It belongs to one goroutine at a time.
type DomainWalk struct {
	around []walkedDomain // each is a prefix of the next
	count  int
}

// walkedDomain is a domain that a DomainWalk is within.
type walkedDomain struct {
	key    string
	number int
}

// Next returns the number of the host's domain, from 0 in the order in which domains were met, and whether the host is
// the first of it. h must not be less than the host before.
func (w *DomainWalk) Next(h HostKey) (number int, first bool) {
	key := h.DomainKey()
	for len(w.around) > 0 && !strings.HasPrefix(string(h), w.around[len(w.around)-1].key) {
		w.around = w.around[:len(w.around)-1]
	}
	for i := len(w.around) - 1; i >= 0; i-- {
		if w.around[i].key == key {
			return w.around[i].number, false
		}
	}
	w.around = append(w.around, walkedDomain{key, w.count})
	w.count++
	return w.count - 1, true
}

// Within reports whether more hosts of a domain may come, by the number that Next gave it.
func (w *DomainWalk) Within(number int) bool {
	return slices.ContainsFunc(w.around, func(d walkedDomain) bool { return d.number == number })
}

// Reset makes the walk begin anew.
func (w *DomainWalk) Reset() { w.around, w.count = w.around[:0], 0 }
