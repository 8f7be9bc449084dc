// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seine-crawler/seine/engine/internal/phases"
	"github.com/seine-crawler/seine/engine/internal/segment"
	"github.com/seine-crawler/seine/storage"
)

// stage is a part of the work, for accounts of processor time.
type stage uint8

// The stages, in the order of a URL's life. Stages whose goroutines work more than they wait are measured by the clocks
// of their threads. Fetch is what remains of the process: requests, responses, robots.txt, the frontier, scheduling.
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

var stageNames = [stages]string{
	"inject", "refill", "fetch", "warc", "parse", "seal", "updatedb", "invertlinks", "dedup", "index", "store", "gc",
}

// stageClock adds up processor time by stage. Any goroutine may use it.
type stageClock struct {
	spent [stages]atomic.Int64 // nanoseconds
	work  [stages]storage.CPUMeter
}

func (c *stageClock) add(s stage, d time.Duration) { c.spent[s].Add(int64(d)) }

// time begins a measurement. The caller calls stop at its end, on the same goroutine.
func (c *stageClock) time(s stage) (stop func()) {
	return c.work[s].Start()
}

// spentIn adds the time of a segment's step.
func (c *stageClock) spentIn(step segment.Step, d time.Duration) {
	c.add(stepStages[step], d)
}

var stepStages = [...]stage{segment.StepWARC: stageWARC, segment.StepParse: stageParse, segment.StepSeal: stageSeal}

// sharedStages are the stages of phases that several goroutines share.
var sharedStages = [...]stage{
	phases.StepInject: stageInject, phases.StepUpdateDB: stageUpdateDB, phases.StepInvertLinks: stageInvertLinks,
	phases.StepDedup: stageDedup, phases.StepMergeLinks: stageInvertLinks,
}

// stageTimes are the clocks of all stages at one moment; that of stageFetch is the whole process's.
type stageTimes [stages]time.Duration

// StageCPU is processor time by stage, in the order of a URL's life: inject, refill (choosing URLs for the frontier),
// fetch, warc, parse, seal, updatedb, invertlinks, dedup, index, store (Pebble's compactions and flushes), gc. Its JSON
// is an object of seconds by stage.
type StageCPU []StageSeconds

// StageSeconds is the processor time of one stage, user and system.
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

// UnmarshalJSON is the inverse of MarshalJSON. Stages that this version does not know come last, by name.
func (c *StageCPU) UnmarshalJSON(b []byte) error {
	var m map[string]float64
	if err := json.Unmarshal(b, &m); err != nil || m == nil {
		*c = nil
		return err
	}
	list := make(StageCPU, 0, len(m))
	for _, name := range stageNames {
		if seconds, ok := m[name]; ok {
			list = append(list, StageSeconds{name, seconds})
			delete(m, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, StageSeconds{name, m[name]})
	}
	*c = list
	return nil
}

// String lists the stages with their shares in percent, largest first, without those below 0.5%.
func (c StageCPU) String() string {
	var total float64
	for _, s := range c {
		total += s.Seconds
	}
	list := slices.Clone(c)
	slices.SortStableFunc(list, func(a, b StageSeconds) int { return cmp.Compare(b.Seconds, a.Seconds) })
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
		t[s] = time.Duration(c.spent[s].Load()) + c.work[s].Spent()
	}
	t[stageStore] = store.BackgroundCPU()
	t[stageGC] = collectorCPU()
	t[stageFetch] = processCPU()
	return t
}

// since returns the time of each stage since an earlier moment. The rest of the process counts as fetch.
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

// collectorCPU is the processor time of the garbage collector's own goroutines. What it makes other goroutines do while
// they allocate counts as theirs.
func collectorCPU() time.Duration {
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"}}
	metrics.Read(samples)
	if samples[0].Value.Kind() != metrics.KindFloat64 {
		return 0
	}
	return time.Duration(samples[0].Value.Float64() * float64(time.Second))
}

// processCPU is the processor time of this process so far, user and system.
func processCPU() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
