// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"sync/atomic"

	"github.com/seine-crawler/seine/engine/fetch"
)

// Doing is what a fetcher does or waits for.
type Doing uint8

// What fetchers do, in the order of a visit.
const (
	DoingHeld       Doing = iota // nothing: the gate is shut
	DoingIdle                    // nothing: the frontier has no visit, or no further page may be begun
	DoingPrepare                 // reads what is known, gives a visit back
	DoingRobots                  // is connected and waits for a robots.txt, or for another visit that requests it
	DoingRequest                 // a request, of which the protocol does not say how far it is
	DoingDNS                     // fetch.StepDNS
	DoingConnection              // fetch.StepRoom
	DoingConnect                 // fetch.StepConnect
	DoingTLS                     // fetch.StepTLS
	DoingFirstByte               // fetch.StepHead
	DoingBody                    // fetch.StepBody
	DoingMemory                  // fetch.StepMemory
	DoingSlot                    // waits for a slot, or lets others have the processors
	DoingWrite                   // compresses and appends to the WARC file, or waits for who does
	DoingParse                   // decodes and parses
	DoingPage                    // hands the page to Env.Page
	DoingCount
)

// ofStep is what a fetcher does in a step of its request.
var ofStep = [...]Doing{
	fetch.StepNone: DoingRequest, fetch.StepDNS: DoingDNS, fetch.StepRoom: DoingConnection,
	fetch.StepConnect: DoingConnect, fetch.StepTLS: DoingTLS, fetch.StepHead: DoingFirstByte,
	fetch.StepBody: DoingBody, fetch.StepMemory: DoingMemory,
}

// doing is what one fetcher does. The fetcher writes it, any goroutine reads it: a visit costs some ten stores into
// memory that nobody else writes.
type doing struct {
	at     atomic.Uint32 // Doing
	stage  fetch.Stage   // while it is DoingRequest
	robots atomic.Bool   // while it is DoingRequest: it is for a robots.txt
	parses atomic.Bool   // while it is DoingWrite: that is done, and the page is being parsed
}

// set notes what the fetcher does. A nil doing is that of no fetcher.
func (d *doing) set(to Doing) {
	if d != nil {
		d.at.Store(uint32(to))
	}
}

// request notes that a request begins, and follows it. robots says that it is for a robots.txt.
func (d *doing) request(req *fetch.Request, robots bool) {
	if d != nil {
		req.Stage = &d.stage
		d.stage.Reset()
		d.robots.Store(robots)
		d.set(DoingRequest)
	}
}

// write notes that an attempt is about to be stored.
func (d *doing) write() {
	d.parses.Store(false)
	d.set(DoingWrite)
}

// now returns what the fetcher does.
func (d *doing) now() Doing {
	switch at := Doing(d.at.Load()); at {
	case DoingRequest:
		step := d.stage.Step()
		if d.robots.Load() && (step == fetch.StepNone || step == fetch.StepHead || step == fetch.StepBody) {
			return DoingRobots
		}
		return ofStep[step]
	case DoingWrite:
		if d.parses.Load() {
			return DoingParse
		}
		return at
	default:
		return at
	}
}
