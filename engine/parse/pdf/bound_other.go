// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package pdf

import "time"

// bound does nothing: memory limits mean something else here, so only the Reader's timeout bounds the process.
func bound(uint64, time.Duration) error { return nil }
