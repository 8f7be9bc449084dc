// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"runtime"
	"sync"
	"sync/atomic"
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

// background adds up the CPU time of Pebble's compactions and flushes. Each runs on a goroutine of its
// own, which calls the listener at its start and end. Several may run at once, so there is a timer per
// job.
type background struct {
	spent atomic.Int64 // nanoseconds
	jobs  sync.Map     // job number → CPUTimer
}

func (b *background) begin(job int) {
	b.jobs.Store(job, StartCPUTimer())
}

func (b *background) end(job int) {
	if v, ok := b.jobs.LoadAndDelete(job); ok {
		t := v.(CPUTimer)
		b.spent.Add(int64(t.Stop()))
	}
}

func (b *background) listen(l *pebble.EventListener) {
	l.CompactionBegin = func(i pebble.CompactionInfo) { b.begin(i.JobID) }
	l.CompactionEnd = func(i pebble.CompactionInfo) { b.end(i.JobID) }
	l.FlushBegin = func(i pebble.FlushInfo) { b.begin(i.JobID) }
	l.FlushEnd = func(i pebble.FlushInfo) { b.end(i.JobID) }
}

// BackgroundCPU returns the CPU time of Pebble's finished compactions and flushes since Open.
func (s *Store) BackgroundCPU() time.Duration { return time.Duration(s.health.background.spent.Load()) }
