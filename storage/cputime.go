// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// CPUTimer measures the processor time of a piece of work on one goroutine. Between Start and Stop the
// goroutine keeps its thread to itself, whose own clock is read: what other goroutines do is never
// counted, nor is time spent waiting. Work that goroutines started in between do is not counted either.
// A CPUTimer costs about a microsecond; it must be stopped on the goroutine that started it.
type CPUTimer struct{ start time.Duration }

// StartCPUTimer begins a measurement.
func StartCPUTimer() CPUTimer {
	runtime.LockOSThread()
	return CPUTimer{threadCPU()}
}

// Lap returns the processor time since the start or the last lap.
func (t *CPUTimer) Lap() time.Duration {
	now := threadCPU()
	d := now - t.start
	t.start = now
	return d
}

// Stop ends the measurement and returns the processor time since the start or the last lap.
func (t *CPUTimer) Stop() time.Duration {
	d := t.Lap()
	runtime.UnlockOSThread()
	return d
}

// background adds up the processor time of Pebble's compactions and flushes. Each runs on a goroutine
// of its own, which calls the listener at both ends: timers are kept by job, as two may run at once.
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

// BackgroundCPU returns the processor time of Pebble's compactions and flushes since Open.
func (s *Store) BackgroundCPU() time.Duration { return time.Duration(s.health.background.spent.Load()) }
