// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// Deletion is a set of URLs that are deleted while a run may have some of them: in windows of the frontier, in visits
// and in requests.
type Deletion struct {
	has  func(key []byte) bool
	done atomic.Bool // they are deleted: crawldb says which of them exist again
}

// deletions are those of one run. The zero value has none.
type deletions struct {
	mu   sync.Mutex                  // held to replace list
	list atomic.Pointer[[]*Deletion] // replaced, never changed; nil: none
}

func (ds *deletions) add(d *Deletion) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	var list []*Deletion
	if old := ds.list.Load(); old != nil {
		list = append(list, *old...)
	}
	if len(list) >= deletionsMax { // from now on crawldb is asked about every URL
		all := &Deletion{has: func([]byte) bool { return true }}
		all.done.Store(true)
		list = []*Deletion{all}
	}
	list = append(list, d)
	ds.list.Store(&list)
}

// Deleting begins a deletion: fetchers begin no visits, URLs of which has says so are not requested any more, and
// requests for them that are under way are cut off. has is called from many goroutines. EndDeleting comes next.
func (p *Pool) Deleting(has func(key []byte) bool) *Deletion {
	d := &Deletion{has: has}
	p.Hold(HeldByDelete)
	p.source.deletions.add(d)
	p.crew.each(func(t *flight) { t.cutDeleted(d) })
	return d
}

// Requested reports whether a request for a URL of a deletion is under way, or its response is being stored.
func (p *Pool) Requested(d *Deletion) (some bool) {
	p.crew.each(func(t *flight) { some = some || t.isOf(d) })
	return some
}

// EndDeleting ends a deletion: its URLs are deleted, or it failed. Fetchers go on. Those of its URLs that were handed
// out before are requested only if crawldb has them.
func (p *Pool) EndDeleting(d *Deletion) {
	d.done.Store(true)
	p.Let(HeldByDelete)
}

// deleted reports whether a URL that was handed out must not be requested, because it is being deleted, or was deleted
// and has not been found again. Without a deletion in this run it costs one load.
func (s *Source) deleted(key urlkey.Key) (bool, error) {
	list := s.deletions.list.Load()
	if list == nil {
		return false, nil
	}
	for _, d := range *list {
		if !d.has([]byte(key)) {
			continue
		}
		if !d.done.Load() {
			return true, nil
		}
		var r storage.Record
		known, err := s.h.env.Store.Record(key, &r)
		if err != nil {
			return false, fmt.Errorf("looking whether %q was deleted: %w", key, err)
		}
		if !known {
			return true, nil
		}
	}
	return false, nil
}

// cutDeleted cuts off the request if it is for a URL of a deletion.
func (t *flight) cutDeleted(d *Deletion) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.url.IsZero() && d.has([]byte(t.url.Key())) {
		t.cancel()
	}
}

// isOf reports whether the request, or what is stored of it, is for a URL of a deletion.
func (t *flight) isOf(d *Deletion) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.asked.IsZero() && d.has([]byte(t.asked.Key()))
}

// over notes that the URL of the request has its outcome in the segment, or has none.
func (t *flight) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = urlkey.URL{}
}
