// SPDX-License-Identifier: Apache-2.0

package visit

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
