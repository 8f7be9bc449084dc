// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// loadRun is a log that is sent to a server at a rate.
type loadRun struct {
	address     string
	requests    [][]byte // heads of GET requests, one for each query of the log
	rate        float64  // requests a second
	connections int
	patience    time.Duration // after the last request was due
	partial     []byte        // in an answer that a deadline ended; nil: there is none
}

// loaded is what came of it.
type loaded struct {
	sent, failed, partial int
	refused               int             // by a server that says it has too much to do: no failure, and no answer
	span                  time.Duration   // from the first due time to the last answer
	bytes                 int64           // of bodies
	took                  []time.Duration // sorted, of all but the refused; failures count with the time waited for them
	err                   error           // the first
}

// dueRequest is a request at the time at which somebody would have sent it.
type dueRequest struct {
	at   time.Time
	head []byte
}

// send sends all requests, at times that do not depend on the answers: a Poisson process, as of many people who know
// nothing of each other. A request that finds all connections busy waits, and its time runs from when it was due, so a
// server that stalls cannot hide it (coordinated omission). When over is closed, no more are sent.
func (l *loadRun) send(ctx context.Context, over <-chan struct{}) loaded {
	queue := make(chan dueRequest, len(l.requests))
	results := make([]loaded, l.connections)
	rng := rand.New(rand.NewPCG(7, 8))
	start := time.Now().Add(100 * time.Millisecond)
	due := make([]time.Time, len(l.requests))
	at := start
	for i := range due {
		at = at.Add(time.Duration(rng.ExpFloat64() / l.rate * float64(time.Second)))
		due[i] = at
	}
	ctx, cancel := context.WithDeadline(ctx, at.Add(l.patience))
	defer cancel()
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() { results[i] = l.connection(ctx, queue) })
	}
requests:
	for i, head := range l.requests {
		if wait := time.Until(due[i]); wait > 0 {
			time.Sleep(wait)
		}
		select {
		case <-over:
			break requests
		default:
		}
		queue <- dueRequest{due[i], head}
	}
	close(queue)
	all.Wait()
	var sum loaded
	for i := range results {
		r := &results[i]
		sum.sent += r.sent
		sum.failed += r.failed
		sum.partial += r.partial
		sum.refused += r.refused
		sum.bytes += r.bytes
		sum.took = append(sum.took, r.took...)
		if sum.err == nil {
			sum.err = r.err
		}
	}
	sum.span = time.Since(start)
	slices.Sort(sum.took)
	return sum
}

// connection sends the requests of a queue on one connection, one after the other.
func (l *loadRun) connection(ctx context.Context, queue <-chan dueRequest) (r loaded) {
	var c net.Conn
	var in *bufio.Reader
	answer := new(fasthttp.Response)
	fail := func(err error) {
		r.failed++
		if r.err == nil {
			r.err = err
		}
		if c != nil {
			c.Close()
			c = nil
		}
	}
	for q := range queue {
		r.sent++
		if ctx.Err() != nil {
			fail(ctx.Err())
			r.took = append(r.took, time.Since(q.at))
			continue
		}
		err := error(nil)
		if c == nil {
			if c, err = net.Dial("tcp", l.address); err == nil {
				in = bufio.NewReaderSize(c, 64<<10)
				end, _ := ctx.Deadline()
				err = c.SetDeadline(end)
			}
		}
		if err == nil {
			_, err = c.Write(q.head)
		}
		if err == nil {
			err = answer.Read(in)
		}
		if err == nil && answer.StatusCode() == fasthttp.StatusServiceUnavailable {
			r.refused++
			continue
		}
		if err == nil && answer.StatusCode() != fasthttp.StatusOK {
			err = fmt.Errorf("status %d: %.200s", answer.StatusCode(), answer.Body())
		}
		if err != nil {
			fail(err)
		} else {
			r.bytes += int64(len(answer.Body()))
			if l.partial != nil && bytes.Contains(answer.Body(), l.partial) {
				r.partial++
			}
		}
		r.took = append(r.took, time.Since(q.at))
	}
	if c != nil {
		c.Close()
	}
	return r
}

// at is a quantile of the times.
func (r *loaded) at(q float64) time.Duration {
	if len(r.took) == 0 {
		return 0
	}
	return r.took[min(int(q*float64(len(r.took))), len(r.took)-1)]
}
