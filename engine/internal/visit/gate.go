// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"context"
	"sync"
)

// gate stops fetchers from beginning visits while there is a reason to hold them back. The zero value is open.
type gate struct {
	mu   sync.Mutex
	held Holder
	shut chan struct{} // nil: open; closed when it opens
}

// Holder is a set of reasons to hold fetchers back.
type Holder uint8

// The reasons.
const (
	HeldByBacklog Holder = 1 << iota // segments wait for updatedb or for the index
	HeldByDisk                       // the disk is nearly full
	HeldByPause                      // the operator pauses the crawl
	HeldByDelete                     // URLs are about to be deleted
	heldByLimit                      // a limit is reached: the run is about to end
	heldByAny     = HeldByBacklog | HeldByDisk | HeldByPause | HeldByDelete | heldByLimit
)

// wait returns when the gate is open, or false when ctx ends first.
func (g *gate) wait(ctx context.Context) bool {
	g.mu.Lock()
	shut := g.shut
	g.mu.Unlock()
	if shut == nil {
		return ctx.Err() == nil
	}
	select {
	case <-ctx.Done():
		return false
	case <-shut:
		return ctx.Err() == nil
	}
}

func (g *gate) isOpen() bool { return g.holders() == 0 }

// holders returns the reasons for which the gate is shut.
func (g *gate) holders() Holder {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

func (g *gate) close(by Holder) {
	g.mu.Lock()
	g.held |= by
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
	g.mu.Unlock()
}

func (g *gate) open(by Holder) {
	g.mu.Lock()
	g.held &^= by
	if g.held == 0 && g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
	g.mu.Unlock()
}
