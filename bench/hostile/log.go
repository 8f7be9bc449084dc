// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"slices"
	"sync"
	"time"
)

// Direction of what an Event is about.
type Direction uint8

// The directions; Open and Close are of connections.
const (
	Open Direction = iota
	In             // received from the client
	Out            // sent to it
	Close
)

// Event is one read or write.
type Event struct {
	At    time.Duration // since the server began, by the monotonic clock
	Case  string
	Conn  int
	Dir   Direction
	N     int    // bytes
	Bytes []byte // the first of them; see maxLogged
}

// Log is the record of all that was sent and received: the oracle for politeness and accounting. It
// keeps the first maxLogged bytes of each direction of a connection and the lengths of all, up to
// maxEvents; Tally counts on beyond that. Safe for concurrent use.
type Log struct {
	began time.Time

	mu     sync.Mutex // guards all below
	events [][]Event  // in blocks, so that the log never copies itself while a client is measured
	count  int
	conns  []connState
	cases  map[string]*Tally
}

type connState struct {
	name   string
	logged [2]int // bytes kept, in and out
	busy   bool
}

// Tally is what one case's host saw.
type Tally struct {
	Requests    int // robots.txt counted too
	Robots      int
	Conns       int
	BytesIn     int64
	BytesOut    int64
	MaxInFlight int           // most connections at once on which a request was being answered
	SmallestGap time.Duration // between the starts of two requests; 0: fewer than two
	Heads       []string      // of requests, the first maxHeads

	inFlight  int
	lastStart time.Duration
}

func newLog() *Log { return &Log{began: time.Now(), cases: map[string]*Tally{}} }

func (l *Log) tally(name string) *Tally {
	t := l.cases[name]
	if t == nil {
		t = &Tally{}
		l.cases[name] = t
	}
	return t
}

func (l *Log) event(e Event) {
	if l.count == maxEvents {
		return
	}
	if l.count%eventBlock == 0 {
		l.events = append(l.events, make([]Event, 0, eventBlock))
	}
	e.At = time.Since(l.began)
	last := &l.events[len(l.events)-1]
	*last = append(*last, e)
	l.count++
}

func (l *Log) open(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns = append(l.conns, connState{name: name})
	n := len(l.conns) - 1
	l.tally(name).Conns++
	l.event(Event{Case: name, Conn: n, Dir: Open})
	return n
}

func (l *Log) close(conn int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.conns[conn]
	l.idle(c)
	l.event(Event{Case: c.name, Conn: conn, Dir: Close})
}

// answered marks the request of a connection as over.
func (l *Log) answered(conn int) {
	l.mu.Lock()
	l.idle(&l.conns[conn])
	l.mu.Unlock()
}

func (l *Log) idle(c *connState) {
	if c.busy {
		c.busy = false
		l.tally(c.name).inFlight--
	}
}

func (l *Log) add(conn int, dir Direction, b []byte) {
	if len(b) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.conns[conn]
	t := l.tally(c.name)
	if dir == In {
		t.BytesIn += int64(len(b))
	} else {
		t.BytesOut += int64(len(b))
	}
	kept := &c.logged[dir-In]
	n := min(len(b), maxLogged-*kept)
	*kept += n
	l.event(Event{Case: c.name, Conn: conn, Dir: dir, N: len(b), Bytes: slices.Clone(b[:n])})
}

// request counts a request that was read whole.
func (l *Log) request(conn int, q *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.conns[conn]
	t := l.tally(c.name)
	now := time.Since(l.began)
	if t.Requests > 0 && (t.SmallestGap == 0 || now-t.lastStart < t.SmallestGap) {
		t.SmallestGap = max(now-t.lastStart, 1)
	}
	t.lastStart = now
	t.Requests++
	if q.Path == "/robots.txt" {
		t.Robots++
	}
	if len(t.Heads) < maxHeads {
		t.Heads = append(t.Heads, q.Head)
	}
	c.busy = true
	t.inFlight++
	t.MaxInFlight = max(t.MaxInFlight, t.inFlight)
}

// Events returns what was logged so far.
func (l *Log) Events() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.events...)
}

// Tally returns what a case's host saw so far.
func (l *Log) Tally(name string) Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := *l.tally(name)
	t.Heads = slices.Clone(t.Heads)
	return t
}
