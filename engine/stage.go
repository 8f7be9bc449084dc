// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
)

// stage is a part of the work that processor time is accounted to.
type stage uint8

// The stages, in the order of a URL's life. What runs on a goroutine of ours that is not made of
// waiting is measured by its thread's clock; fetch is what remains of the process: requests, responses,
// robots.txt, the frontier and the runtime's scheduling, whose goroutines wait more than they work.
const (
	stageInject stage = iota
	stageRefill       // choosing URLs for the frontier: scans of crawldb
	stageFetch
	stageWARC // compressing, digests and writing
	stageParse
	stageSeal
	stageUpdateDB
	stageInvertLinks
	stageDedup
	stageIndex
	stageStore // Pebble's compactions and flushes
	stageGC    // the collector's own goroutines, by the runtime's estimate
	stages
)

var stageNames = [stages]string{"inject", "refill", "fetch", "warc", "parse", "seal", "updatedb", "invertlinks", "dedup", "index", "store", "gc"}

// stageClock adds up processor time by stage. Safe for concurrent use.
type stageClock struct {
	spent [stages]atomic.Int64 // nanoseconds
}

func (c *stageClock) add(s stage, d time.Duration) { c.spent[s].Add(int64(d)) }

// time begins a phase and returns the function that ends it, to be called on the same goroutine.
func (c *stageClock) time(s stage) (stop func()) {
	t := storage.StartCPUTimer()
	return func() { c.add(s, t.Stop()) }
}

// spentIn accounts a step of a segment.
func (c *stageClock) spentIn(step segment.Step, d time.Duration) {
	c.add(stepStages[step], d)
}

var stepStages = [...]stage{segment.StepWARC: stageWARC, segment.StepParse: stageParse, segment.StepSeal: stageSeal}

// stageTimes are the clocks of all stages at one moment; that of stageFetch is the whole process's.
type stageTimes [stages]time.Duration

// StageCPU is processor time in seconds by stage, in the order of a URL's life.
type StageCPU []StageSeconds

// StageSeconds is one stage's processor time.
type StageSeconds struct {
	Stage   string
	Seconds float64
}

// MarshalJSON writes an object of seconds by stage.
func (c StageCPU) MarshalJSON() ([]byte, error) {
	m := make(map[string]float64, len(c))
	for _, s := range c {
		m[s.Stage] = s.Seconds
	}
	return json.Marshal(m)
}

// String names the stages with the most time first, with their shares.
func (c StageCPU) String() string {
	var total float64
	for _, s := range c {
		total += s.Seconds
	}
	list := slices.Clone(c)
	slices.SortStableFunc(list, func(a, b StageSeconds) int {
		switch {
		case a.Seconds > b.Seconds:
			return -1
		case a.Seconds < b.Seconds:
			return 1
		}
		return 0
	})
	var parts []string
	for _, s := range list {
		if share := 100 * s.Seconds / total; share >= 0.5 {
			parts = append(parts, fmt.Sprintf("%s %.0f%%", s.Stage, share))
		}
	}
	return strings.Join(parts, ", ")
}

// times reads all clocks.
func (c *stageClock) times(store *storage.Store) (t stageTimes) {
	for s := range t {
		t[s] = time.Duration(c.spent[s].Load())
	}
	t[stageStore] = store.BackgroundCPU()
	t[stageGC] = collectorCPU()
	t[stageFetch] = processCPU()
	return t
}

// since returns what each stage took since an earlier moment. The process's other work counts as fetch.
func (t stageTimes) since(before stageTimes) StageCPU {
	rest := t[stageFetch] - before[stageFetch]
	out := make(StageCPU, stages)
	for s := range stages {
		d := t[s] - before[s]
		out[s] = StageSeconds{stageNames[s], d.Seconds()}
		if s != stageFetch {
			rest -= d
		}
	}
	out[stageFetch].Seconds = max(rest, 0).Seconds()
	return out
}

// collectorCPU is what the garbage collector's own goroutines took; what it makes others do while they
// allocate is on the clocks of these.
func collectorCPU() time.Duration {
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"}}
	metrics.Read(samples)
	var sum float64
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindFloat64 {
			sum += s.Value.Float64()
		}
	}
	return time.Duration(sum * float64(time.Second))
}

// processCPU is the processor time of this process so far, user and system.
func processCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
