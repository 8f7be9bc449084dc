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
