// SPDX-License-Identifier: Apache-2.0

package web

import "time"

// Bounds of requests. Those of local requests, over the socket of a data directory, are wide: whoever sends them may
// stop the process, too, and a command must do there what it does alone. What a proxy passes on over a socket has the
// other bounds, and slots of its own.
const (
	// quickTime bounds what reads little: one URL, one host, a search.
	quickTime = 30 * time.Second
	// takeTime is what a client has after that to take the answer, or the problem that there is none.
	takeTime = 10 * time.Second
	// longTime bounds what reads a range of the store, or changes it.
	longTime = 10 * time.Minute
	// localTime bounds a local request.
	localTime = 24 * time.Hour
	// stallTime bounds the time in which a client takes nothing of an answer, or sends nothing of a request.
	stallTime = time.Minute

	// bodyMax bounds the body of a request, in bytes: a million seeds. localBodyMax is that of a local request.
	bodyMax      = 64 << 20
	localBodyMax = 1 << 40
	// headerMax bounds the head of a request, in bytes. A URL may have 8 KiB.
	headerMax = 64 << 10
	// localHeaderMax is that of a local request: a line of "seine check url -" may have 16 MiB, a byte of it three.
	localHeaderMax = 64 << 20

	// workersMax bounds the requests that are worked on at once; of those, at most streamsMax may last longer than
	// quickTime. More wait up to slotTime, then they are refused with status 503.
	workersMax = 256
	streamsMax = 32
	// viewersMax bounds those that get events.
	viewersMax = 64
	slotTime   = 2 * time.Second
	// standingTime is how long searches may queue until that counts as more than can be answered. Until then, those are
	// let in that need not wait for longer, by all that is known; after it, those that need not wait for longer than
	// standingWait. Where searches are slow, each may wait for as long as standingSearches take, up to slotTime: see
	// queue.
	standingTime     = 500 * time.Millisecond
	standingWait     = 20 * time.Millisecond
	standingSearches = 4
	calmTime         = 100 * time.Millisecond // without a refusal, until all may wait longer again

	// textMax bounds a parameter, in bytes, and partsMax the parts of one that is a list.
	textMax  = 8 << 10
	partsMax = 1_000
	// pageMax bounds the entries of a page of a list, and deepMax what may be skipped before it where a list has no
	// key to go on from.
	pageMax, pageDefault = 1_000, 50
	deepMax              = 10_000
	// searchTimeMax bounds the deadline of a search or of a suggestion.
	searchTimeMax = 10 * time.Second

	// drainTime is how long Close of a Server waits for requests that are being answered.
	drainTime = 3 * time.Second
	// statusTime is how old a status may be that is shown, and eventTime the time between two events while a crawl
	// runs; otherwise it is idleEventTime.
	statusTime    = 500 * time.Millisecond
	eventTime     = time.Second
	idleEventTime = 5 * time.Second
	// flushTime is how long an entry of a stream may wait for more that go with it.
	flushTime = 100 * time.Millisecond
)
