// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package fetch

// unacknowledged is known on Linux only.
func unacknowledged(uintptr) bool { return false }
