// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package storage

import "time"

var began = time.Now()

// threadCPU returns wall time, an upper bound, where the system has no known clock per thread.
func threadCPU() time.Duration { return time.Since(began) }

func threadID() int { return 0 }

func cpuOfThread(int) (time.Duration, bool) { return 0, false }
