// SPDX-License-Identifier: Apache-2.0

package fetch

import "golang.org/x/sys/unix"

// unacknowledged reports whether bytes that were written to a socket have not been acknowledged.
func unacknowledged(fd uintptr) bool {
	n, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	return err == nil && n > 0
}
