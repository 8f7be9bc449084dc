// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/frontier"
)

// state is one look at a crawl, by which the conductor decides: fetchers, frontier, open segment and lanes.
type state struct {
	failed      bool // an error ends the crawl
	interrupted bool // its context has ended
	limit       visit.Limit

	// The open segment.
	pages uint64
	full  bool // by pages, bytes, memory or age
	old   bool // it may be sealed although that gains little

	busy     int64 // visits taken from the frontier and not stored yet
	storing  int64 // of these, visits with a response that is about to be stored
	updating int64 // segments handed to the first lane that it has not brought into crawldb
	more     bool  // callbacks, enqueued seeds or withheld links may bring more URLs
	backlog  bool  // no more segments may wait for the first lane
	behind   bool  // so many segments are in the lanes that only a dry frontier is a reason for more
	paused   bool
	// braked is for which part of the time fetchers wait. turn goes from 0 to 1 in each brakeTurn.
	braked, turn float64

	frontier frontier.Stats
	refused  int // hosts that the crawl's own settings forbid to reach; they are asleep
	fetchers int
}

// action is what the conductor does next.
type action uint8

const (
	actWait  action = iota // nothing: look again
	actSeal                // seal the open segment and open a new one
	actHold                // the same once the backlog permits; until then fetchers begin no visits
	actBrake               // fetchers begin no visits for a moment
	actEnd                 // end the crawl, for the reason that decide returns with it
)

// decide says what to do next. It is a pure function; q and t sum up this look and the ones before it.
//
// The open segment is sealed when it is full, and when its links are worth more than sealing costs, because they may
// lead to more URLs. They are at once if no host has a URL left. While all hosts that have some wait for their delays,
// they are when the visits that were lost because others ran out of URLs, at the rate of the hosts that still work, are
// a part of those that the segment has. If a quarter of the hosts at work have run out and most fetchers are idle, slow
// visits aside, they are when the visits lost outweigh sealing. While fetchers are busy, larger segments are cheaper.
//
// When the lanes fall behind, fetchers wait: for a part of each brakeTurn at first (brake.go), then until a segment may
// be sealed. A dry frontier does not: it needs the links of the open segment, which the first lane brings, however much
// the second has to index.
//
// Sealing only when every host had run dry, or after 15 s, let a few slow hosts hold up everything (BenchmarkHonest).
// Sealing whenever a quarter had run dry made a polite crawl spend most of its time on segments of 60 pages, because
// hosts come to their ends all the time. So did sealing at once when one of 4,000 had run out while the others waited:
// 400 pages each, and ten minutes later a page cost twice as much, since each of them lies alone in crawldb and linkdb
// (with a delay of 14 s; "seine bench polite" makes such crawls). The crawl ends when there is nothing left to do.
//
// No link is offered to the frontier before its segment is sealed and in crawldb. What fetchers are given must be known
// not to have been fetched, and have its score, its depth and the verdict of all filters, so that the best URLs come
// first and budgets hold: that is a record of crawldb. To look these up for each link of a page would be tens of reads
// of the store, for a host that usually waits segmentAgeMax at most.
func decide(s state, q quiet, t thin, patience time.Duration) (action, StopReason) {
	switch {
	case s.failed:
		return actEnd, StopFailed
	case s.interrupted:
		return actEnd, StopInterrupted
	case s.limit != visit.NoLimit:
		return actEnd, limitReasons[s.limit]
	}
	thinned := s.pages > 0 && t.since >= thinTime && s.updating == 0 && (t.lost >= thinVisits || t.half && s.old)
	worth := !q.delayed || q.drained && t.costs(s.pages) || s.lingers()
	hungry := s.pages > 0 && s.storing == 0 && q.hungry() && worth
	switch {
	case !s.full && !thinned && !hungry:
	case s.behind && !s.full && !hungry: // what the segment's links would gain is no reason to stop who works
	case s.backlog || s.behind && !hungry:
		return actHold, ""
	default:
		return actSeal, ""
	}
	if s.turn < s.braked {
		return actBrake, ""
	}
	if s.pages == 0 && !s.more && !s.paused && q.over(patience) {
		return actEnd, StopDone
	}
	return actWait, ""
}

// limitReasons are the reasons for ending at a limit.
var limitReasons = map[visit.Limit]StopReason{
	visit.LimitPages: StopMaxPages, visit.LimitBytes: StopMaxBytes, visit.LimitTime: StopMaxTime,
}

// quiet says for how long the frontier has had nothing to hand out, and why.
type quiet struct {
	dry          time.Duration // how long nothing is ready, nor will be soon; negative: something is
	idle         time.Duration // how long, besides, nothing under way may bring more; negative: something may
	asleep       bool          // hosts sleep after failures, and may answer later
	throttled    bool          // hosts requested a pause (429, 503)
	noneInFlight bool          // no visit is ready or under way
	delayed      bool          // hosts have URLs, and must wait for longer before they are visited
	drained      bool          // a host has run out of URLs since the open segment began
}

// hungry reports that the frontier is dry, so the links of the open segment are needed now. Visits in flight get
// sealQuiet to end, so that a small site does not become a segment for each page.
func (q quiet) hungry() bool { return q.dry >= 0 && (q.noneInFlight || q.dry >= sealQuiet) }

// over reports that nothing is queued, in flight or in the lanes. Hosts that sleep after failures are waited for as
// long as patience lasts, and those that requested a pause throttledPatience times as long.
func (q quiet) over(patience time.Duration) bool {
	switch {
	case q.idle < 0:
		return false
	case q.throttled:
		return q.idle/throttledPatience >= patience // any patience times throttledPatience need not fit
	case q.asleep:
		return q.idle >= patience
	}
	return true
}

// thin says whether most fetchers are idle because too few hosts have URLs left.
type thin struct {
	since time.Duration // for how long; negative: it is not so
	half  bool          // half of the hosts have run out
	lost  float64       // visits not made because hosts ran out of URLs, since the open segment began
}

// costs reports whether the visits lost are so many that a segment of so many pages is sealed for them, though hosts
// have URLs.
func (t thin) costs(pages uint64) bool { return t.lost*drainShare >= float64(pages) }

// lingers reports that the open segment is old, and so small that it costs little to seal it for hosts that had no URLs
// when it began.
func (s *state) lingers() bool { return s.old && s.pages < thinVisits }

// watch turns a series of states into durations. The zero watch is ready; each open segment begins a new one.
type watch struct {
	dry, idle, thinned time.Time // since when it is so; zero: it is not
	peak               int       // the most hosts at work since the open segment began
	dormant            int       // the fewest hosts without URLs since then
	last               time.Time // look
	worked, starved    float64   // seconds of hosts at work, and of those that ran out of URLs
}

// look adds a state to the series.
func (w *watch) look(now time.Time, s state) (quiet, thin) {
	return w.quiet(now, s), w.thin(now, s)
}

func (w *watch) quiet(now time.Time, s state) quiet {
	f := s.frontier
	q := quiet{
		dry: -1, idle: -1, asleep: f.Asleep > s.refused, throttled: f.Throttled > 0, delayed: f.Queued > f.Punished,
	}
	if w.last.IsZero() {
		w.dormant = f.Dormant
	}
	w.dormant = min(w.dormant, f.Dormant) // what the segment before has brought wakes hosts
	q.drained = f.Dormant > w.dormant
	// The frontier counts a visit until Done, the fetcher until it is stored. For a moment both count it, never none.
	busy := s.busy + int64(f.InFlight+f.Ready)
	q.noneInFlight = busy == 0
	if f.Soon() {
		w.dry, w.idle = time.Time{}, time.Time{}
		return q
	}
	if w.dry.IsZero() { // also when hosts with a long wait are left: they do not hold up the update of the rest
		w.dry = now
	}
	q.dry = now.Sub(w.dry)
	if busy > 0 || s.updating > 0 || f.Queued > f.Punished || f.Full { // others wait for room in the frontier
		w.idle = time.Time{}
		return q
	}
	if w.idle.IsZero() {
		w.idle = now
	}
	q.idle = now.Sub(w.idle)
	return q
}

func (w *watch) thin(now time.Time, s state) (t thin) {
	f := s.frontier
	ready := f.Ready - f.SlowReady
	atWork := ready + f.InFlight - f.Slow + f.Refilling + f.Waiting - f.Throttled // a long delay is a host's pace
	w.peak = max(w.peak, atWork)
	if !w.last.IsZero() {
		passed := now.Sub(w.last).Seconds()
		w.worked += passed * float64(max(atWork, 0))
		w.starved += passed * float64(w.peak-max(atWork, 0))
	}
	w.last = now
	t = thin{since: -1, half: 2*atWork <= w.peak}
	if w.worked > 0 {
		t.lost = w.starved / w.worked * float64(s.pages)
	}
	idle := 2*(s.busy-int64(f.Slow)) < int64(s.fetchers)
	if !idle || ready > 0 || 4*atWork >= 3*w.peak {
		w.thinned = time.Time{}
		return t
	}
	if w.thinned.IsZero() {
		w.thinned = now
	}
	t.since = now.Sub(w.thinned)
	return t
}
