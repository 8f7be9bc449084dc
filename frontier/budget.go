// SPDX-License-Identifier: Apache-2.0

package frontier

import "sync/atomic"

// domain is a registered domain with hosts in memory. Its hosts may be on different shards, so its
// numbers are atomic; refs belongs to the domain's stripe.
type domain struct {
	name   string
	refs   int
	flying atomic.Int32 // visits made up and not given back
	used   atomic.Int64 // URLs handed out, those of earlier processes included
	limit  atomic.Int64 // 0: none
	known  atomic.Bool  // used holds what the source knew
}

// learn takes what the source knows of the domain's budget. What was used is believed once: from then
// on the frontier counts itself, ahead of what crawldb has seen.
func (d *domain) learn(used, limit int64) {
	d.limit.Store(limit)
	if !d.known.Swap(true) {
		d.used.Add(used)
	}
}

// enter starts a visit, unless the domain has as many as it may have; most 0 means no bound.
func (d *domain) enter(most int) bool {
	if n := d.flying.Add(1); most > 0 && int(n) > most {
		d.flying.Add(-1)
		return false
	}
	return true
}

// spend takes up to n URLs off the budget and returns how many there were.
func (d *domain) spend(n int) int {
	limit := d.limit.Load()
	if limit == 0 {
		d.used.Add(int64(n))
		return n
	}
	for {
		used := d.used.Load()
		got := min(int64(n), limit-used)
		if got <= 0 {
			return 0
		}
		if d.used.CompareAndSwap(used, used+got) {
			return int(got)
		}
	}
}

// affords is how many of n URLs the host's own budget and its domain's allow now; they are spent.
func (v *visitState) spend(n int) int {
	if v.limit > 0 {
		n = int(min(int64(n), v.limit-v.used))
	}
	if n <= 0 {
		return 0
	}
	n = v.domain.spend(n)
	v.used += int64(n)
	return n
}

// refund gives back what was spent on URLs that were not asked for.
func (v *visitState) refund(n int) {
	v.used -= int64(n)
	v.domain.used.Add(-int64(n))
}
