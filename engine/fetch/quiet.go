// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"crypto/tls"
	"syscall"

	"golang.org/x/sys/unix"
)

// quiet reports whether an idle connection is open and has received nothing. Otherwise a server that sends a
// second, unsolicited response would answer the next request with it.
func (cn *conn) quiet() bool {
	raw := cn.Conn
	if t, ok := raw.(*tls.Conn); ok {
		raw = t.NetConn()
	}
	sc, ok := raw.(syscall.Conn)
	if !ok {
		return true // a connection of Options.Dialer without a file descriptor to check
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	still := false
	err = rc.Read(func(fd uintptr) bool {
		var b [1]byte
		_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		still = err == unix.EAGAIN || err == unix.EWOULDBLOCK
		return true
	})
	return err == nil && still
}
