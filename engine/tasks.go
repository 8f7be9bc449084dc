// SPDX-License-Identifier: Apache-2.0

package engine

import "sync"

// tasks are what the first lane does between segments: it injects URLs that were enqueued, and brings in links that
// were withheld. Any goroutine adds, the lane takes. It holds at most enqueuedMax URLs.
type tasks struct {
	ready chan struct{} // receives when something waits

	mu      sync.Mutex
	urls    []string // enqueued and not injected yet
	widened bool     // live filters changed: withheld links may be admitted now
	taken   bool     // what was taken last is under way
	closed  bool     // nothing is added any more
}

func newTasks() *tasks { return &tasks{ready: make(chan struct{}, 1)} }

// enqueue adds all of the URLs, or none: the error is ErrNotCrawling once the list is closed, ErrQueueFull without
// room.
func (t *tasks) enqueue(urls []string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return ErrNotCrawling
	case len(urls) > enqueuedMax-len(t.urls):
		return ErrQueueFull
	}
	t.urls = append(t.urls, urls...)
	t.signal()
	return nil
}

// readmit adds the task of bringing in withheld links.
func (t *tasks) readmit() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.widened = true
	t.signal()
}

func (t *tasks) signal() {
	select {
	case t.ready <- struct{}{}:
	default: // a signal waits already: who receives it takes everything
	}
}

// take returns everything that waits. The caller calls done when it has finished.
func (t *tasks) take() (urls []string, widened bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	urls, widened = t.urls, t.widened
	t.urls, t.widened, t.taken = nil, false, true
	return urls, widened
}

// putBack makes URLs wait again that were taken and not injected.
func (t *tasks) putBack(urls []string) {
	t.mu.Lock()
	t.urls = append(urls, t.urls...)
	t.mu.Unlock()
}

func (t *tasks) done() {
	t.mu.Lock()
	t.taken = false
	t.mu.Unlock()
}

// pending reports whether something waits or is under way.
func (t *tasks) pending() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.urls) > 0 || t.widened || t.taken
}

// close makes enqueue refuse, and returns the number of URLs that still wait. What waits can still be taken.
func (t *tasks) close() (urls int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return len(t.urls)
}
