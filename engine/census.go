// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// census counts what is stored. A count reads a row for each host and each segment, and looks at each WARC file, so it
// is made on a goroutine of its own, when somebody asks and the last one is old enough: it takes at most one part in
// censusShare of one processor.
type census struct {
	last atomic.Pointer[StoreStatus] // without what is read now; nil: nothing was counted yet

	mu    sync.Mutex
	under chan struct{} // closed when the count that is under way ends; nil: none is
	next  time.Time     // no count begins before
}

// latest returns the last count, and begins another if that is due. It waits for one at most censusWait. The count is a
// call that enter admits.
func (c *census) latest(w *work, enter func() (leave func(), err error)) (StoreStatus, error) {
	c.mu.Lock()
	if c.under == nil && !w.now().Before(c.next) {
		leave, err := enter()
		if err != nil {
			c.mu.Unlock()
			return StoreStatus{}, err
		}
		c.under = make(chan struct{})
		go func() {
			defer leave()
			c.count(w)
		}()
	}
	under := c.under
	c.mu.Unlock()
	if under != nil {
		enough := time.NewTimer(censusWait)
		defer enough.Stop()
		select {
		case <-under:
		case <-enough.C:
		}
	}
	if last := c.last.Load(); last != nil {
		return *last, nil
	}
	return StoreStatus{}, nil
}

// count counts. What cannot be read is reported as a warning, and the last count stays.
func (c *census) count(w *work) {
	start := time.Now() // the work takes real time, whatever the engine's clock says
	s, err := w.countStored()
	if err != nil {
		w.warn(fmt.Errorf("counting what is stored: %w", err))
	} else {
		c.last.Store(&s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = w.now().Add(max(censusEvery, censusShare*time.Since(start)))
	close(c.under)
	c.under = nil
}

// countStored counts hosts, URLs, segments, ranges and WARC files.
func (w *work) countStored() (s StoreStatus, err error) {
	s = StoreStatus{AsOf: w.now().UTC(), URLs: map[storage.Status]uint64{}, Segments: map[storage.SegmentState]int{}}
	snap := w.store.Snapshot()
	defer snap.Close()
	sc := snap.Scan(storage.HostCountsRange(), nil, nil)
	defer sc.Close()
	var counts storage.HostCounts
	for sc.Next() {
		if err := storage.DecodeHostCounts(sc.Value(), &counts); err != nil {
			return s, fmt.Errorf("hostdb counts of %s: %w", sc.Key(), err)
		}
		s.Hosts++
		for status, n := range counts.ByStatus {
			if n > 0 {
				s.URLs[storage.Status(status)] += uint64(n)
			}
		}
	}
	if err := sc.Err(); err != nil {
		return s, err
	}
	list, err := w.store.SegmentList()
	if err != nil {
		return s, err
	}
	for _, seg := range list {
		s.Segments[seg.State]++
	}
	m, err := w.store.Metrics()
	if err != nil {
		return s, err
	}
	for _, r := range m.Ranges {
		s.Ranges = append(s.Ranges, RangeBytes(r))
	}
	return s, w.countWARC(&s)
}

// countWARC adds up the WARC files.
func (w *work) countWARC(s *StoreStatus) error {
	names, err := w.warcFS.List(w.warcDir())
	if err != nil {
		return err
	}
	for _, name := range names {
		size, err := w.warcFS.Size(filepath.Join(w.warcDir(), name))
		if err != nil {
			continue // removed meanwhile, by Purge
		}
		s.WARCFiles++
		s.WARCBytes += uint64(size)
	}
	return nil
}
