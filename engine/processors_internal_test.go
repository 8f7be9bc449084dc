// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math"
	"os"
	"testing"
	"time"
)

// TestProcessors: shares are of the span between two looks, and a look too soon returns the last one.
func TestProcessors(t *testing.T) {
	start := time.Unix(1e9, 0)
	at := func(ms int, own time.Duration, used, whole uint64) processorTimes {
		return processorTimes{start.Add(time.Duration(ms) * time.Millisecond), own, used, whole}
	}
	var p processors
	for i, c := range []struct {
		now          processorTimes
		own, machine float64
	}{
		{at(0, 7*time.Second, 1000, 9000), 0, 0}, // nothing is known before a span has passed
		{at(500, 8*time.Second, 1100, 9100), 0, 0},
		{at(2000, 8*time.Second, 1300, 9400), .25, .75},
		{at(2900, 99*time.Second, 5000, 9800), .25, .75},
		{at(4000, 12*time.Second, 1700, 9800), 1, 1},
		{at(6000, 12*time.Second, 0, 0), 0, 0}, // the machine's clocks cannot be read
		{at(8000, 13*time.Second, 1700, 9900), .25, 0},
		{at(10000, 13*time.Second, 1710, 10000), 0, .1},
		{at(12000, 14*time.Second, 1690, 10100), .25, 0}, // less was stolen than it said
	} {
		s := p.next(c.now, 2)
		if math.Abs(s.own-c.own) > 1e-9 || math.Abs(s.machine-c.machine) > 1e-9 {
			t.Errorf("look %d: %.2f and %.2f of the processors, want %.2f and %.2f",
				i, s.own, s.machine, c.own, c.machine)
		}
	}
	for _, c := range []struct {
		s           processorShare
		full, taken bool
	}{
		{processorShare{}, false, false}, {processorShare{2, .5, .6}, false, false},
		{processorShare{2, .9, .99}, true, false}, {processorShare{2, .5, .99}, false, true},
	} {
		if c.s.full() != c.full || c.s.taken() != c.taken {
			t.Errorf("%+v: full %t, taken %t", c.s, c.s.full(), c.s.taken())
		}
	}
}

// TestMachineTicks: what Linux says is read; of anything else nothing is known.
func TestMachineTicks(t *testing.T) {
	for _, c := range []struct {
		stat        string
		used, whole uint64
	}{
		{"cpu  10 20 30 400 50 6 7 8 9 11\ncpu0 1 1 1 1 1 1 1 1 1 1\n", 61, 531},
		{"cpu  10 20 30 400 50", 40, 510}, // an old kernel
		{"cpu  10 20 x 400 50 6 7 8", 0, 0},
		{"intr 1 2 3 4 5 6 7", 0, 0}, {"cpu 1 2", 0, 0}, {"", 0, 0},
	} {
		if used, whole := machineTicks([]byte(c.stat)); used != c.used || whole != c.whole {
			t.Errorf("%q: %d of %d, want %d of %d", c.stat, used, whole, c.used, c.whole)
		}
	}
	if _, err := os.Stat("/proc/stat"); err != nil {
		return // not Linux
	}
	// A process that works for some time is seen by both clocks.
	var before, after processorTimes
	read := func(to *processorTimes) {
		b, err := os.ReadFile("/proc/stat")
		if err != nil {
			t.Fatal(err)
		}
		to.own = processCPU()
		to.used, to.whole = machineTicks(b)
	}
	read(&before)
	for after = before; after.own < before.own+300*time.Millisecond; read(&after) {
	}
	used, whole := after.used-before.used, after.whole-before.whole
	if whole > 0 && used == 0 || used > whole {
		t.Errorf("%d ticks of %d were used", used, whole)
	}
	var p processors
	p.began = processorTimes{at: time.Now().Add(-time.Hour), own: -1}
	if s := p.look(2); s.count == 0 || s.own <= 0 || s.own > 1 {
		t.Errorf("after an hour with some work: %+v", s)
	}
}

// TestProcessorsAllowed: the least quota of the control groups around this process counts, and what cannot be read
// bounds nothing.
func TestProcessorsAllowed(t *testing.T) {
	const all = 2.0
	for _, c := range []struct {
		files map[string]string
		want  float64
	}{
		{nil, all},
		{map[string]string{"/sys/fs/cgroup/cpu.max": "max 100000\n"}, all},
		{map[string]string{"/sys/fs/cgroup/cpu.max": "50000 100000\n"}, .5},
		{map[string]string{"/sys/fs/cgroup/cpu.max": "100000000 100000\n"}, all},
		{map[string]string{
			"/proc/self/cgroup": "3:cpu:/old\n0::/a/b\n", "/sys/fs/cgroup/a/b/cpu.max": "80000 100000\n",
			"/sys/fs/cgroup/a/cpu.max": "75000 100000", "/sys/fs/cgroup/old/cpu.max": "1 100000",
		}, .75},
		{map[string]string{"/proc/self/cgroup": "0::/../..\n", "/sys/fs/cgroup/cpu.max": "20000 100000"}, .2},
		{map[string]string{"/proc/self/cgroup": "x", "/sys/fs/cgroup/cpu.max": "0 y"}, all},
	} {
		got := processorsAllowed(2, func(name string) ([]byte, error) {
			if text, ok := c.files[name]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		})
		if got != c.want {
			t.Errorf("%v: %v processors, want %v", c.files, got, c.want)
		}
	}
}
