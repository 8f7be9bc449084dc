// SPDX-License-Identifier: Apache-2.0

package pdf

import (
	"time"

	"golang.org/x/sys/unix"
)

// bound limits the memory, in bytes, and the processor time of this process, for the rest of its life.
func bound(memory uint64, cpu time.Duration) error {
	seconds := uint64(cpu/time.Second) + 1
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds}); err != nil {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: memory, Max: memory})
}
