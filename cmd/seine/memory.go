// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// autoMemory as --memory is a quarter of what the machine has, at least memoryMin but no more than seven
// tenths of it: a server that crawls has other work too.
const (
	autoMemory = "auto"
	memoryMin  = 1 << 30
)

func defaultMemory(has int64) int64 {
	if has <= 0 {
		return memoryMin
	}
	return min(max(has/4, memoryMin), has/10*7)
}

// machineMemory is the memory of the machine, or of the container (cgroup v2) if that may have less; 0 when
// it cannot be found out. Go's runtime asks for neither.
func machineMemory(root fs.FS) (bytes int64) {
	text, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			bytes = kb << 10
		}
	}
	text, _ = fs.ReadFile(root, "sys/fs/cgroup/memory.max")
	if most, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && most > 0 && (most < bytes || bytes == 0) {
		bytes = most
	}
	return bytes
}

func parseMemory(s string) (int64, error) {
	if s == autoMemory {
		return defaultMemory(machineMemory(os.DirFS("/"))), nil
	}
	return parseBytes(s)
}
