// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// autoMemory as --memory is a quarter of the machine's memory, at least memoryMin and at most 70 percent: a server that
// crawls has other work too. memoryMin is in bytes.
const (
	autoMemory = "auto"
	memoryMin  = 1 << 30
)

// defaultMemory is what autoMemory means on a machine with this number of bytes; 0 means unknown.
func defaultMemory(has int64) int64 {
	if has <= 0 {
		return memoryMin
	}
	return min(max(has/4, memoryMin), has/10*7)
}

// machineMemory is the memory of the machine in bytes, or the limit of its container (cgroup v2) if that is lower; 0 if
// it is unknown. Go's runtime reads neither.
func machineMemory(root fs.FS) (bytes int64) {
	text, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			bytes = kb << 10
		}
	}
	text, _ = fs.ReadFile(root, "sys/fs/cgroup/memory.max")
	most, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err == nil && most > 0 && (most < bytes || bytes == 0) {
		bytes = most
	}
	return bytes
}

// servingGC is how far a server lets the heap grow between two collections, in percent of what is in use; Go's default
// is 100. Searches leave much garbage and keep little, so a collection that comes less often costs less of each.
// --memory bounds all of it: near that limit Go collects as often as it must.
const servingGC = 300

// collectRarely sets servingGC, unless the variable GOGC of Go's runtime says otherwise.
func collectRarely() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(servingGC)
	}
}

// parseMemory reads --memory: a size, or auto.
func parseMemory(s string) (int64, error) {
	if s == autoMemory {
		return defaultMemory(machineMemory(os.DirFS("/"))), nil
	}
	return parseBytes(s)
}
