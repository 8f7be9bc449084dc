// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"
)

// meter counts what the visitors of one host, or of one address, did. Times are nanoseconds since the server started.
//
// A meter must never accuse a polite client. Therefore a request begins when its head has been read, which is later
// than the client sent it, and ends just before the last bytes of the response are written, which is earlier than the
// client can have read them.
type meter struct {
	requests   uint32 // robots.txt included
	robots     uint32
	violations uint32
	tooSoon    uint32
	inFlight   int32
	peak       int32
	paged      bool  // a page has been requested
	lastStart  int64 // of a page request
	lastEnd    int64
	gap        int64 // smallest time from the end of a request to the start of the next; MaxInt64: none
	interval   int64 // smallest time between two starts
}

// meters are the meters of all hosts or addresses of a site. A block of them is allocated when one of it is first
// visited, so a web of ten million hosts costs nothing until then.
type meters struct {
	blocks []atomic.Pointer[meterBlock]
	locks  [64]sync.Mutex // by number modulo 64
}

const blockMeters = 256

type meterBlock [blockMeters]meter

func newMeters(n int) *meters {
	return &meters{blocks: make([]atomic.Pointer[meterBlock], (n+blockMeters-1)/blockMeters)}
}

// at returns a meter. The caller holds its lock.
func (m *meters) at(i int) *meter {
	p := &m.blocks[i/blockMeters]
	b := p.Load()
	if b == nil {
		b = new(meterBlock)
		for j := range b {
			b[j].gap, b[j].interval = math.MaxInt64, math.MaxInt64
		}
		if !p.CompareAndSwap(nil, b) {
			b = p.Load()
		}
	}
	return &b[i%blockMeters]
}

// arrival is one request as it arrives.
type arrival struct {
	at        int64
	robots    bool  // for robots.txt: counted, but not judged by time, since it must come first
	forbidden bool  // by robots.txt
	least     int64 // ns between two starts that the host requires; 0: none
}

func (m *meters) begin(i int, a arrival) {
	l := &m.locks[i%len(m.locks)]
	l.Lock()
	defer l.Unlock()
	v := m.at(i)
	v.requests++
	v.inFlight++
	v.peak = max(v.peak, v.inFlight)
	if a.forbidden {
		v.violations++
	}
	if a.robots {
		v.robots++
		return
	}
	if v.paged {
		interval := a.at - v.lastStart
		v.interval = min(v.interval, interval)
		if a.least > 0 && interval < a.least {
			v.tooSoon++
		}
		if v.inFlight == 1 {
			v.gap = min(v.gap, max(a.at-v.lastEnd, 0))
		} else {
			v.gap = 0 // it began before the previous one had ended
		}
	}
	v.paged, v.lastStart = true, a.at
}

// end ends a request behind which some more were sent, unseen by begin until then.
func (m *meters) end(i int, at int64, robots bool, behind int32) {
	l := &m.locks[i%len(m.locks)]
	l.Lock()
	v := m.at(i)
	v.peak = max(v.peak, v.inFlight+behind)
	v.inFlight--
	if !robots {
		v.lastEnd = at
	}
	l.Unlock()
}

// each calls fn with every meter that was visited, holding its lock.
func (m *meters) each(fn func(i int, v *meter)) {
	for b := range m.blocks {
		block := m.blocks[b].Load()
		if block == nil {
			continue
		}
		for j := range block {
			i := b*blockMeters + j
			l := &m.locks[i%len(m.locks)]
			l.Lock()
			if block[j].requests > 0 {
				fn(i, &block[j])
			}
			l.Unlock()
		}
	}
}

// urlCounts counts how often each URL was requested: the first exactURLs exactly, later ones by hash in a table of
// fixed size, where two URLs may collide and seem to be one that was requested twice.
type urlCounts struct {
	mu     sync.Mutex
	exact  map[string]int
	hashed []uint8 // nil until needed
	// Cells of hashed that are in use, and those counted more than once.
	cells, cellsTwice int
}

func newURLCounts() *urlCounts { return &urlCounts{exact: map[string]int{}} }

// isRobots reports whether a URL is one of a robots.txt.
func isRobots(url string) bool { return strings.HasSuffix(url, "/robots.txt") }

// add counts a URL.
func (c *urlCounts) add(key []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, known := c.exact[string(key)]; known || len(c.exact) < exactURLs {
		c.exact[string(key)] = n + 1
		return
	}
	if isRobots(string(key)) { // the report is about pages
		return
	}
	if c.hashed == nil {
		c.hashed = make([]uint8, hashedURLs)
	}
	cell := &c.hashed[xxh3.Hash(key)%hashedURLs]
	switch *cell {
	case 0:
		c.cells++
	case 1:
		c.cellsTwice++
	case math.MaxUint8:
		return
	}
	*cell++
}

// ledger is everything that a server counts.
type ledger struct {
	began        time.Time
	hosts        *meters
	addresses    *meters
	urls         *urlCounts
	status       [6]atomic.Int64 // by hundreds
	bytes        atomic.Int64
	connections  atomic.Int64
	refused      atomic.Int64 // connections above maxConns, or to an address that is not loopback
	unknownHost  atomic.Int64
	wrongAddress atomic.Int64
	malformed    atomic.Int64
	proxied      atomic.Int64 // requests in absolute form, and tunnels
	tls          atomic.Int64 // handshakes
}

func newLedger(site Site, now time.Time) *ledger {
	n := site.Hosts()
	return &ledger{began: now, hosts: newMeters(n), addresses: newMeters(n), urls: newURLCounts()}
}
