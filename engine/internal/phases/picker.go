// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"cmp"
	"math"
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

// boundMost is the highest bound of what is chosen. More are never due, and twice as many, and some, can be counted.
const boundMost = math.MaxInt / 4

// addDaysMost bounds GenerateOptions.AddDays: nothing is due later, and the sum of both is a time.
const addDaysMost = 1 << 20

// ofAll is what a bound of one fetchlist leaves of all of them.
func (o *GenerateOptions) ofAll(bound int) int {
	if bound > boundMost/o.Lists {
		return boundMost
	}
	return bound * o.Lists
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
	HeldBudget   = "budget" // new ones: those that a budget still allows are chosen; see also Generated.Unread
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
	// pages is how many URLs that were never requested a budget allows; math.MaxInt: any number. fresh is how many of
	// them there are in the list.
	pages, fresh int
	list         []chosen
	full         bool   // the first limit of the list are sorted; what comes after the last of them is not wanted
	reason       string // of the limit
	held         func(reason string, n int)
	// dealt, if not nil, says how the list is dealt, by bounds of each fetchlist: what no fetchlist has room for is
	// dropped, and makes room here for others.
	dealt *GenerateOptions
}

// least is a score below which nothing is wanted any more; 0: all is.
func (p *picker) least() float64 {
	if !p.full {
		return 0
	}
	return p.list[p.limit-1].Score
}

// over reports whether it was given more than it keeps.
func (p *picker) over() bool { return p.full || p.limit > 0 && len(p.list) > p.limit }

// add gives it one.
func (p *picker) add(c chosen) {
	if p.full && inTurn(&c, &p.list[p.limit-1]) > 0 {
		p.held(p.reason, 1)
		return
	}
	p.list = append(p.list, c)
	if !c.Counted {
		p.fresh++
	}
	if p.limit > 0 && len(p.list) >= 2*p.limit || p.fresh/2 > p.pages && p.fresh >= len(p.list)/2 {
		p.cut()
	}
}

// cut sorts and drops what is beyond the limits. (What is dropped for its address or a budget would be in the end, too:
// all that comes later only adds to those before it.)
func (p *picker) cut() {
	slices.SortFunc(p.list, func(a, b chosen) int { return inTurn(&a, &b) })
	defer p.countFresh()
	if p.fresh > p.pages {
		all, fresh := len(p.list), 0
		p.list = slices.DeleteFunc(p.list, func(c chosen) bool {
			if !c.Counted {
				fresh++
			}
			return !c.Counted && fresh > p.pages
		})
		p.held(HeldBudget, all-len(p.list))
	}
	if p.perAddress > 0 && p.dealt == nil {
		count, all := map[string]int{}, len(p.list)
		p.list = slices.DeleteFunc(p.list, func(c chosen) bool {
			count[c.address]++
			return count[c.address] > p.perAddress
		})
		p.held(HeldAddress, all-len(p.list))
	}
	if p.dealt != nil && p.limit > 0 && len(p.list) >= p.limit {
		p.list = slices.Concat(p.deal(*p.dealt, p.held)...)
		slices.SortFunc(p.list, func(a, b chosen) int { return inTurn(&a, &b) })
	}
	if p.limit > 0 && len(p.list) >= p.limit {
		p.held(p.reason, len(p.list)-p.limit)
		clear(p.list[p.limit:])
		p.list, p.full = p.list[:p.limit], true
	}
}

func (p *picker) countFresh() {
	p.fresh = 0
	for i := range p.list {
		if !p.list[i].Counted {
			p.fresh++
		}
	}
}

// deal shares out what was picked, best first, among fetchlists: each URL goes to the first one that has room for it,
// and for its host, domain and address. There are no more fetchlists than that takes.
//
// What finds no room among some URLs finds none among more of them: each that comes in pushes out one at most, from one
// fetchlist to a later one, and hosts, domains and all are bounds within each other, or hosts, addresses and all. Only
// with bounds of both domains and addresses may one that comes in by its address make room in another's domain.
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
	// Where there is no room for a URL, there is none for later ones of its host: next is the first fetchlist that may
	// have some, and why what keeps them out of one that is not full.
	type room struct {
		next int
		why  string
	}
	rooms := map[urlkey.HostKey]room{}
	var lists [][]chosen
	for _, c := range p.list {
		host := c.Key.HostKey()
		groups := [...]struct {
			kind byte
			name string
			most int
			why  string
		}{
			{'h', string(host), o.MaxPerHost, HeldHost},
			{'d', domainOf(host, o.MaxPerDomain), o.MaxPerDomain, HeldDomain},
			{'a', c.address, o.MaxPerAddress, HeldAddress},
		}
		placed, at := false, rooms[host]
		for i := at.next; i < o.Lists && !placed; i++ {
			if i == len(lists) {
				lists = append(lists, nil)
			}
			placed = len(lists[i]) < o.Top
			for _, g := range groups {
				if placed && g.most > 0 && counts[group{i, g.kind, g.name}] >= g.most {
					placed, at.why = false, g.why
				}
			}
			if at.next = i; placed {
				lists[i] = append(lists[i], c)
				for _, g := range groups {
					if g.most > 0 {
						counts[group{i, g.kind, g.name}]++
					}
				}
			}
		}
		if !placed {
			at.next = o.Lists
			held(cmp.Or(at.why, HeldTop), 1)
		}
		rooms[host] = at
	}
	return lists
}

// domainOf is a host's domain if there is a bound of domains.
func domainOf(h urlkey.HostKey, most int) string {
	if most == 0 {
		return ""
	}
	return h.DomainKey()
}
