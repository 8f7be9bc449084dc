// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"slices"
	"sync"
	"time"
)

// Direction says what an Event is.
type Direction uint8

// The directions.
const (
	Open  Direction = iota // a connection was accepted
	In                     // bytes were received from the client
	Out                    // bytes were sent to it
	Close                  // the connection ended
)

// Event is one read or write, or the begin or end of a connection.
type Event struct {
	At    time.Duration // since the server started, by the monotonic clock
	Case  string        // name
	Conn  int           // number of the connection, from 0 over all cases
	Dir   Direction
	N     int    // bytes read or written
	Bytes []byte // the first of them: 4 KiB of each direction of a connection are kept
}

// Log records everything that was sent and received. It keeps the first 4 KiB of each direction of a connection, and up
// to 262,144 events; Tally counts beyond that. Use Server.Log to get one. Safe for concurrent use, also after the
// server has closed.
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
	Requests    int           // whole heads, those for robots.txt included
	Robots      int           // requests for robots.txt
	Conns       int           // connections
	BytesIn     int64         // received
	BytesOut    int64         // sent
	InFlight    int           // connections on which a request is being answered
	MaxInFlight int           // the most at once
	SmallestGap time.Duration // between the starts of two requests; 0: fewer than two
	Heads       []string      // of requests, the first 64

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
		l.tally(c.name).InFlight--
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

// request counts a request whose head was read.
func (l *Log) request(conn int, q *request) {
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
	t.InFlight++
	t.MaxInFlight = max(t.MaxInFlight, t.InFlight)
}

// Events returns the events so far, in order of time. The slice is the caller's, the bytes must not be changed.
func (l *Log) Events() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.events...)
}

// Tally returns what the host of the case with this name has seen so far; the zero Tally if it saw nothing.
func (l *Log) Tally(name string) Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := *l.tally(name)
	t.Heads = slices.Clone(t.Heads)
	return t
}
