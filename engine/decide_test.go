// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/internal/visit"
	"github.com/seine-crawler/seine/frontier"
)

// TestDecide: what the conductor does, for every reason that it may have.
func TestDecide(t *testing.T) {
	const ms = time.Millisecond
	busy := quiet{dry: -1, idle: -1}
	dry := quiet{dry: 0, idle: -1, noneInFlight: true}
	idle := quiet{dry: 0, idle: 0, noneInFlight: true}
	notThin := thin{since: -1}
	lost := func(since time.Duration, visits float64) thin { return thin{since: since, half: true, lost: visits} }
	delayed := dry
	delayed.delayed = true
	drained := delayed
	drained.drained = true
	patience := 10 * time.Second
	after := func(q quiet, idle time.Duration) quiet {
		q.dry, q.idle = idle, idle
		return q
	}
	asleep, throttled := idle, idle
	asleep.asleep, throttled.throttled = true, true
	for _, c := range []struct {
		name   string
		s      state
		q      quiet
		t      thin
		want   action
		reason StopReason
	}{
		{"fetching", state{pages: 7, busy: 3}, busy, notThin, actWait, ""},
		{"full", state{pages: 7, full: true}, busy, notThin, actSeal, ""},
		{"full, but the lane is", state{pages: 7, full: true, backlog: true}, busy, notThin, actHold, ""},
		{"full, but both lanes are behind", state{pages: 7, full: true, behind: true}, busy, notThin, actHold, ""},
		{
			"thin, but both lanes are behind", state{pages: 1, behind: true}, busy,
			lost(thinTime, thinVisits), actWait, "",
		},
		{"much is in the lanes", state{pages: 7, braked: .5, turn: .4}, busy, notThin, actBrake, ""},
		{"much is in the lanes, later", state{pages: 7, braked: .5, turn: .6}, busy, notThin, actWait, ""},
		{"more is in the lanes, later", state{pages: 7, braked: .8, turn: .6}, busy, notThin, actBrake, ""},
		{"some is in the lanes", state{pages: 7, turn: 0}, busy, notThin, actWait, ""},
		{"full, much is in the lanes", state{pages: 7, full: true, braked: .5}, busy, notThin, actSeal, ""},
		{"dry, much is in the lanes", state{pages: 7, braked: 1}, dry, notThin, actSeal, ""},
		{
			"thin, both lanes are behind with much", state{pages: 1, behind: true, braked: .95, turn: .9}, busy,
			lost(thinTime, thinVisits), actBrake, "",
		},
		{"dry while the index is behind", state{pages: 7, behind: true}, dry, notThin, actSeal, ""},
		{"full, dry, the index is behind", state{pages: 7, full: true, behind: true}, dry, notThin, actSeal, ""},
		{"full and paused", state{pages: 7, full: true, paused: true}, busy, notThin, actSeal, ""},

		{"dry with pages", state{pages: 7}, dry, notThin, actSeal, ""},
		{"dry with pages, but the lane is full", state{pages: 7, backlog: true}, dry, notThin, actHold, ""},
		{"dry, visits in flight", state{pages: 7, busy: 1}, quiet{dry: 50 * ms, idle: -1}, notThin, actWait, ""},
		{
			"dry for long, visits in flight", state{pages: 7, busy: 1},
			quiet{dry: sealQuiet, idle: -1}, notThin, actSeal, "",
		},
		{
			"dry for long, responses about to be stored", state{pages: 7, busy: 1, storing: 1},
			quiet{dry: sealQuiet, idle: -1}, notThin, actWait, "",
		},
		{"dry without pages, updatedb at work", state{updating: 1}, dry, notThin, actWait, ""},

		{"dry but for hosts with a long delay", state{pages: 7}, delayed, notThin, actWait, ""},
		{"dry but for hosts with a delay, and one ran out", state{pages: 7}, drained, lost(-1, .35), actSeal, ""},
		{"dry but for hosts with a delay, one of many ran out", state{pages: 7}, drained, lost(-1, .34), actWait, ""},
		{"dry but for hosts with a long delay, for long", state{pages: 7, old: true}, delayed, notThin, actSeal, ""},
		{
			"dry but for many hosts with a long delay, for long", state{pages: thinVisits, old: true}, delayed, notThin,
			actWait, "",
		},
		{
			"dry but for many hosts with a long delay, and lost enough", state{pages: thinVisits}, drained,
			lost(-1, thinVisits/drainShare), actSeal, "",
		},

		{"thin", state{pages: 1}, busy, lost(thinTime, thinVisits), actSeal, ""},
		{"thin for a moment", state{pages: 1}, busy, lost(thinTime-1, thinVisits), actWait, ""},
		{"thin, little lost", state{pages: 1000}, busy, lost(thinTime, thinVisits-1), actWait, ""},
		{"thin, little lost, but old", state{pages: 1, old: true}, busy, lost(thinTime, 1), actSeal, ""},
		{"thin, but most hosts work, and old", state{pages: 1, old: true}, busy, thin{since: thinTime}, actWait, ""},
		{"thin, no page", state{old: true}, busy, lost(thinTime, thinVisits), actWait, ""},
		{
			"thin, updatedb may bring more", state{pages: 1, updating: 1}, busy, lost(thinTime, thinVisits),
			actWait, "",
		},

		{"over", state{}, idle, notThin, actEnd, StopDone},
		{"over, but pages to seal", state{pages: 1}, idle, notThin, actSeal, ""},
		{"over, but seeds are enqueued", state{more: true}, idle, notThin, actWait, ""},
		{"over, but paused", state{paused: true}, idle, notThin, actWait, ""},
		{"hosts asleep", state{}, after(asleep, patience-1), notThin, actWait, ""},
		{"hosts asleep for longer than patience", state{}, after(asleep, patience), notThin, actEnd, StopDone},
		{"hosts throttled", state{}, after(throttled, patience), notThin, actWait, ""},
		{
			"hosts throttled for much longer", state{},
			after(throttled, throttledPatience*patience), notThin, actEnd, StopDone,
		},

		{"interrupted", state{interrupted: true, pages: 7, full: true}, busy, notThin, actEnd, StopInterrupted},
		{"failed", state{failed: true, interrupted: true}, busy, notThin, actEnd, StopFailed},
		{"pages", state{limit: visit.LimitPages}, busy, notThin, actEnd, StopMaxPages},
		{"bytes", state{limit: visit.LimitBytes}, busy, notThin, actEnd, StopMaxBytes},
		{"time, paused", state{limit: visit.LimitTime, paused: true}, busy, notThin, actEnd, StopMaxTime},
	} {
		if got, reason := decide(c.s, c.q, c.t, patience); got != c.want || reason != c.reason {
			t.Errorf("%s: action %d, %q; want %d, %q", c.name, got, reason, c.want, c.reason)
		}
	}
}

// TestWatch: a series of looks says for how long the frontier has been dry, idle or thin.
func TestWatch(t *testing.T) {
	start := time.Unix(1e9, 0)
	twice := func(s state) []state { return []state{s, s} }
	working := frontier.Stats{Hosts: 10, Waiting: 8, InFlight: 2, Queued: 50}
	ready := working
	ready.Ready = 1
	drained := frontier.Stats{Hosts: 10, Dormant: 10}
	full := drained
	full.Full = true
	inFlight := frontier.Stats{Hosts: 10, Dormant: 9, InFlight: 1}
	far := frontier.Stats{Hosts: 10, Dormant: 9, Waiting: 1, Withheld: 3, Punished: 3, Queued: 3}
	slow := frontier.Stats{Hosts: 200, Waiting: 8, Ready: 30, SlowReady: 30, InFlight: 172, Slow: 170, Queued: 500}
	slowOnly := slow
	slowOnly.Waiting, slowOnly.InFlight = 2, 171
	few := frontier.Stats{Hosts: 10, Dormant: 6, Waiting: 3, InFlight: 1, Queued: 9}
	paced := frontier.Stats{Hosts: 10, Waiting: 10, Withheld: 45, Queued: 50}
	throttled := paced
	throttled.Throttled, throttled.Punished = 9, 45
	for _, c := range []struct {
		name   string
		looks  []state // one a second
		dry    time.Duration
		idle   time.Duration
		thin   time.Duration
		hungry bool
	}{
		{"at work", []state{{frontier: working, busy: 2, fetchers: 4}}, -1, -1, -1, false},
		{
			"drained", []state{{frontier: working}, {frontier: drained}, {frontier: drained}},
			time.Second, time.Second, time.Second, true,
		},
		{
			"drained, but updatedb is at work", twice(state{frontier: drained, updating: 1}),
			time.Second, -1, -1, true,
		},
		{"drained, but others wait for room", twice(state{frontier: full}), time.Second, -1, -1, true},
		{"a visit not stored yet", twice(state{frontier: drained, busy: 1}), time.Second, -1, -1, true},
		{"a visit in flight", []state{{frontier: inFlight, busy: 1}}, 0, -1, -1, false},
		{"work again", []state{{frontier: drained}, {frontier: ready}}, -1, -1, -1, false},
		{"all hosts wait for long", twice(state{frontier: far}), time.Second, time.Second, -1, true},
		{
			"hosts run out",
			append([]state{{frontier: working, fetchers: 4}}, twice(state{frontier: few, fetchers: 4})...),
			-1, -1, time.Second, false,
		},
		{
			"all but slow hosts run out",
			append([]state{{frontier: slow, busy: 172, fetchers: 64}},
				twice(state{frontier: slowOnly, busy: 171, fetchers: 64})...),
			-1, -1, time.Second, false,
		},
		{
			"hosts wait for long delays",
			append([]state{{frontier: working}}, twice(state{frontier: paced, fetchers: 4})...), -1, -1, -1, false,
		},
		{
			"servers demand long pauses",
			append([]state{{frontier: working}}, twice(state{frontier: throttled, fetchers: 4})...),
			-1, -1, time.Second, false,
		},
		{
			"hosts run out, fetchers busy",
			[]state{{frontier: working, fetchers: 4}, {frontier: few, busy: 2, fetchers: 4}},
			-1, -1, -1, false,
		},
	} {
		var w watch
		var q quiet
		var n thin
		for i, s := range c.looks {
			q, n = w.look(start.Add(time.Duration(i)*time.Second), s)
		}
		if q.dry != c.dry || q.idle != c.idle || q.hungry() != c.hungry || c.name != "drained" && n.since != c.thin {
			t.Errorf("%s: dry %v, idle %v, hungry %t, thin %v; want %v, %v, %t, %v",
				c.name, q.dry, q.idle, q.hungry(), n.since, c.dry, c.idle, c.hungry, c.thin)
		}
	}
}

// TestDrained: a host that runs out of URLs is noticed, also after others were woken by the segment before.
func TestDrained(t *testing.T) {
	var w watch
	for i, c := range []struct {
		dormant int
		drained bool
	}{{5, false}, {3, false}, {4, true}, {2, false}, {2, false}, {3, true}} {
		s := state{frontier: frontier.Stats{Hosts: 10, Dormant: c.dormant}}
		if q, _ := w.look(time.Unix(int64(i), 0), s); q.drained != c.drained {
			t.Errorf("look %d: drained %t with %d hosts dormant", i, q.drained, c.dormant)
		}
	}
}

// TestLost: visits are lost at the rate of the hosts that work, by those that have run out of URLs since the segment
// began.
func TestLost(t *testing.T) {
	var w watch
	at := func(second int, waiting int, pages uint64) thin {
		s := state{pages: pages, fetchers: 50, frontier: frontier.Stats{Hosts: 20, Waiting: waiting, Queued: 100}}
		_, n := w.look(time.Unix(int64(second), 0), s)
		return n
	}
	if n := at(0, 20, 0); n.lost != 0 || n.half || n.since >= 0 {
		t.Errorf("at first: %+v", n)
	}
	if n := at(10, 20, 1000); n.lost != 0 { // 5 visits a second of each host
		t.Errorf("while all work: %+v", n)
	}
	// Half have run out: 100 host seconds more were worked in 10 s, and as many lost.
	if n := at(20, 10, 1500); n.lost != 500 || !n.half || n.since != 0 {
		t.Errorf("when half have run out: %+v", n)
	}
}

// TestWaitsForSleepers: a crawl waits for hosts that failed, not for those that its own settings forbid to reach.
func TestWaitsForSleepers(t *testing.T) {
	for _, c := range []struct {
		asleep, refused int
		waits           bool
	}{{0, 0, false}, {3, 0, true}, {3, 2, true}, {3, 3, false}} {
		var w watch
		q, _ := w.look(time.Unix(0, 0), state{frontier: frontier.Stats{Asleep: c.asleep}, refused: c.refused})
		if q.over(time.Hour) == c.waits {
			t.Errorf("%d hosts asleep, %d of them refused: waits %t", c.asleep, c.refused, !c.waits)
		}
	}
}

// TestPatienceWithoutEnd: a crawl with all patience that there is waits for hosts that requested a pause.
func TestPatienceWithoutEnd(t *testing.T) {
	for _, patience := range []time.Duration{math.MaxInt64, math.MaxInt64 / 2, 50 * 365 * 24 * time.Hour} {
		if (quiet{idle: time.Hour, throttled: true}).over(patience) {
			t.Errorf("with %s it does not wait an hour", patience)
		}
	}
}
