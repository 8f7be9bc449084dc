// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// ErrClosed is returned by Next after Close.
var ErrClosed = errors.New("frontier is closed")

// Visit is one URL handed out. It must be given back to Done exactly once.
type Visit struct {
	Candidate
	Host  urlkey.HostKey
	Addr  netip.Addr // zero: not known yet
	state *visitState
}

// Frontier is a shard with its goroutines. All methods are safe for concurrent use.
type Frontier struct {
	o      Options
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // guards all below
	shard   *shard
	waiters []chan *Visit // fetchers waiting in Next, first come first served
	closed  bool
	refills *sync.Cond // refillers wait for shard.refills
	timer   chan struct{}
	dry     chan struct{}
	asked   time.Time // what the timer goroutine sleeps until
}

// New starts a frontier. It must be closed.
func New(o Options) (*Frontier, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &Frontier{o: o, timer: make(chan struct{}, 1), dry: make(chan struct{}, 1)}
	f.shard = newShard(&f.o)
	f.refills = sync.NewCond(&f.mu)
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	f.wg.Add(1 + o.Refillers)
	go f.runTimer(ctx)
	for range o.Refillers {
		go f.refiller(ctx)
	}
	return f, nil
}

// Wake says that these hosts may have due URLs. Waking a host that is active costs little.
func (f *Frontier) Wake(hosts ...urlkey.HostKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	now := f.o.Now()
	for _, h := range hosts {
		f.shard.wake(h, now)
	}
	f.settle(now)
}

// Next waits for a visit that may start now.
func (f *Frontier) Next(ctx context.Context) (*Visit, error) {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil, ErrClosed
	}
	now := f.o.Now()
	f.shard.tick(now)
	if v := f.shard.take(); v != nil {
		f.settle(now)
		f.mu.Unlock()
		return v, nil
	}
	f.settle(now)
	ch := make(chan *Visit, 1)
	f.waiters = append(f.waiters, ch)
	f.mu.Unlock()
	select {
	case v, ok := <-ch:
		if !ok {
			return nil, ErrClosed
		}
		return v, nil
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, w := range f.waiters {
		if w == ch {
			f.waiters = append(f.waiters[:i], f.waiters[i+1:]...)
			return nil, ctx.Err()
		}
	}
	// A visit was handed over at the same moment: it was not made, so it goes back.
	if v, ok := <-ch; ok {
		now := f.o.Now()
		f.shard.done(v, &Outcome{Kind: Skipped, Again: true}, now)
		f.settle(now)
	}
	return nil, ctx.Err()
}

// Done gives a visit back.
func (f *Frontier) Done(v *Visit, out Outcome) {
	f.mu.Lock()
	now := f.o.Now()
	slept := f.shard.done(v, &out, now)
	f.settle(now)
	dropped := f.shard.dropped
	f.shard.dropped = nil
	f.mu.Unlock()
	f.drop(dropped)
	if !slept.IsZero() && f.o.OnSleep != nil {
		f.o.OnSleep(v.Host, slept)
	}
}

// settle carries out what the shard asked for. f.mu is held.
func (f *Frontier) settle(now time.Time) {
	s := f.shard
	s.tick(now)
	for len(f.waiters) > 0 && !f.closed {
		v := s.take()
		if v == nil {
			break
		}
		f.waiters[0] <- v // has room for one
		f.waiters = f.waiters[1:]
	}
	if len(s.refills) > 0 {
		f.refills.Broadcast()
	}
	if next := s.nextTime(); !next.IsZero() && (f.asked.IsZero() || next.Before(f.asked)) {
		signal(f.timer)
	}
	if s.dry() {
		signal(f.dry)
	}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// runTimer moves hosts on when their time comes.
func (f *Frontier) runTimer(ctx context.Context) {
	defer f.wg.Done()
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.timer:
		case <-t.C:
		}
		f.mu.Lock()
		now := f.o.Now()
		f.settle(now)
		next := f.shard.nextTime()
		f.asked = next
		f.mu.Unlock()
		if next.IsZero() {
			t.Stop()
		} else {
			t.Reset(max(next.Sub(now), 50*time.Microsecond))
		}
	}
}

// refiller asks the source for the URLs of one host after another.
func (f *Frontier) refiller(ctx context.Context) {
	defer f.wg.Done()
	for {
		f.mu.Lock()
		for len(f.shard.refills) == 0 && !f.closed {
			f.refills.Wait()
		}
		if f.closed {
			f.mu.Unlock()
			return
		}
		host := f.shard.refills[0]
		f.shard.refills = f.shard.refills[1:]
		limit := f.o.Window - f.shard.hosts[host].queued()
		f.mu.Unlock()
		r, err := f.o.Source.Refill(ctx, host, limit)
		f.mu.Lock()
		now := f.o.Now()
		f.shard.refilled(host, &r, now)
		f.settle(now)
		dropped := f.shard.dropped
		f.shard.dropped = nil
		f.mu.Unlock()
		f.drop(dropped)
		if err != nil && ctx.Err() == nil && f.o.OnError != nil {
			f.o.OnError(host, err)
		}
	}
}

func (f *Frontier) drop(dropped []Candidate) {
	if len(dropped) > 0 && f.o.OnDrop != nil {
		f.o.OnDrop(dropped)
	}
}

// Dry receives whenever no URL is queued, but for those of hosts that asked to be left alone, and no
// refill is under way: there is nothing to hand out until a Wake or until something falls due. Visits
// may still be in flight.
func (f *Frontier) Dry() <-chan struct{} { return f.dry }

// Close ends the frontier: waiting calls of Next return ErrClosed, all goroutines end. Visits in
// flight may still be given back.
func (f *Frontier) Close() {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return
	}
	f.closed = true
	for _, w := range f.waiters {
		close(w)
	}
	f.waiters = nil
	f.refills.Broadcast()
	f.mu.Unlock()
	f.cancel()
	f.wg.Wait()
}

// Stats is the frontier at a moment.
type Stats struct {
	Ready     int // hosts that a fetcher may take
	Waiting   int // hosts with URLs that wait for their delay or their address
	Throttled int // of Waiting, those told to come back much later
	InFlight  int
	Refilling int
	Asleep    int // hosts that failed too often
	Dormant   int // hosts without due URLs
	Queued    int // URLs in windows
	Withheld  int // of Queued, those of throttled hosts
	Addresses int
	Visits    uint64
	Refused   uint64 // wakes refused for want of room
}

// Stats returns the numbers of the moment.
func (f *Frontier) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.shard
	st := Stats{Ready: s.counts[ready], Waiting: s.counts[waiting] + s.counts[blocked], InFlight: s.counts[inFlight],
		Refilling: s.refilling, Asleep: s.counts[asleep], Dormant: s.counts[dormant], Queued: s.queued,
		Addresses: len(s.addresses), Visits: s.visits, Refused: s.refused, Throttled: s.throttled, Withheld: s.withheld}
	return st
}
