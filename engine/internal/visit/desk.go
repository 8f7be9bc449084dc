// SPDX-License-Identifier: Apache-2.0

package visit

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/frontier"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// desk is what the fetchers of a pool share: where visits come from and where attempts go. Pool embeds one.
type desk struct {
	env      Env
	hosts    *Hosts
	frontier *frontier.Frontier
	source   *Source

	// seg is the open segment. Fetchers and the syncer hold segMu for reading while they use it. Rotate holds it for
	// writing to replace it.
	segMu sync.RWMutex
	seg   *segment.Writer

	limits   atomic.Pointer[Limits]
	began    time.Time // of the fetchers
	pages    pageLimit
	storing  atomic.Int64 // responses that wait for a slot or are being stored
	received atomic.Int64 // bytes
	replayed atomic.Int64 // requests that were, or will be, sent again
	epoch    time.Time    // before the first request
	answered atomic.Int64 // when the last request ended, ns since epoch; 0: none did
	syncs    syncs        // that are under way
	gate     gate

	filesLacked sync.Once // a warning
}

// Reached returns the first limit that is reached. It comes after Start; any goroutine may call it.
func (d *desk) Reached() Limit {
	limits := d.limits.Load()
	switch {
	case d.pages.reached():
		return LimitPages
	case limits.MaxBytes != 0 && d.received.Load() >= limits.MaxBytes:
		return LimitBytes
	case limits.MaxTime != 0 && d.env.Now().Sub(d.began) >= limits.MaxTime:
		return LimitTime
	}
	return NoLimit
}

// noteAnswer notes that a request has ended, by the time that has passed: a clock that is set anew says nothing of it.
func (d *desk) noteAnswer(at time.Time) { d.answered.Store(int64(at.Sub(d.epoch))) }

// store appends an attempt at a URL of a host, the request of a fetcher, to the open segment. pages is what it costs of
// a budget of pages.
func (d *desk) store(a *segment.Attempt, host urlkey.HostKey, pages int64, from *flight) (fetched bool, err error) {
	at := &from.doing
	d.storing.Add(1)
	defer d.storing.Add(-1)
	at.set(DoingSlot)
	defer at.set(DoingPrepare)
	s := d.hosts.slots.take()
	defer d.hosts.slots.put(s)
	if d.env.GiveWay != nil {
		start := time.Now()
		defer func() {
			at.set(DoingSlot)
			d.env.GiveWay(time.Since(start))
		}()
	}
	if a.Response != nil {
		defer a.Response.DropContent()
	}
	at.write()
	a.Parses = &at.parses
	bytes := a.Add(d.source.unseen.takeLoose(host))
	d.segMu.RLock()
	status, err := d.seg.Store(a, s)
	d.source.unseen.stored(host, d.seg.Number(), frontier.Cost{URLs: pages, Bytes: bytes, Time: a.Took})
	d.segMu.RUnlock()
	from.over() // before the callback, which may delete URLs
	if err == nil && d.env.Page != nil {
		at.set(DoingPage)
		d.env.Page(a, s)
	}
	return status == storage.FetchSuccess, err
}

// keepRobots appends a response to a request for robots.txt to the open segment's WARC.
func (d *desk) keepRobots(u urlkey.URL, r *fetch.Response) error {
	d.segMu.RLock()
	defer d.segMu.RUnlock()
	return d.seg.KeepRobots(u, r)
}

// follow is the followFunc of a run.
func (d *desk) follow(to urlkey.URL) *deferredRobots {
	w := &waitingRobots{
		deferredRobots: &deferredRobots{until: d.env.Now().Add(deferredPatience)}, hops: 1,
	}
	if !d.send(w, to) {
		return nil
	}
	return w.deferredRobots
}

// send has a robots.txt requested in its host's turn; false: that is not possible. w.hops counts this redirect.
func (d *desk) send(w *waitingRobots, to urlkey.URL) bool {
	if w.hops > robotsRedirectsMax {
		w.end(robotsAnswer{status: 404})
		return true
	}
	host := to.HostKey()
	if d.env.Admission.RefusesHost(host) {
		return false
	}
	w.wait(max(d.frontier.Host(host).Delay, 0))
	k := to.Key()
	c := frontier.Candidate{Rest: string(k[len(host):]), Score: math.MaxFloat32, Tag: tagRobots, Counted: true}
	if d.source.deferred.add(k, w) && !d.frontier.Ask(host, c) {
		d.source.deferred.drop(k)
	}
	return true
}
