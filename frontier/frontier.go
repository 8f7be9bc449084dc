// SPDX-License-Identifier: Apache-2.0

package frontier

import (
	"context"
	"errors"
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// ErrClosed is the error of Next after Close.
var ErrClosed = errors.New("frontier is closed")

// Frontier is the shards with their goroutines. Any goroutine may call its methods, at any time.
type Frontier struct {
	o      Options
	epoch  time.Time
	names  *registry
	shards []*shard
	ring   atomic.Pointer[ring] // SetFetchers replaces it
	jobs   *jobs
	outage outage // of the network
	noDNS  outage // of the name servers alone

	pace     atomic.Pointer[pace] // what SetDelay sets; a shard loads it once a step
	fetchers atomic.Int32         // callers of Next to expect
	slow     atomic.Int32         // visits of classSlow in the ring or with fetchers
	unknown  atomic.Int32         // the same of classUnknown
	late     atomic.Int32         // visits of classLate
	slowMost atomic.Int32

	pending      atomic.Int64  // events sent and not handled
	refused      atomic.Int64  // wakes refused for lack of room since Source.Hosts named its first host
	pulling      atomic.Int64  // pullAll runs
	refusedTotal atomic.Uint64 // wakes refused in all
	waiting      atomic.Int32  // fetchers about to sleep in Next, or sleeping
	tokens       chan struct{} // each wakes one of them
	pull         chan struct{} // wakes the puller
	midway       atomic.Bool   // Source.Hosts has named some hosts, and waits for room for the others
	dry          chan struct{}
	done         chan struct{}

	closeOnce sync.Once
	cancel    context.CancelFunc
	wg        sync.WaitGroup
}

// New starts a frontier. The caller must close it. It returns an error if Options has no Source or a negative
// number where none is allowed.
func New(o Options) (*Frontier, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &Frontier{
		o:      o,
		names:  newRegistry(o.MaxHosts),
		jobs:   newJobs(),
		noDNS:  outage{names: true},
		tokens: make(chan struct{}, maxFetchers+1), // takes no memory for its elements
		pull:   make(chan struct{}, 1),
		dry:    make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
	// The epoch is before the start, so that moment 0 can mean none.
	f.epoch = o.Now().Add(-time.Hour)
	p := f.o.pace(o.Delay)
	f.pace.Store(p)
	f.fetchers.Store(int32(o.Fetchers))
	f.slowMost.Store(slowMost(o.Fetchers))
	f.ring.Store(newRing(2 * o.Fetchers))
	for i := range o.Shards {
		f.shards = append(f.shards, newShard(&f.o, p, f.names, f.home, i, f.now()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	f.wg.Add(1 + o.Refillers + len(f.shards))
	for _, s := range f.shards {
		go f.run(ctx, s)
	}
	for range o.Refillers {
		go f.refiller(ctx)
	}
	go f.puller(ctx)
	return f, nil
}

// home is the shard that owns an address.
func (f *Frontier) home(key netip.Addr) *shard {
	b := key.As16()
	return f.shards[xxh3.Hash(b[:])%uint64(len(f.shards))]
}

func (f *Frontier) now() moment { return moment(f.o.Now().Sub(f.epoch)) }

// moment is counted from now: a time that was stored has no monotonic reading, and the wall clock may have jumped since
// the epoch.
func (f *Frontier) moment(t time.Time) moment {
	if t.IsZero() {
		return 0
	}
	now := f.o.Now()
	return max(moment(now.Sub(f.epoch)).add(min(t.Sub(now), math.MaxInt64/2)), 1)
}

// time is the opposite, for those who store it.
func (f *Frontier) time(m moment) time.Time {
	now := f.o.Now()
	return now.Add(time.Duration(m) - now.Sub(f.epoch))
}

// send posts an event to the shard that owns its host.
func (f *Frontier) send(e *event) {
	f.pending.Add(1)
	e.state.shard.Load().post(e)
}

// Wake reports that these hosts may have due URLs. Waking a host that is in memory costs little. A host for
// which there is no room is refused, and one that rests and was forgotten is ignored; Source.Hosts must name both
// again later.
func (f *Frontier) Wake(hosts ...urlkey.HostKey) {
	for _, h := range hosts {
		v, rests := f.find(h)
		if rests {
			continue
		}
		if v == nil {
			f.refused.Add(1)
			f.refusedTotal.Add(1)
			continue
		}
		f.send(&event{kind: woken, state: v})
	}
}

// find returns the state of a host, a new one if it has none, and counts an event that the caller must send to
// it. It returns nil if there is no room, or if the host was forgotten and rests.
func (f *Frontier) find(h urlkey.HostKey) (_ *visitState, rests bool) {
	return f.names.wake(h, f.now(), func() *shard { return f.shards[hostHash(h)>>32%uint64(len(f.shards))] })
}

// Ask puts a URL before all others of its host; the source need not know it. It comes back in a visit when it is
// the host's turn, or through Options.OnDrop. False means that there is no room for the host, or that it rests.
func (f *Frontier) Ask(host urlkey.HostKey, c Candidate) bool {
	v, _ := f.find(host)
	if v == nil {
		return false
	}
	f.send(&event{kind: asked, state: v, refill: &Refill{URLs: []Candidate{c}}})
	return true
}

// WakeAll requests all hosts that have due URLs from the source. It does not wait for them.
func (f *Frontier) WakeAll() {
	f.refused.Add(1)
	signal(f.pull)
}

// Next waits for a visit that may start now. The caller must return it with Done, once. The error is ErrClosed
// after Close, or that of ctx.
func (f *Frontier) Next(ctx context.Context) (*Visit, error) {
	for nudged := false; ; {
		select {
		case <-f.done:
			return nil, ErrClosed
		case <-ctx.Done():
			f.passToken() // the one that woke it, if any
			return nil, ctx.Err()
		default:
		}
		if v := f.take(ctx); v != nil {
			f.passToken()
			return v, nil
		}
		// Count first, then check the ring again. A shard fills the ring first, then checks the count: one of
		// the two sees the other.
		f.waiting.Add(1)
		if f.ring.Load().len() > 0 {
			f.waiting.Add(-1)
			continue
		}
		if !nudged {
			nudged = true
			for now, i := f.now(), 0; i < len(f.shards); i++ {
				f.shards[i].nudge(now)
			}
		}
		select {
		case <-f.tokens:
		case <-ctx.Done():
			f.waiting.Add(-1)
			return nil, ctx.Err()
		case <-f.done:
		}
		f.waiting.Add(-1)
	}
}

// take pops a visit. It returns nil if there is none now.
func (f *Frontier) take(ctx context.Context) *Visit {
	if ctx.Err() != nil {
		return nil
	}
	ring := f.ring.Load()
	if ring.len() == 0 {
		return nil // not a try of an outage
	}
	now := f.now()
	if ok, at := f.outage.ready(now); !ok {
		f.sleep(ctx, min(at.sub(now), outageProbe)) // it may end before
		return nil
	}
	v := ring.pop()
	if v == nil {
		return nil
	}
	if ring.len() < len(ring.cells)/2 {
		for _, s := range f.shards {
			if s.backlog.Load() {
				signal(s.wakeup)
			}
		}
	}
	// The time is read again: the shard may have made this visit after now.
	if h := v.state.several; h != nil && !h.begin(f.now()) {
		f.Done(v, Outcome{Kind: Skipped, Left: int32(len(v.URLs))})
		return nil
	}
	if !f.mayTry(v, now) {
		return nil
	}
	return v
}

// mayTry reports whether a visit may start now although the network or the name servers may be away. If not, it is
// returned.
func (f *Frontier) mayTry(v *Visit, now moment) bool {
	skip := func(o Outcome) bool {
		o.Kind, o.Left = Skipped, int32(len(v.URLs))
		f.Done(v, o)
		return false
	}
	if !v.Addr.IsValid() { // hosts whose addresses are known go on meanwhile
		rarer := time.Duration(1)
		if f.outage.on.Load() {
			rarer = 2 // so that half of the tries are theirs
		}
		if ok, at := f.noDNS.take(now, rarer); !ok {
			return skip(Outcome{NoDNS: true, Wait: max(at.sub(now), noDNSWait)})
		}
	}
	if ok, at := f.outage.take(now, 1); !ok { // another fetcher came first
		return skip(Outcome{Wait: at.sub(now)})
	}
	return true
}

func (f *Frontier) sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(max(d, time.Millisecond))
	defer t.Stop()
	select {
	case <-t.C:
		signal(f.tokens)
	case <-ctx.Done():
	case <-f.done:
	}
}

// wakeFetcher wakes one fetcher, if any sleeps. More tokens than fetchers would wake them to an empty ring.
func (f *Frontier) wakeFetcher() {
	if f.waiting.Load() > 0 && len(f.tokens) <= int(f.fetchers.Load()) {
		signal(f.tokens)
	}
}

// passToken wakes another fetcher if there are visits.
func (f *Frontier) passToken() {
	if f.ring.Load().len() > 0 {
		f.wakeFetcher()
	}
}

// Done returns a visit with its outcome. The last out.Left of its URLs become the host's next ones. The visit
// must not be used after. Done does not wait, and may be called after Close.
func (f *Frontier) Done(v *Visit, out Outcome) {
	out.Left = min(max(out.Left, 0), int32(len(v.URLs)))
	if out.End.IsZero() {
		out.End = f.o.Now()
	}
	switch {
	case out.Kind == HostFailure && out.Local:
		f.failed(v, &out)
	case out.Kind == HostFailure && out.Unrequested:
	case out.Kind != Skipped && out.Kind != Repeat:
		f.outage.answered()
		if !v.Addr.IsValid() || !v.answered { // a host that answered before may have kept its address since
			f.noDNS.answered()
		}
	}
	f.freeShare(v)
	v.done = event{kind: returned, state: v.state, visit: v, out: out}
	if v.patient && out.Kind == Fetched {
		f.pending.Add(1)
		v.state.shard.Load().postLate(&v.done, f.now())
		return
	}
	f.send(&v.done)
}

// failed: a visit failed and the network here may be the cause. Hosts that are not to blame are forgiven.
func (f *Frontier) failed(v *Visit, out *Outcome) {
	if f.Excuses(out.NoDNS) {
		out.Kind = Skipped
		if f.o.OnForgive != nil { // the caller may have drawn its conclusions before the outage was seen
			f.o.OnForgive(v.Host)
		}
	}
	now := f.now()
	failed := failure{v.Host, string(v.Host), v.answered, out.NoDNS}
	if v.Addr.IsValid() {
		failed.addr = v.Addr.String()
	}
	var innocent []urlkey.HostKey
	if !out.NoDNS || f.outage.on.Load() || f.noDNS.may() {
		if innocent = f.outage.failed(failed, now); len(innocent) > 0 {
			f.noDNS.beginWith(&f.outage, now)
		}
	}
	if out.NoDNS && !f.outage.on.Load() {
		failed.addr = string(v.Host)
		innocent = f.noDNS.failed(failed, now)
		f.outage.forgave(innocent)
	}
	f.forgive(v, out, innocent)
}

// forgive takes back the last failure of hosts, of which v may be one.
func (f *Frontier) forgive(v *Visit, out *Outcome, innocent []urlkey.HostKey) {
	for _, h := range innocent {
		if f.o.OnForgive != nil {
			f.o.OnForgive(h)
		}
		if h == v.Host {
			out.Kind = Skipped
		} else if state := f.names.find(h); state != nil {
			f.send(&event{kind: forgiven, state: state})
		} else if f.names.sleeps(h) {
			if f.o.OnHost != nil {
				f.o.OnHost(h, HostState{NotBefore: f.o.Now(), Forgiven: true})
			}
			f.names.forgive(h) // only now: a refill must not find the sleep again
			f.Wake(h)
		}
	}
}

// Outage reports whether the local network seems to be cut.
func (f *Frontier) Outage() bool { return f.outage.on.Load() }

// Excuses reports whether a failure for which Outcome.Local is set says nothing about host and URL now, and should not
// be recorded: the local network seems to be cut, or it was a lookup and no name server seems to answer.
func (f *Frontier) Excuses(noDNS bool) bool { return f.outage.on.Load() || noDNS && f.noDNS.on.Load() }

// Dry receives when a shard has nothing to hand out soon. Stats.Soon says whether that holds for all shards.
func (f *Frontier) Dry() <-chan struct{} { return f.dry }

// Close ends the frontier: waiting calls of Next return ErrClosed, and all goroutines end before it returns.
// Visits in flight may still be returned with Done. Closing again does nothing.
func (f *Frontier) Close() {
	f.closeOnce.Do(func() {
		close(f.done)
		f.jobs.close()
		f.cancel()
	})
	f.wg.Wait()
}
