// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
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
	waiting [taskKinds]int
	since   time.Time                // there has always been one that waits; meaningless if nobody does
	refused time.Time                // the last one
	means   [taskKinds]time.Duration // that one takes, of the last ones
}

// taskKind is what a slot is taken for. Completions take a hundredth of what searches do, and far more come: in one
// mean they would hide how long searches take.
type taskKind uint8

const (
	aSearch     taskKind = iota
	aSuggestion          // of another query
	aCompletion
	taskKinds
)

// newQueue makes a queue that lets three searches run for every two of n processors: some of them may wait for the
// disk. With more, a machine under load had no processor left for answers that are kept and for refusals, which then
// waited behind searches; with fewer it answered no more.
func newQueue(n int) *queue {
	return &queue{slots: make(chan struct{}, n+(n+1)/2)}
}

// enter waits for a slot. It is refused where it would have to wait for too long, unless patient says to wait until ctx
// ends.
func (q *queue) enter(ctx context.Context, kind taskKind, patient bool) (leave func(), ok bool) {
	select {
	case q.slots <- struct{}{}:
		return q.leaver(kind), true
	default:
	}
	patience, ok := q.join(time.Now(), kind, patient)
	if !ok {
		return nil, false
	}
	defer q.part(kind)
	var over <-chan time.Time
	if !patient {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case q.slots <- struct{}{}:
		return q.leaver(kind), true
	case <-over:
		q.refuse(time.Now())
	case <-ctx.Done():
	}
	return nil, false
}

// join counts one that waits, and returns how long it may; or refuses it, since it would wait for longer. A queue that
// is empty since some were refused is none that was worked off.
func (q *queue) join(now time.Time, kind taskKind, patient bool) (patience time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, ahead := 0, time.Duration(0)
	for kind, n := range q.waiting {
		waiting += n
		ahead += time.Duration(n) * q.means[kind]
	}
	if waiting == 0 && now.Sub(q.refused) >= calmTime {
		q.since = now
	}
	standing := now.Sub(q.since) >= standingTime
	most := standingTime
	if standing {
		most = standingWait
	}
	most = min(max(most, standingSearches*q.means[aSearch]), slotTime)
	if ahead/time.Duration(cap(q.slots)) > most && !patient {
		q.refused = now
		return 0, false
	}
	if patience = most; !standing {
		patience = slotTime // a few slow searches may be ahead, which the means do not show
	}
	q.waiting[kind]++
	return patience, true
}

// part is for one that waits no more.
func (q *queue) part(kind taskKind) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting[kind]--
}

func (q *queue) refuse(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refused = now
}

// leaver gives a slot back, and notes how long it was taken.
func (q *queue) leaver(kind taskKind) func() {
	began := time.Now()
	return func() {
		<-q.slots
		q.note(kind, time.Since(began))
	}
}

// note adds to the mean of a kind, in which each counts a sixteenth of those before it.
func (q *queue) note(kind taskKind, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.means[kind] += (took - q.means[kind]) / 16
}
