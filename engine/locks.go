// SPDX-License-Identifier: Apache-2.0

package engine

import "sync"

// crawldbLock has two locks. Lock and Unlock are for both: one phase at a time changes crawldb, and has the memory of
// updatedb (memory.go). Dedup has other memory, and holds only crawldb. Invertlinks, which changes nothing that others
// read, holds only memory, so that neither waits for the other: they are in two lanes of a crawl. A parse of a sealed
// segment holds crawldb when it replaces what updatedb may be reading.
type crawldbLock struct{ memory, crawldb sync.Mutex }

// Lock takes both locks, memory first.
func (l *crawldbLock) Lock() {
	l.memory.Lock()
	l.crawldb.Lock()
}

// Unlock releases both.
func (l *crawldbLock) Unlock() {
	l.crawldb.Unlock()
	l.memory.Unlock()
}

// lockAll takes locks when all are free. It waits for none while it has another: beside a crawl, an index filter that
// takes long would hold up updatedb, and that the fetchers.
func lockAll(locks ...*sync.Mutex) {
	for first := 0; ; {
		locks[first].Lock()
		busy := 0
		for busy < len(locks) && (busy == first || locks[busy].TryLock()) {
			busy++
		}
		if busy == len(locks) {
			return
		}
		for i := range busy {
			if i != first {
				locks[i].Unlock()
			}
		}
		locks[first].Unlock()
		first = busy
	}
}

// LockWith takes both locks and that of the index. The function that it returns releases the three.
func (l *crawldbLock) LockWith(index *sync.Mutex) (unlock func()) {
	lockAll(&l.memory, &l.crawldb, index)
	return func() {
		index.Unlock()
		l.Unlock()
	}
}
