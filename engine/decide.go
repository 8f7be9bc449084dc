// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/frontier"
)

// state is what the conductor of a crawl decides by: one look at the fetchers, the frontier, the open segment and
// the lanes behind them.
type state struct {
	failed      bool // an error ends the run
	interrupted bool
	limit       visit.Limit

	// The open segment.
	pages uint64
	full  bool // by pages, bytes, memory or age

	// What is under way besides: visits taken from the frontier, segments on their way to updatedb, and work that
	// may bring more URLs (seeds that were enqueued, withheld links).
	busy, updating int64
	more           bool
	backlog        bool // as many sealed segments wait for updatedb as may
	paused         bool

	frontier frontier.Stats
	fetchers int
}

// action is what the conductor does next.
type action uint8

const (
	actWait action = iota // nothing: look again
	actSeal               // put a new segment in place of the open one
	actHold               // the same, once the backlog permits: until then fetchers begin no visits
	actEnd                // the crawl ends, for the reason that comes with it
)

// decide says what to do next. It is a pure function: q and t are what the looks before this one came to.
//
// The open segment is sealed when it is full; when the frontier is about to run dry, since more URLs are perhaps in
// the segment; and when hosts at work get few: a quarter of them have run out of URLs, and most fetchers have
// nothing to do. (To wait for all would leave fetchers idle while some hosts, slow ones most likely, still have
// something; while they are busy, larger segments are cheaper.) The crawl ends when there is nothing more to do.
func decide(s state, q quiet, t thin, patience time.Duration) (action, StopReason) {
	switch {
	case s.failed:
		return actEnd, StopFailed
	case s.interrupted:
		return actEnd, StopInterrupted
	case s.limit != visit.NoLimit:
		return actEnd, limitReasons[s.limit]
	}
	thinned := s.pages >= thinPages && t.since >= thinTime && s.updating == 0
	if s.full || thinned || s.pages > 0 && q.hungry() {
		if s.backlog {
			return actHold, ""
		}
		return actSeal, ""
	}
	if s.pages == 0 && !s.more && !s.paused && q.over(patience) {
		return actEnd, StopDone
	}
	return actWait, ""
}

// limitReasons names limits as reasons.
var limitReasons = map[visit.Limit]StopReason{
	visit.LimitPages: StopMaxPages, visit.LimitBytes: StopMaxBytes, visit.LimitTime: StopMaxTime,
}

// quiet is how long the frontier has had nothing to hand out, and why.
type quiet struct {
	dry          time.Duration // nothing is ready, nor will be soon; negative: it is not so
	idle         time.Duration // dry, and nothing is under way that may bring more; negative: it is not so
	asleep       bool          // hosts sleep after failures
	throttled    bool          // hosts asked to be left alone
	noneInFlight bool
}

// hungry: the frontier is dry, so the links of the open segment are wanted now. Visits still in flight get a
// moment to end, so that a small site is not cut into a segment for each page.
func (q quiet) hungry() bool { return q.dry >= 0 && (q.noneInFlight || q.dry >= sealQuiet) }

// over: nothing is queued, in flight or in the pipeline. Hosts that sleep after failures are waited for as long as
// patience lasts, and those that asked to be left alone (429, 503) somewhat longer.
func (q quiet) over(patience time.Duration) bool {
	switch {
	case q.idle < 0:
		return false
	case q.throttled:
		return q.idle >= throttledPatience*patience
	case q.asleep:
		return q.idle >= patience
	}
	return true
}

// thin is how long most fetchers have been idle for want of hosts that still have URLs.
type thin struct{ since time.Duration }

// watch turns a series of states into how long things have been as they are. The zero watch is ready; it begins
// again with each open segment.
type watch struct {
	dry, idle, thinned time.Time // since when; zero: not so
	peak               int       // of hosts at work since the open segment began
}

// look notes a state.
func (w *watch) look(now time.Time, s state) (quiet, thin) {
	return w.quiet(now, s), thin{w.thin(now, s)}
}

func (w *watch) quiet(now time.Time, s state) quiet {
	f := s.frontier
	q := quiet{dry: -1, idle: -1, asleep: f.Asleep > 0, throttled: f.Throttled > 0}
	// A visit is the frontier's until it is done, and the fetcher's until it is stored; between the two both
	// count it, so that it is never overlooked.
	busy := s.busy + int64(f.InFlight+f.Ready)
	q.noneInFlight = busy == 0
	if f.Soon() {
		w.dry, w.idle = time.Time{}, time.Time{}
		return q
	}
	if w.dry.IsZero() { // a host that has to be waited for long does not keep the rest from being updated
		w.dry = now
	}
	q.dry = now.Sub(w.dry)
	if busy > 0 || s.updating > 0 || f.Queued > f.Punished {
		w.idle = time.Time{}
		return q
	}
	if w.idle.IsZero() {
		w.idle = now
	}
	q.idle = now.Sub(w.idle)
	return q
}

func (w *watch) thin(now time.Time, s state) time.Duration {
	f := s.frontier
	atWork := f.Ready + f.InFlight + f.Refilling + f.Waiting - f.Far
	w.peak = max(w.peak, atWork)
	idle := 2*s.busy < int64(s.fetchers)
	if !idle || f.Ready > 0 || 4*atWork >= 3*w.peak {
		w.thinned = time.Time{}
		return -1
	}
	if w.thinned.IsZero() {
		w.thinned = now
	}
	return now.Sub(w.thinned)
}
