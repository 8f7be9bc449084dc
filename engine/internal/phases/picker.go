// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"cmp"
	"slices"
	"time"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// GenerateOptions bound fetchlists. Zero means no bound.
type GenerateOptions struct {
	Top          int // URLs of a fetchlist; 0 means defaultTop, a million
	MaxPerHost   int // URLs of one host in a fetchlist
	MaxPerDomain int // of one registered domain
	// MaxPerAddress is that of one IP address, as it was when the host was last visited; other hosts count by
	// themselves.
	MaxPerAddress int
	Lists         int            // fetchlists to make, one segment each; 0 means one
	AddDays       int            // choose what will be due that many days from now
	IgnoreMarked  bool           // also take URLs that wait in an earlier fetchlist
	MinScore      float64        // leave out lower scores
	MaxInterval   time.Duration  // leave out URLs with a longer time between two fetches (Nutch: generate.min.interval)
	Status        storage.Status // only URLs of this status; 0: of any
	DryRun        bool           // count and write nothing
}

// Reasons of Generated.Held, beside those of admission.
const (
	HeldTop      = "top"
	HeldHost     = "max_per_host"
	HeldDomain   = "max_per_domain"
	HeldAddress  = "max_per_address"
	HeldScore    = "min_score"
	HeldInterval = "interval"
	HeldStatus   = "status"
	HeldMarked   = "in_fetchlist"
	HeldBudget   = "budget" // URLs of hosts that have used up theirs are not read: this counts hosts
)

// chosen is a URL that may come into a fetchlist.
type chosen struct {
	Choice
	turn    uint32 // how many URLs of its host with the same score come before it
	address string // where its host is; "": nobody asks
}

// inTurn is the order of URLs of several hosts: that of Choice.better, but of equal scores the first URLs of hosts
// come before their second ones.
func inTurn(a, b *chosen) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.turn, b.turn), cmp.Compare(a.Depth, b.Depth),
		cmp.Compare(a.Key, b.Key))
}

// picker keeps the first of what it is given, in the order of inTurn, up to a limit in all and per address. It holds
// twice as many before it sorts and drops the rest, so that a URL costs a few comparisons whatever the limit. One
// goroutine.
type picker struct {
	limit, perAddress int // 0: none
	list              []chosen
	full              bool   // the first limit of the list are sorted; what comes after the last of them is not wanted
	reason            string // of the limit
	held              func(reason string, n int)
}

// add gives it one.
func (p *picker) add(c chosen) {
	if p.full && inTurn(&c, &p.list[p.limit-1]) > 0 {
		p.held(p.reason, 1)
		return
	}
	if p.list = append(p.list, c); p.limit > 0 && len(p.list) >= 2*p.limit {
		p.cut()
	}
}

// cut sorts and drops what is beyond the limits. (What is dropped for its address would be in the end, too: all that
// comes later only adds to those before it.)
func (p *picker) cut() {
	slices.SortFunc(p.list, func(a, b chosen) int { return inTurn(&a, &b) })
	if p.perAddress > 0 {
		count, all := map[string]int{}, len(p.list)
		p.list = slices.DeleteFunc(p.list, func(c chosen) bool {
			count[c.address]++
			return count[c.address] > p.perAddress
		})
		p.held(HeldAddress, all-len(p.list))
	}
	if p.limit > 0 && len(p.list) >= p.limit {
		p.held(p.reason, len(p.list)-p.limit)
		clear(p.list[p.limit:])
		p.list, p.full = p.list[:p.limit], true
	}
}

// deal shares out what was picked, best first, among fetchlists: each URL goes to the first one that has room for it,
// and for its host, domain and address. Empty fetchlists at the end are left out.
func (p *picker) deal(o GenerateOptions, held func(reason string, n int)) [][]chosen {
	if o.Lists == 1 {
		return [][]chosen{p.list}
	}
	type group struct {
		list int
		kind byte
		name string
	}
	counts := map[group]int{}
	lists := make([][]chosen, o.Lists)
	for _, c := range p.list {
		host := c.Key.HostKey()
		groups := [...]struct {
			kind byte
			name string
			most int
		}{
			{'h', string(host), o.MaxPerHost},
			{'d', domainOf(host, o.MaxPerDomain), o.MaxPerDomain},
			{'a', c.address, o.MaxPerAddress},
		}
		placed := false
		for i := 0; i < len(lists) && !placed; i++ {
			placed = len(lists[i]) < o.Top
			for _, g := range groups {
				placed = placed && (g.most == 0 || counts[group{i, g.kind, g.name}] < g.most)
			}
			if placed {
				lists[i] = append(lists[i], c)
				for _, g := range groups {
					if g.most > 0 {
						counts[group{i, g.kind, g.name}]++
					}
				}
			}
		}
		if !placed {
			held(HeldTop, 1)
		}
	}
	return slices.DeleteFunc(lists, func(l []chosen) bool { return len(l) == 0 })
}

// domainOf is a host's domain if there is a bound of domains.
func domainOf(h urlkey.HostKey, most int) string {
	if most == 0 {
		return ""
	}
	return h.DomainKey()
}
