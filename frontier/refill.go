// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"sync"
	"time"
)

// jobs is what shards want from the source: refills, in the order of the requests, and URLs to drop. Each host is in
// refills at most once, so Options.MaxHosts bounds them.
type jobs struct {
	mu      sync.Mutex
	cond    *sync.Cond
	refills []*visitState
	head    int
	dropped []drop
	closed  bool
}

func newJobs() *jobs {
	j := &jobs{}
	j.cond = sync.NewCond(&j.mu)
	return j
}

func (j *jobs) add(refills []*visitState, dropped []drop) {
	j.mu.Lock()
	j.refills = append(j.refills, refills...)
	j.dropped = append(j.dropped, dropped...)
	j.mu.Unlock()
	if len(refills)+len(dropped) == 1 {
		j.cond.Signal() // a polite crawl has one at a time, which one refiller takes
		return
	}
	j.cond.Broadcast()
}

// take waits for a refill to make or URLs to drop. It returns false once the frontier is closed.
func (j *jobs) take() (v *visitState, dropped []drop, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		switch {
		case j.closed:
			return nil, nil, false
		case len(j.dropped) > 0:
			dropped, j.dropped = j.dropped, nil
			return nil, dropped, true
		case j.head < len(j.refills):
			v = j.refills[j.head]
			j.refills[j.head] = nil
			if j.head++; j.head == len(j.refills) {
				j.refills, j.head = j.refills[:0], 0
			}
			return v, nil, true
		}
		j.cond.Wait()
	}
}

func (j *jobs) close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.cond.Broadcast()
}

// refiller calls Source.Refill for one host after another, and OnDrop.
func (f *Frontier) refiller(ctx context.Context) {
	defer f.wg.Done()
	for {
		v, dropped, ok := f.jobs.take()
		if !ok {
			return
		}
		if len(dropped) > 0 {
			for _, d := range dropped {
				if f.o.OnDrop != nil {
					f.o.OnDrop(d.host, d.urls)
				}
			}
			continue
		}
		r, err := f.o.Source.Refill(ctx, v.host, f.names.window(f.o.MaxQueued, int(v.ahead)))
		r.failed = err != nil
		if err != nil && ctx.Err() == nil && f.o.OnError != nil {
			f.o.OnError(v.host, err)
		}
		f.send(&event{kind: refilled, state: v, refill: &r})
	}
}

// puller calls Source.Hosts: for hosts that were refused, when there is room again, and every pullEvery for those that
// fell due meanwhile.
func (f *Frontier) puller(ctx context.Context) {
	defer f.wg.Done()
	tick := time.NewTicker(pullEvery)
	defer tick.Stop()
	for {
		if f.refused.Load() > 0 || f.midway.Load() {
			f.pullAll(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-f.pull:
		case <-tick.C:
			f.names.sweep(f.now().add(-2 * pullEvery))
			if !f.midway.Load() {
				f.refused.Add(1)
			}
		}
	}
}

// pullAll wakes the hosts that the source names, until it names none or there is no room: then the next call goes on.
// What was refused since the source named its first host is named once more, and no more often: a source may go on
// naming hosts that have nothing left.
func (f *Frontier) pullAll(ctx context.Context) {
	f.pulling.Add(1)
	defer f.pulling.Add(-1)
	if !f.midway.Load() {
		f.refused.Store(0)
	}
	for ctx.Err() == nil {
		if !f.hasRoom() {
			f.midway.Store(true) // called again when a sixteenth is free, perhaps by now
			if !f.hasRoom() {
				return
			}
		}
		room := f.o.MaxHosts - int(f.names.hosts.Load())
		hosts, err := f.o.Source.Hosts(ctx, min(max(room, 1), pullBatch))
		if err != nil && ctx.Err() == nil && f.o.OnError != nil {
			f.o.OnError("", err)
		}
		if err == nil && len(hosts) > 0 {
			f.Wake(hosts...)
			continue
		}
		f.midway.Store(false)
		if err != nil || f.refused.Swap(0) == 0 {
			return
		}
	}
}

// hasRoom reports whether there is room for a sixteenth of all hosts, or for any.
func (f *Frontier) hasRoom() bool {
	hosts := int(f.names.hosts.Load())
	return hosts == 0 || f.o.MaxHosts-hosts > f.o.MaxHosts/16
}
