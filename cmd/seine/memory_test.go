// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"testing/fstest"
)

// TestMachineMemory: a container's limit counts if it is lower than the machine's memory.
func TestMachineMemory(t *testing.T) {
	const meminfo = "MemTotal:       24689664 kB\nMemFree:        1 kB\n"
	for _, c := range []struct {
		meminfo, cgroup string
		has, use        int64
	}{
		{meminfo, "max\n", 24689664 << 10, 24689664 << 10 / 4},
		{meminfo, "8589934592\n", 8 << 30, 2 << 30},
		{meminfo, "99999999999999\n", 24689664 << 10, 24689664 << 10 / 4},
		{"MemTotal: 1048576 kB\n", "", 1 << 30, 1 << 30 / 10 * 7},
		{"", "", 0, 1 << 30},
	} {
		root := fstest.MapFS{
			"proc/meminfo":             {Data: []byte(c.meminfo)},
			"sys/fs/cgroup/memory.max": {Data: []byte(c.cgroup)},
		}
		if has := machineMemory(root); has != c.has || defaultMemory(has) != c.use {
			t.Errorf("%q %q: has %d, use %d; want %d, %d", c.meminfo, c.cgroup, has, defaultMemory(has), c.has, c.use)
		}
	}
}
