// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

// errStale: a pooled connection was closed before a byte of the response came.
var errStale = errors.New("pooled connection was closed")

// readers are for connections while they exchange something: one that is idle needs none, and there are far more of
// those. The few that go round stay in the processor's cache.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readBuffer) }}

// exchange writes the request, reads head and body, and parks or closes the connection.
func (c *Client) exchange(ctx context.Context, req *Request, r *Response, cn *conn) error {
	stop := context.AfterFunc(ctx, func() { cn.SetDeadline(time.Unix(1, 0)) })
	cn.r = readers.Get().(*bufio.Reader)
	cn.r.Reset(cn.Conn)
	reuse, err := c.converse(ctx, req, r, cn)
	reuse = reuse && cn.r.Buffered() == 0
	cn.r.Reset(nil)
	readers.Put(cn.r)
	cn.r = nil
	alive := stop() // false: the deadline was already put into the past
	if err != nil || !reuse || !alive {
		cn.Close()
	} else {
		cn.SetDeadline(time.Time{})
		c.park(cn)
	}
	if err != nil && ctx.Err() == context.Canceled {
		return context.Canceled
	}
	return err
}

func (c *Client) converse(ctx context.Context, req *Request, r *Response, cn *conn) (reuse bool, err error) {
	r.Addr, r.TLSUnverified = cn.key.addr, cn.unverified
	end, _ := ctx.Deadline()
	now := time.Now()
	var sent []byte
	r.RequestHead, sent = c.requestHead(r.RequestHead[:0], req)
	cn.SetWriteDeadline(sooner(now.Add(c.o.WriteTimeout), end))
	if _, err := cn.Write(sent); err != nil {
		if r.Reused && !errors.Is(err, os.ErrDeadlineExceeded) {
			return false, errStale
		}
		return false, classify(err, FailWriteTimeout)
	}
	if err := readUntil(ctx, cn, sooner(now.Add(c.o.HeadTimeout), end)); err != nil {
		return false, err
	}
	if err := r.readHead(cn.r); err != nil {
		return false, err
	}
	r.FirstByte = time.Since(now)
	fr, f := r.framing()
	if f != nil {
		return false, f
	}
	if c.o.Accept != nil && r.Status >= 200 && r.Status < 300 && !c.o.Accept(mediaTypeOf(r.Header("Content-Type"))) {
		return false, &fault{failure: FailType} // the rest is cheaper not read: the connection goes with it
	}
	b := bodyReader{c: c, ctx: ctx, cn: cn, r: r, max: req.MaxBody, begun: time.Now(), end: end}
	if b.max <= 0 {
		b.max = c.o.MaxBody
	}
	if err := b.read(fr); err != nil {
		return false, err
	}
	return fr.reuse && r.Truncated == "", nil
}

// mediaTypeOf is the type of a Content-Type field, in lower case and without parameters.
func mediaTypeOf(v []byte) string {
	if i := bytes.IndexByte(v, ';'); i >= 0 {
		v = v[:i]
	}
	return string(bytes.ToLower(bytes.TrimSpace(v)))
}

// readUntil sets a read deadline without undoing a cancellation: that puts the deadline into the past,
// perhaps just before, so the context is looked at after.
func readUntil(ctx context.Context, cn *conn, deadline time.Time) error {
	cn.SetReadDeadline(deadline)
	return ctx.Err()
}

func sooner(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

// readHead reads heads until one that is not interim, keeping only the last.
func (r *Response) readHead(br *bufio.Reader) error {
	for interim := 0; ; interim++ {
		if interim > maxInterim {
			return &fault{failure: FailInterim}
		}
		if err := r.readOneHead(br, interim == 0); err != nil {
			return err
		}
		if f := r.parseHead(); f != nil {
			return f
		}
		if r.Status == 101 {
			return &fault{failure: FailInterim}
		}
		if r.Status >= 200 {
			return nil
		}
	}
}

// readOneHead collects lines up to the blank one.
func (r *Response) readOneHead(br *bufio.Reader, first bool) error {
	r.Head = r.Head[:0]
	for blank := 0; ; {
		line, err := br.ReadSlice('\n')
		if len(r.Head)+len(line) > maxHead {
			return &fault{failure: FailHeadTooLarge}
		}
		switch {
		case err == bufio.ErrBufferFull:
			r.Head = append(r.Head, line...)
			if !startsLikeHTTP(r.Head) {
				return &fault{failure: FailStatusLine}
			}
			continue
		case err != nil && len(r.Head) == 0 && len(line) == 0 && first && blank == 0:
			if r.Reused && !errors.Is(err, os.ErrDeadlineExceeded) {
				return errStale
			}
			if err == io.EOF {
				return &fault{FailClosed, err}
			}
			return classify(err, FailHeadTimeout)
		case err != nil && len(r.Head) == 0 && len(line) > 0 && !bytes.HasPrefix([]byte("HTTP/"), bytes.ToUpper(line[:min(len(line), 5)])):
			return &fault{failure: FailStatusLine} // whatever ended it, it had not begun as HTTP
		case err == io.EOF:
			return &fault{FailReset, io.ErrUnexpectedEOF}
		case err != nil:
			return classify(err, FailHeadTimeout)
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			if len(r.Head) > 0 && r.Head[len(r.Head)-1] == '\n' {
				r.Head = append(r.Head, line...)
				return nil
			}
			if blank++; blank > maxBlank {
				return &fault{failure: FailStatusLine}
			}
			continue
		}
		if len(r.Head) == 0 && !startsLikeHTTP(line) {
			return &fault{failure: FailStatusLine}
		}
		r.Head = append(r.Head, line...)
	}
}

// bodyReader reads a body within its bounds. Trouble on the way truncates the body rather than
// losing it; only a breach of the protocol is a failure.
type bodyReader struct {
	c     *Client
	ctx   context.Context
	cn    *conn
	r     *Response
	max   int64
	begun time.Time
	end   time.Time
	check time.Time // when the rate is looked at next
	more  bool      // what is taken is not the rest of the body, but a chunk of it
}

func (b *bodyReader) read(fr framing) error {
	b.check = b.begun.Add(b.c.o.Grace)
	if readUntil(b.ctx, b.cn, sooner(b.check, b.end)) != nil {
		b.r.Truncated = "time"
		return nil
	}
	switch {
	case fr.chunked:
		return b.chunks()
	case fr.length == 0:
		return nil
	case fr.length > 0:
		want := min(fr.length, b.max)
		if b.take(want) && fr.length > b.max {
			b.r.Truncated = "length"
		}
		return nil
	}
	if b.take(b.max + 1); int64(len(b.r.Body)) > b.max {
		b.r.Body, b.r.Truncated = b.r.Body[:b.max], "length"
	} else if b.r.Truncated == "disconnect" {
		b.r.Truncated = "" // the end of the connection is the end of the body
	}
	return nil
}

// take appends up to n bytes to the body; false means that they did not all come, and why is in
// Truncated.
func (b *bodyReader) take(n int64) bool {
	for n > 0 {
		if err := b.grow(n); err != nil {
			b.r.Truncated = "time"
			return false
		}
		body := b.r.Body
		room := body[len(body):min(int64(cap(body)), b.r.budget, int64(len(body))+n)]
		got, err := b.cn.r.Read(room)
		b.r.Body = body[:len(body)+got]
		n -= int64(got)
		if err == nil {
			if !b.fastEnough() {
				return false
			}
			continue
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && b.ctx.Err() == nil && b.fastEnough() {
			continue
		}
		if b.r.Truncated == "" {
			b.r.Truncated = "disconnect"
			if errors.Is(err, os.ErrDeadlineExceeded) || b.ctx.Err() != nil {
				b.r.Truncated = "time"
			}
		}
		return false
	}
	return true
}

// fastEnough looks, about once a second after the grace, at what has come so far, and sets the next
// deadline.
func (b *bodyReader) fastEnough() bool {
	now := time.Now()
	if now.Before(b.check) {
		return true
	}
	elapsed := now.Sub(b.begun)
	if float64(len(b.r.Body)) < elapsed.Seconds()*float64(b.c.o.MinRate) || !now.Before(b.end) {
		b.r.Truncated = "time"
		return false
	}
	b.check = now.Add(time.Second)
	if readUntil(b.ctx, b.cn, sooner(b.check, b.end)) != nil {
		b.r.Truncated = "time"
		return false
	}
	return true
}

// grow makes room for at least a byte, at most doubling, within the budget of all bodies.
func (b *bodyReader) grow(n int64) error {
	size := int64(len(b.r.Body))
	if size < int64(cap(b.r.Body)) && size < b.r.budget {
		return nil
	}
	if b.more { // else a body of a million chunks would be copied a million times
		n = b.max - size
	}
	step := min(max(n, 1), max(size, budgetStep))
	if err := b.c.budget.Acquire(b.ctx, step); err != nil {
		return err
	}
	b.r.budget += step
	if int64(cap(b.r.Body)) <= size {
		grown := make([]byte, size, size+step)
		copy(grown, b.r.Body)
		b.r.Body = grown
	}
	return nil
}

// chunks reads a chunked body and its trailer.
func (b *bodyReader) chunks() error {
	b.more = true
	for {
		line, err := b.line()
		if err != nil || line == nil {
			return err
		}
		size, f := chunkSize(line)
		if f != nil {
			return f
		}
		if size == 0 {
			return b.trailer()
		}
		room := b.max - int64(len(b.r.Body))
		if !b.take(min(size, room)) {
			return nil
		}
		if size > room {
			b.r.Truncated = "length"
			return nil
		}
		if line, err = b.line(); err != nil || line == nil {
			return err
		}
		if len(line) != 0 {
			return &fault{failure: FailChunk}
		}
	}
}

// line reads one line of the chunk framing, without its line end; nil without error means that the body was
// cut off there. The bytes are valid until the next read. They stay in the reader's buffer until the line is
// complete, so a line that comes in pieces survives the ticks of the rate check.
func (b *bodyReader) line() ([]byte, error) {
	for searched := 0; ; {
		held, _ := b.cn.r.Peek(b.cn.r.Buffered())
		held = held[:min(len(held), maxLine)]
		if i := bytes.IndexByte(held[searched:], '\n'); i >= 0 {
			end := searched + i
			b.cn.r.Discard(end + 1)
			return bytes.TrimSuffix(held[:end:end], []byte{'\r'}), nil
		}
		if len(held) == maxLine {
			return nil, &fault{failure: FailChunk}
		}
		searched = len(held)
		_, err := b.cn.r.Peek(searched + 1)
		late := errors.Is(err, os.ErrDeadlineExceeded)
		switch {
		case err == nil, late && b.ctx.Err() == nil && b.fastEnough():
			continue
		case b.r.Truncated != "": // fastEnough says why
		case late || b.ctx.Err() != nil:
			b.r.Truncated = "time"
		default:
			b.r.Truncated = "disconnect"
		}
		return nil, nil
	}
}

// chunkSize reads "1a2b;extension".
func chunkSize(line []byte) (int64, *fault) {
	if i := bytes.IndexByte(line, ';'); i >= 0 {
		line = line[:i]
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 || len(line) > maxChunk {
		return 0, &fault{failure: FailChunk}
	}
	n, err := strconv.ParseUint(string(line), 16, 62)
	if err != nil {
		return 0, &fault{failure: FailChunk}
	}
	return int64(n), nil
}

func (b *bodyReader) trailer() error {
	for range maxTrailer {
		line, err := b.line()
		if err != nil || line == nil {
			return err
		}
		if len(line) == 0 {
			return nil
		}
	}
	return &fault{failure: FailTrailer}
}
