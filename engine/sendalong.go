// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"sync"
	"time"
)

// sends brings index writers up to date beside a crawl, on a goroutine of its own. What the other engine does, or does
// not, never holds up the fetchers: segments that find no room, or whose sending fails, are left to the end of the
// crawl, which compares the whole index.
type sends struct {
	segments chan []uint32 // indexed, not looked at yet; nil: there is no writer, or the goroutine has ended
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	reports []SendReport // of the crawl, by writer
	writer  string       // that gets the rest at the end of the crawl now
	since   time.Time    // when that began
}

const (
	// sendBacklog is the number of indexed batches of segments that wait to be sent; more are left to the end.
	sendBacklog = 256
	// sendRest is how long nothing is sent after a failure: Write has tried for some minutes by then.
	sendRest = time.Minute
)

func (s *sends) start(w *work, abort context.Context) {
	if len(w.o.IndexWriters) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(abort)
	s.cancel = cancel
	segments := make(chan []uint32, sendBacklog)
	s.mu.Lock()
	s.segments = segments
	s.mu.Unlock()
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		var failed time.Time
		for list := range segments {
			if ctx.Err() != nil || !failed.IsZero() && w.now().Sub(failed) < sendRest {
				continue
			}
			reports, err := w.sendAll(ctx, list, sendOptions{})
			s.note(reports)
			if err != nil && ctx.Err() == nil {
				failed = w.now()
				w.warn(err)
			}
		}
	}()
}

// offer hands over segments that are indexed now.
func (s *sends) offer(segments []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.segments <- segments: // blocks for ever, and so is not chosen, if nil
	default:
	}
}

// end stops the goroutine: the rest is for sendLast.
func (s *sends) end() {
	s.mu.Lock()
	segments := s.segments
	s.segments = nil
	s.mu.Unlock()
	if segments != nil {
		s.cancel()
		close(segments)
		s.running.Wait()
	}
}

// note adds reports of a run to those of the crawl. Of failures the last run's counts.
func (s *sends) note(reports []SendReport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range reports {
		i := slices.IndexFunc(s.reports, func(old SendReport) bool { return old.Writer == r.Writer })
		if i < 0 {
			s.reports = append(s.reports, r)
			continue
		}
		sum := &s.reports[i]
		sum.Sent, sum.Deleted, sum.Refused = sum.Sent+r.Sent, sum.Deleted+r.Deleted, sum.Refused+r.Refused
		sum.Took, sum.Failed = sum.Took+r.Took, r.Failed
	}
}

// begins notes which writer gets the rest of a crawl; "": none any more.
func (s *sends) begins(writer string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writer, s.since = writer, at
}

// waiting is what the end of a crawl waits for.
func (s *sends) waiting(now time.Time) sendingTo {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writer == "" {
		return sendingTo{}
	}
	return sendingTo{s.writer, now.Sub(s.since)}
}

func (s *sends) all() []SendReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reports)
}
