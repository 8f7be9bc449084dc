// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/seine-crawler/seine/storage"
)

// lastCrawl is the crawl that an Engine ran last.
type lastCrawl struct {
	endedCrawl
	progress Progress
}

// endedCrawl says how a crawl ended. It is a row of meta, as JSON: whoever opens the directory in the morning sees what
// happened at night. The row of a crawl that runs has no reason, so one that is found without is of a process that was
// killed.
type endedCrawl struct {
	Started time.Time  `json:"started"`
	Ended   time.Time  `json:"ended,omitzero"`
	Stopped StopReason `json:"stopped,omitempty"`
	Error   string     `json:"error,omitempty"` // that Crawl returned
}

// endedKey is the row's key.
const endedKey = "last-crawl"

// storeEnded writes the row. It is durable when storeEnded returns; an error is a warning, as nothing depends on it.
func (w *work) storeEnded(c *endedCrawl) {
	row, err := json.Marshal(c)
	if err == nil {
		err = w.store.Apply(func(b *storage.Batch) error { return b.Set(storage.Meta(), []byte(endedKey), row) })
	}
	if err != nil {
		w.warn(fmt.Errorf("storing how the crawl goes: %w", err))
	}
}

// loadEnded reads the row; nil if there is none, or one of another format: nothing depends on it.
func loadEnded(store storage.Reader) (*endedCrawl, error) {
	row, ok, err := store.Get(storage.Meta(), []byte(endedKey), nil)
	if err != nil || !ok {
		return nil, err
	}
	c := &endedCrawl{}
	if json.Unmarshal(row, c) != nil || c.Started.IsZero() {
		return nil, nil
	}
	if c.Stopped == "" {
		c.Stopped = StopKilled
	}
	return c, nil
}

// addLast adds the crawl that ended last.
func (s *Status) addLast(c *endedCrawl) {
	s.Started, s.Ended, s.Stopped, s.Error = c.Started.UTC(), c.Ended.UTC(), c.Stopped, c.Error
}

// newLast is what a crawl came to, with the error that it returned.
func newLast(started, ended time.Time, stopped StopReason, err error, final Progress) *lastCrawl {
	c := &lastCrawl{endedCrawl{Started: started, Ended: ended, Stopped: stopped}, final}
	if err != nil {
		c.Error = err.Error()
	}
	return c
}
