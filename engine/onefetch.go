// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// oneFetch is a call of Engine.Fetch that runs.
type oneFetch struct {
	started time.Time
	o       FetchOptions
	ctx     context.Context
	stop    func()                   // ends ctx
	stages  stageTimes               // at the start
	live    atomic.Pointer[fetching] // nil: its fetchers have not begun
}

// progress describes the fetch now, for any goroutine.
func (b *oneFetch) progress(w *work, look func(*fetching)) Progress {
	p := Progress{Phase: phasePreparing, Fetchers: int(w.live.fetchers.Load()), MemoryLimit: w.o.Memory}
	if f := b.live.Load(); f != nil {
		look(f)
		p = w.fetchProgress(f, b.o)
	}
	p.Stages = w.stages.times(w.store).since(b.stages)
	return p
}
