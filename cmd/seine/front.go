// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine/web"
)

// turnPause is how often "seine serve" looks whether the process that it serves has ended, and tries again to open a
// directory that is locked.
const turnPause = 500 * time.Millisecond

// front is what "seine serve" listens with. Processes take turns in having the data directory open, this one among
// them; the address stays.
type front struct {
	c         *console
	dir, addr string
	names     []string // Options.Hosts
	reads     bool     // the directory is only read: there need not be a token

	token  string
	behind atomic.Pointer[http.Handler] // of this turn
	end    func() error                 // nil: it does not listen
	lost   time.Time                    // when the last turn ended
	told   bool                         // people know that nobody can be asked since then
}

// ServeHTTP implements http.Handler.
func (a *front) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*a.behind.Load()).ServeHTTP(w, r) }

// Warm has the handler of the first turn read what its visitors will need: see web.Handler. Other processes have.
func (a *front) Warm(ctx context.Context) {
	if h, ok := (*a.behind.Load()).(*web.Handler); ok {
		h.Warm(ctx)
	}
}

// show begins a turn with the handler that make makes. In the first one it begins to listen, and prints what to open.
func (a *front) show(make func(token string) http.Handler) (err error) {
	turn := func(token string) http.Handler {
		h := make(token)
		a.token, a.told = token, false
		a.behind.Store(&h)
		return a
	}
	if a.end != nil {
		turn(a.token)
		return nil
	}
	a.end, err = a.c.serveHandler(a.dir, a.addr, a.reads, turn)
	return err
}

// close ends the listening. The engine of the last turn must be open.
func (a *front) close() error {
	if a.end == nil {
		return nil
	}
	end := a.end
	a.end = nil
	return end()
}

// proxy is the handler of a turn of another process; nil: of nobody.
func (a *front) proxy(other *web.Client) func(token string) http.Handler {
	return func(token string) http.Handler {
		return web.NewProxy(other, web.Options{Token: token, Hosts: a.names})
	}
}

// beside serves what another process has open, until that has ended or ctx has. In the first case the error is
// web.ErrNotAsked: the directory is for the next one.
func (a *front) beside(ctx context.Context, other *web.Client) error {
	if err := a.show(a.proxy(other)); err != nil {
		return err
	}
	for sleep(ctx, turnPause) {
		now, err := web.Dial(ctx, a.dir)
		if err == nil {
			same := now.Process() == other.Process()
			if err = now.Close(); same && err == nil {
				continue
			}
		}
		if ctx.Err() != nil {
			break
		}
		a.lost = time.Now()
		return errors.Join(web.ErrNotAsked, a.show(a.proxy(nil)))
	}
	return nil
}

// inTurns calls own, which opens the engine and serves it at a; while another process has the directory open, it serves
// what that has. Once it listens it goes on until it is interrupted, whoever has the directory.
func (f *flags) inTurns(cmd *cobra.Command, a *front, own func() error) error {
	ctx := cmd.Context()
	for start := time.Now(); ; {
		again, err := f.openOnce(cmd, true, own, func(s store) error { return a.beside(ctx, s.(otherStore).Client) })
		listens, pause := a.end != nil, socketPause
		switch {
		case !again:
			return errors.Join(err, a.close())
		case !listens && time.Since(start) > socketPatience:
			return err
		case listens && time.Since(a.lost) > socketPatience:
			if pause = turnPause; !a.told {
				fmt.Fprintf(a.c.err, "seine: waiting: %s\n", oneLine(err))
				a.told = true
			}
		}
		if !sleep(ctx, pause) {
			if listens {
				err = nil // the interrupt ends it, as it does when there is something to serve
			}
			return errors.Join(err, a.close())
		}
	}
}

// sleep waits, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) (whole bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
