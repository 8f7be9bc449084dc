// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"runtime"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// CPUTimer measures the CPU time that one goroutine uses. Between StartCPUTimer and Stop the goroutine
// is locked to its thread, and the timer reads that thread's CPU clock. So it counts neither waiting nor
// the work of other goroutines, including those started in between. A measurement costs about a
// microsecond. Lap and Stop must be called on the goroutine that called StartCPUTimer. Where the system
// has no known clock per thread (anything but Linux) a CPUTimer measures wall time, an upper bound.
type CPUTimer struct{ start time.Duration }

// StartCPUTimer starts a measurement and locks the goroutine to its thread until Stop.
func StartCPUTimer() CPUTimer {
	runtime.LockOSThread()
	return CPUTimer{threadCPU()}
}

// Lap returns the CPU time since the start or the last lap.
func (t *CPUTimer) Lap() time.Duration {
	now := threadCPU()
	d := now - t.start
	t.start = now
	return d
}

// Stop ends the measurement and returns the CPU time since the start or the last lap.
func (t *CPUTimer) Stop() time.Duration {
	d := t.Lap()
	runtime.UnlockOSThread()
	return d
}

// CPUMeter adds up the CPU time of pieces of work, of which several may run at once. Any goroutine may read it, also
// while they run. The zero value is ready.
type CPUMeter struct {
	mu      sync.Mutex
	spent   time.Duration // by work that has ended
	running map[*CPUTimer]int
}

// Start measures the calling goroutine, as StartCPUTimer does, until it calls stop.
func (m *CPUMeter) Start() (stop func()) {
	t := StartCPUTimer()
	thread := threadID()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		m.running = map[*CPUTimer]int{}
	}
	m.running[&t] = thread
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.running, &t)
		m.spent += t.Stop()
	}
}

// Spent returns the CPU time so far. Where a thread's clock cannot be read from another one (anywhere but on Linux),
// work that has not ended is not in it.
func (m *CPUMeter) Spent() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.spent
	for t, thread := range m.running {
		if now, ok := cpuOfThread(thread); ok {
			sum += max(now-t.start, 0)
		}
	}
	return sum
}

// background adds up the CPU time of Pebble's compactions and flushes. Each runs on a goroutine of its
// own, which calls the listener at its start and end.
type background struct {
	meter CPUMeter
	jobs  sync.Map // job number → func() that ends its measurement
}

func (b *background) begin(job int) {
	b.jobs.Store(job, b.meter.Start())
}

func (b *background) end(job int) {
	if stop, ok := b.jobs.LoadAndDelete(job); ok {
		stop.(func())()
	}
}

func (b *background) listen(l *pebble.EventListener) {
	l.CompactionBegin = func(i pebble.CompactionInfo) { b.begin(i.JobID) }
	l.CompactionEnd = func(i pebble.CompactionInfo) { b.end(i.JobID) }
	l.FlushBegin = func(i pebble.FlushInfo) { b.begin(i.JobID) }
	l.FlushEnd = func(i pebble.FlushInfo) { b.end(i.JobID) }
}

// BackgroundCPU returns the CPU time of Pebble's compactions and flushes since Open.
func (s *Store) BackgroundCPU() time.Duration { return s.health.background.meter.Spent() }
