// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
)

// input is standard input for a command whose context is ctx: a read that waits, for a person or for another program,
// ends with ctx. Without that a command would notice Ctrl-C only at the next line.
func (c *console) input(ctx context.Context) io.Reader {
	if info := infoOf(c.in); info != nil && info.Mode().IsRegular() {
		return c.in // it never waits
	}
	return &waitingInput{ctx: ctx, from: c.in, buf: make([]byte, 64<<10), ends: make(chan inputRead, 1)}
}

// waitingInput reads on a goroutine of its own, which one read may outlast: then the process is about to end.
type waitingInput struct {
	ctx  context.Context
	from io.Reader
	buf  []byte // belongs to the goroutine while reading is set
	ends chan inputRead

	reading bool
	rest    []byte // of buf, not returned yet
	err     error  // comes after rest
}

// inputRead is how a read of the goroutine ended.
type inputRead struct {
	n   int
	err error
}

// Read implements io.Reader.
func (i *waitingInput) Read(p []byte) (int, error) {
	for len(i.rest) == 0 && i.err == nil {
		if !i.reading {
			i.reading = true
			go func() {
				n, err := i.from.Read(i.buf)
				i.ends <- inputRead{n, err}
			}()
		}
		select {
		case r := <-i.ends:
			i.reading, i.rest, i.err = false, i.buf[:r.n], r.err
		case <-i.ctx.Done():
			return 0, i.ctx.Err()
		}
	}
	if len(i.rest) == 0 {
		return 0, i.err
	}
	n := copy(p, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}
