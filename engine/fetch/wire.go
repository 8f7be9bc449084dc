// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"net"
	"os"
)

// wire is the lowest layer of a connection. It counts everything that is received, whatever is above it: TLS records
// and handshakes, what a proxy says, heads, the framing of bodies. One goroutine reads at a time.
type wire struct {
	net.Conn
	received int64 // bytes
	// limit bounds received: beyond it Read fails with FailOverhead. Each exchange raises it as bytes of its body
	// arrive, so one read may exceed it by what a body takes.
	limit int64
	// dry keeps the connection still while TLS is asked what it holds: Read says at once that nothing has come, and
	// Write, which TLS might use for an answer, that there is no time.
	dry bool
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	switch {
	case w.dry:
		return 0, os.ErrDeadlineExceeded
	case w.received > w.limit:
		return 0, &fault{failure: FailOverhead}
	}
	n, err := w.Conn.Read(p)
	w.received += int64(n)
	return n, err
}

// Write implements net.Conn.
func (w *wire) Write(p []byte) (int, error) {
	if w.dry {
		return 0, os.ErrDeadlineExceeded
	}
	return w.Conn.Write(p)
}
