// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// idleState is what an idle connection has done.
type idleState uint8

const (
	quiet   idleState = iota // open, and nothing has come
	talking                  // something unsolicited came
	ended                    // closed or broken
)

// socket asks the kernel about a connection. Its functions are made once, since a kept connection uses them for each
// exchange.
type socket struct {
	raw     syscall.RawConn // nil: a connection of Options.Dialer without a file descriptor
	state   idleState
	unacked bool
	peek    func(fd uintptr) bool // sets state
	count   func(fd uintptr)      // sets unacked
}

func (s *socket) init(c net.Conn) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	s.raw = raw
	s.peek = func(fd uintptr) bool {
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case err == unix.EAGAIN || err == unix.EWOULDBLOCK:
			s.state = quiet
		case err == nil && n > 0:
			s.state = talking
		}
		return true
	}
	s.count = func(fd uintptr) { s.unacked = unacknowledged(fd) }
}

// look reports what an idle connection has done. A server that sends a second, unsolicited response would answer the
// next request with it, so only a quiet one may be used.
func (cn *conn) look() idleState {
	t, secure := cn.Conn.(*tls.Conn)
	if secure {
		// What came together with the last record of a response is in TLS's own buffer.
		cn.wire.dry = true
		var b [1]byte
		n, err := t.Read(b[:])
		cn.wire.dry = false
		switch {
		case n > 0:
			return talking
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return ended
		}
	}
	if cn.socket.raw == nil {
		return quiet
	}
	cn.socket.state = ended
	// An error leaves the state as it is.
	_ = cn.socket.raw.Read(cn.socket.peek)
	if cn.socket.state == talking && secure {
		return ended // it may be a session ticket, which does no harm
	}
	return cn.socket.state
}

// premature reports whether the server cannot have seen the request that was written last, although bytes have come
// since: its side has not acknowledged all of the request, and a response acknowledges it. Then these bytes are a late
// response to something else. It is called after the first bytes were read.
func (cn *conn) premature() bool {
	if cn.socket.raw == nil {
		return false
	}
	cn.socket.unacked = false
	// An error leaves unacked as it is.
	_ = cn.socket.raw.Control(cn.socket.count)
	return cn.socket.unacked
}
