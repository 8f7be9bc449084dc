// SPDX-License-Identifier: Apache-2.0

package engine

import "testing"

// sum adds up all shares as they may be in use at once. One slot is the least.
func (s shares) sum() int64 {
	phase := phaseSorters*s.sorter + s.keyTable
	return s.cache + memTables*s.memTable + s.bodies + int64(s.slots)*slotBytes + openSegments*s.segment + phase +
		max(phase, s.sorter+s.builder) + int64(s.hosts)*hostBytes + int64(s.urls)*urlBytes + s.facts +
		int64(s.names)*nameBytes + s.pages + s.searches + s.answers + s.merge + batchCopies*s.batch
}

// idleSum is the sum while nothing is crawled or fetched, when phases and searches may run.
func (s shares) idleSum() int64 {
	crawls := s.bodies + int64(s.slots)*slotBytes + openSegments*s.segment + int64(s.hosts)*hostBytes +
		int64(s.urls)*urlBytes + s.facts + int64(s.names)*nameBytes + s.pages + batchCopies*s.batch
	return s.sum() - crawls - s.cache - s.answers + s.idleCache + s.idleAnswers + s.held
}

// TestMemoryShares: all shares together leave a quarter of the memory to the garbage collector, and each is enough to
// work with.
func TestMemoryShares(t *testing.T) {
	for _, m := range []int64{memoryMin, 256 << 20, 1 << 30, 24 << 30} {
		o := Options{Memory: m, Processors: 2}
		s := o.shares()
		spare := m / 4
		if m == memoryMin { // one slot is more than its share
			spare = 0
		}
		if sum := s.sum(); sum > m-spare || sum < m/100*65 {
			t.Errorf("of %d bytes %d are handed out", m, sum)
		}
		if sum := s.idleSum(); sum > m-m/4 || s.idleCache < m/5 || s.held < m/6 || s.idleAnswers < 4*s.answers {
			t.Errorf("of %d bytes %d are handed out while nothing is crawled: %+v", m, sum, s)
		}
		if s.slots < 1 || s.sorter < 700<<10 || s.segment < 1<<20 || s.builder < 2<<20 || s.hosts < 1<<10 ||
			s.urls < 10<<10 || s.memTable > s.cache || s.bodies < 4<<20 || s.pages < 1<<20 || s.names < 1<<10 ||
			s.batch < 256<<10 || s.held < 3<<20 || s.searches < 3*s.builder/8 || s.searches > m/50+2<<20 {
			t.Errorf("of %d bytes: %+v", m, s)
		}
	}
}
