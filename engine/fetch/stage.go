// SPDX-License-Identifier: Apache-2.0

package fetch

import "sync/atomic"

// Step is a part of a fetch.
type Step uint32

// The steps, in the order of a fetch that makes a connection.
const (
	StepNone    Step = iota // not begun, or not known
	StepDNS                 // waits for addresses
	StepRoom                // waits for room for one more connection of the client
	StepConnect             // waits for TCP, or for the proxy
	StepTLS                 // waits for the TLS handshake
	StepHead                // sends the request and waits for the head of the response
	StepBody                // receives the body
	StepMemory              // waits for memory for the body
)

// Stage tells any goroutine how far a fetch is. The zero value is ready.
type Stage struct{ step atomic.Uint32 }

// Step returns the step that the fetch is in.
func (s *Stage) Step() Step { return Step(s.step.Load()) }

// Reset forgets the last fetch: the step is StepNone.
func (s *Stage) Reset() { s.step.Store(uint32(StepNone)) }

// at notes that the fetch is in a step.
func (req *Request) at(s Step) {
	if req.Stage != nil {
		req.Stage.step.Store(uint32(s))
	}
}

// waiting notes that the fetch begins to wait for its client. A nil Request is one that nobody looks at.
func (req *Request) waiting(s Step) {
	if req == nil {
		return
	}
	req.at(s)
	if req.Waits != nil {
		req.Waits(true)
	}
}

// goesOn notes that a wait for the client has ended.
func (req *Request) goesOn(s Step) {
	if req == nil {
		return
	}
	req.at(s)
	if req.Waits != nil {
		req.Waits(false)
	}
}
