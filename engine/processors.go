// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// processors measures how busy the processors are, from one look to the next. The zero value is ready, and safe for
// concurrent use.
type processors struct {
	mu    sync.Mutex
	began processorTimes
	share processorShare
}

// processorShare is how busy processors were in the last seconds. The zero value says that it is not known.
type processorShare struct {
	count   float64 // that this process may use; a quota of the system may be a fraction
	own     float64 // of the time of these, the part that this process used: 1 is all
	machine float64 // of the time of the machine's processors, the part that all used; 0: not known
}

// Beyond these parts processors are full: what little is left is in pieces that nothing can use.
const (
	ownFull     = 0.85
	machineFull = 0.95
)

// full reports whether this process uses all processors.
func (p processorShare) full() bool { return p.own >= ownFull }

// taken reports whether other programs use what this process leaves.
func (p processorShare) taken() bool { return !p.full() && p.machine >= machineFull }

// processorTimes are the clocks of processors at one moment.
type processorTimes struct {
	at          time.Time
	own         time.Duration
	used, whole uint64 // of the machine, in ticks; 0: not known
}

// processorsSpan is the least time over which a share is measured: shorter ones say more of the clocks' ticks, a
// hundredth of a second each, than of the crawl.
const processorsSpan = time.Second

// look returns the share of the last span that has ended, of most processors. Spans end when it is called.
func (p *processors) look(most int) processorShare {
	now := processorTimes{at: time.Now(), own: processCPU()} // processors know no other time
	if b, err := os.ReadFile("/proc/stat"); err == nil {
		now.used, now.whole = machineTicks(b)
	}
	return p.next(now, processorsAllowed(most, os.ReadFile))
}

// next is look at known clocks.
func (p *processors) next(now processorTimes, count float64) processorShare {
	p.mu.Lock()
	defer p.mu.Unlock()
	passed := now.at.Sub(p.began.at)
	if !p.began.at.IsZero() && passed >= processorsSpan {
		p.share = processorShare{count: count, own: float64(now.own-p.began.own) / float64(passed) / count}
		// The time that a hypervisor took may be less than it was said to be before.
		if now.whole > p.began.whole && now.used >= p.began.used && p.began.whole > 0 {
			p.share.machine = float64(now.used-p.began.used) / float64(now.whole-p.began.whole)
		}
	}
	if p.began.at.IsZero() || passed >= processorsSpan {
		p.began = now
	}
	return p.share
}

// processorsAllowed returns how many processors this process may use, most at most. Where Linux grants its control
// group a share of their time, Go's GOMAXPROCS is that share rounded up, and at least 2.
func processorsAllowed(most int, read func(name string) ([]byte, error)) float64 {
	allowed := float64(most)
	const root = "/sys/fs/cgroup"
	group := "/"
	if b, err := read("/proc/self/cgroup"); err == nil { // 0::/its/name
		for line := range strings.Lines(string(b)) {
			if name, ok := strings.CutPrefix(line, "0::"); ok {
				group = path.Clean("/" + strings.TrimSpace(name))
			}
		}
	}
	for ; ; group = path.Dir(group) { // each group around it may have a bound, too
		var quota, period float64
		if b, err := read(path.Join(root, group, "cpu.max")); err == nil {
			if n, _ := fmt.Sscan(string(b), &quota, &period); n == 2 && quota > 0 && period > 0 {
				allowed = min(allowed, quota/period)
			}
		}
		if group == "/" {
			return allowed
		}
	}
}

// machineTicks reads what the processors did since the machine started, from Linux's /proc/stat: what was used, by
// programs, by the system and by other virtual machines, and that with what was idle. It is 0, 0 of anything else.
// Programs of low priority count as idle: they give way.
func machineTicks(stat []byte) (used, whole uint64) {
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := bytes.Fields(line)
	// of "cpu user nice system idle iowait irq softirq steal guest guest_nice"
	const nice, idle, ioWait, steal = 2, 4, 5, 8
	if len(fields) <= ioWait || string(fields[0]) != "cpu" {
		return 0, 0
	}
	for i, field := range fields[:min(len(fields), steal+1)] {
		if i == 0 {
			continue
		}
		n, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return 0, 0
		}
		if whole += n; i != nice && i != idle && i != ioWait {
			used += n
		}
	}
	return used, whole
}
