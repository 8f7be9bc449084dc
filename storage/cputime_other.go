// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package storage

import "time"

var began = time.Now()

// threadCPU is wall time where threads have no clock that we know of: an upper bound.
func threadCPU() time.Duration { return time.Since(began) }
