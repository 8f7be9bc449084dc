// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadCPU returns the CPU time of this thread, user and system; 0 if the system does not report it.
func threadCPU() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// threadID is the number of this thread, for cpuOfThread.
func threadID() int { return unix.Gettid() }

// cpuOfThread returns the CPU time of a thread of this process, user and system. The number of its clock is that of
// pthread_getcpuclockid(3): the complement of the thread's number, then bits for "one thread" and "scheduled time".
func cpuOfThread(thread int) (time.Duration, bool) {
	const perThread, scheduled = 4, 2
	var ts unix.Timespec
	if unix.ClockGettime(int32(^thread)<<3|perThread|scheduled, &ts) != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}
