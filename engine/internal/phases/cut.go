// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Part returns part number of parts, from 1 on. They have about equal numbers of records, and together every key once.
// A cut is between registered domains, or between hosts where a domain has more records than a part. The same hostdb
// has the same parts. Where hosts are few, parts may be empty.
func (p *Phases) Part(ctx context.Context, number, parts int) (part urlkey.Part, err error) {
	all := uint64(0)
	err = p.eachHost(ctx, func(_ []byte, records uint64) { all += records })
	if err == nil && all == 0 {
		err = errors.New("crawldb has no records")
	}
	if err != nil {
		return part, err
	}
	c := cutting{all: all, parts: uint64(parts), cuts: make([]string, 0, parts)}
	if err := p.eachHost(ctx, c.host); err != nil {
		return part, err
	}
	c.finish()
	if number > 1 {
		part.From = c.cuts[number-2]
	}
	if number < parts {
		part.Until = c.cuts[number-1]
	}
	return part, nil
}

// DomainPart returns the part that has a registered domain, given by its name, and all hosts below it.
func DomainPart(name string) (part urlkey.Part, err error) {
	h, err := urlkey.ParseHost(name)
	if err != nil {
		return part, err
	}
	if h.Domain() != h.Host() {
		return part, &urlkey.Error{URL: name, Reason: "not a registered domain, which is " + h.Domain()}
	}
	domain := h.DomainKey()
	return urlkey.Part{From: domain, Until: string(PrefixEnd([]byte(domain)))}, nil
}

// HasRecords reports whether crawldb has a record of a part.
func (p *Phases) HasRecords(part urlkey.Part) (bool, error) {
	from, until := part.Bounds()
	sc := p.env.Store.Scan(storage.Crawldb(), from, until)
	some := sc.Next()
	return some, sc.Close()
}

// eachHost calls fn with the number of records of each host, in the order of keys.
func (p *Phases) eachHost(ctx context.Context, fn func(host []byte, records uint64)) error {
	sc := p.env.Store.Scan(storage.HostCountsRange(), nil, nil)
	defer sc.Close()
	var c storage.HostCounts
	for n := 0; sc.Next(); n++ {
		if n%ctxCheckKeys == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := storage.DecodeHostCounts(sc.Value(), &c); err != nil {
			return fmt.Errorf("hostdb counts of %s: %w", sc.Key(), err)
		}
		records := uint64(0)
		for _, count := range c.ByStatus {
			records += uint64(count)
		}
		fn(sc.Key(), records)
	}
	return sc.Err()
}

// cutting finds the keys at which parts begin, but the first. A group is what no cut should go through: the hosts of a
// domain, with those of the domains of public suffixes between them.
type cutting struct {
	all, parts uint64
	cuts       []string

	domains urlkey.DomainMemo
	domain  string   // that the group's hosts are below
	group   cutPlace // where the group begins
	inner   []cutPlace
	waits   int      // cuts that are where the next group begins
	now     uint64   // records before the current host
	last    cutPlace // of the group's hosts
	lastKey string   // of hosts
}

// cutPlace is one at which the keys can be cut.
type cutPlace struct {
	before uint64 // records
	key    string
}

// want is the number of records before the cut that comes next after a number of cuts.
func (c *cutting) want(after int) uint64 { return uint64(after+1) * c.all / c.parts }

// nearer returns that of two places which is nearer to a number of records.
func nearer(want uint64, a, b cutPlace) cutPlace {
	if want-a.before <= b.before-want {
		return a
	}
	return b
}

// found is the number of cuts that have their place, or have one within the group.
func (c *cutting) found() int { return len(c.cuts) + c.waits + len(c.inner) }

func (c *cutting) host(host []byte, records uint64) {
	if c.domain == "" || !strings.HasPrefix(string(host), c.domain) {
		c.endGroup()
		c.domain = c.domains.DomainKey(host)
		c.group = cutPlace{c.now, c.domain}
		if c.domain <= c.lastKey { // hosts of the domain may be before another group
			c.group.key = string(host)
		}
		for ; c.waits > 0; c.waits-- {
			c.cuts = append(c.cuts, c.group.key)
		}
		c.last = c.group
	} else {
		c.reach(cutPlace{c.now, string(host)})
	}
	c.lastKey = string(host)
	c.now += records
}

// reach notes the cuts within the group that belong between the last host's place and another one.
func (c *cutting) reach(next cutPlace) {
	for n := c.found(); n+1 < int(c.parts) && c.want(n) < next.before; n = c.found() {
		c.inner = append(c.inner, nearer(c.want(n), c.last, next))
	}
	c.last = next
}

// endGroup gives the cuts that fall into the group their places: at its ends, or within it if it is larger than a part.
func (c *cutting) endGroup() {
	behind := cutPlace{before: c.now}
	c.reach(behind)
	large := (c.now-c.group.before)*c.parts > c.all
	for _, at := range c.inner {
		if !large {
			at = nearer(c.want(len(c.cuts)+c.waits), c.group, behind)
		}
		if at == behind {
			c.waits++
			continue
		}
		c.cuts = append(c.cuts, at.key)
	}
	c.inner = c.inner[:0]
}

// finish gives the last cuts their places: behind all that is known.
func (c *cutting) finish() {
	c.endGroup()
	for len(c.cuts)+1 < int(c.parts) {
		c.cuts = append(c.cuts, string(PrefixEnd([]byte(c.domain))))
	}
}
