// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// queue lets a few searches run at once, and the others wait in the order in which they came. Searches take processor
// time: if all that arrive ran at once, each would take as long as all of them do, and the quick ones most of all.
//
// A burst is waited out. But where more arrives than can be answered, a queue only grows, and with it the time that
// everybody waits; so when there was always one waiting for standingTime, nobody waits for longer than a few searches
// take. The rule is that of CoDel (Nichols and Jacobson, "Controlling Queue Delay", ACM Queue 2012) as servers use it
// (Maurer, "Fail at Scale", ACM Queue 2015).
//
// Whoever would wait for longer, to judge by those ahead and by what searches took, is refused at once. To let them
// wait until their time is over serves nobody: clients have few connections (browsers six to a host, proxies a pool),
// and on each that waits in vain others queue where this queue cannot see them. Those few who were let in and wait for
// longer than expected are refused when their time is over.
type queue struct {
	slots chan struct{} // Go serves those that wait for a channel in their order

	mu      sync.Mutex
	waiting int
	since   time.Time     // there has always been one that waits; meaningless if nobody does
	refused time.Time     // the last one
	mean    time.Duration // that a search takes, of the last ones
}

// newQueue makes a queue that lets three searches run for every two processors: some of them may wait for the disk.
// With more, a machine under load had no processor left for answers that are kept and for refusals, which then waited
// behind searches; with fewer it answered no more.
func newQueue() *queue {
	n := runtime.GOMAXPROCS(0)
	return &queue{slots: make(chan struct{}, n+(n+1)/2)}
}

// enter waits for a slot. It is refused where it would have to wait for too long, unless patient says to wait until ctx
// ends.
func (q *queue) enter(ctx context.Context, patient bool) (leave func(), ok bool) {
	select {
	case q.slots <- struct{}{}:
		return q.leaver(), true
	default:
	}
	patience, ok := q.join(time.Now(), patient)
	if !ok {
		return nil, false
	}
	defer q.part()
	var over <-chan time.Time
	if !patient {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case q.slots <- struct{}{}:
		return q.leaver(), true
	case <-over:
		q.refuse(time.Now())
	case <-ctx.Done():
	}
	return nil, false
}

// join counts one that waits, and returns how long it may; or refuses it, since it would wait for longer. A queue that
// is empty since some were refused is none that was worked off.
func (q *queue) join(now time.Time, patient bool) (patience time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == 0 && now.Sub(q.refused) >= calmTime {
		q.since = now
	}
	standing := now.Sub(q.since) >= standingTime
	most := standingTime
	if standing {
		most = standingWait
	}
	most = min(max(most, standingSearches*q.mean), slotTime)
	if ahead := time.Duration(q.waiting) * q.mean / time.Duration(cap(q.slots)); ahead > most && !patient {
		q.refused = now
		return 0, false
	}
	if patience = most; !standing {
		patience = slotTime // a few slow searches may be ahead, which the mean does not show
	}
	q.waiting++
	return patience, true
}

func (q *queue) part() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting--
}

func (q *queue) refuse(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refused = now
}

// leaver gives a slot back, and notes how long it was taken.
func (q *queue) leaver() func() {
	began := time.Now()
	return func() {
		<-q.slots
		q.note(time.Since(began))
	}
}

// note adds to the mean, in which each search counts a sixteenth of those before it.
func (q *queue) note(took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mean += (took - q.mean) / 16
}
