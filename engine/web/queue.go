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
// take, and who has to is refused. The rule is that of CoDel (Nichols and Jacobson, "Controlling Queue Delay", ACM
// Queue 2012) as servers use it (Maurer, "Fail at Scale", ACM Queue 2015).
type queue struct {
	slots chan struct{} // Go serves those that wait for a channel in their order

	mu      sync.Mutex
	waiting int
	since   time.Time     // there is more than can be answered, or it seems so; meaningless if nobody waits
	refused time.Time     // the last one
	mean    time.Duration // that a search takes, of the last ones
}

// newQueue makes a queue that lets two searches run for each processor: one of them may wait for the disk.
func newQueue() *queue { return &queue{slots: make(chan struct{}, 2*runtime.GOMAXPROCS(0))} }

// enter waits for a slot. It is refused when it has to wait for too long, unless patient says to wait until ctx ends.
func (q *queue) enter(ctx context.Context, patient bool) (leave func(), ok bool) {
	select {
	case q.slots <- struct{}{}:
		return q.leaver(), true
	default:
	}
	patience := q.join(time.Now())
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

// join counts one that waits, and returns how long it may. A queue that is empty since some were refused is none that
// was worked off.
func (q *queue) join(now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting++; q.waiting == 1 && now.Sub(q.refused) >= calmTime {
		q.since = now
	}
	if now.Sub(q.since) < standingTime {
		return slotTime
	}
	return min(max(standingWait, standingSearches*q.mean), slotTime)
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
