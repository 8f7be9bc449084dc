// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// readers are lent to connections for an exchange. Most connections are idle and need none, and the few readers
// in use stay in the processor's cache.
var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readBuffer) }}

// exchange writes the request, reads head and body, and parks or closes the connection.
//
// On kept connections, writing takes 32% of the time, reading 17%, the two checks for unsolicited data (when a
// connection is taken and when the first bytes have come) 9%, the request head 9%, allocation 7%, the context and the
// timer of the deadline 7%. On new connections, connecting and closing take over half.
func (c *Client) exchange(ctx context.Context, req *Request, r *Response, cn *conn) error {
	stop := context.AfterFunc(ctx, func() { cn.SetDeadline(time.Unix(1, 0)) })
	cn.wire.limit = cn.wire.received + maxOverhead
	cn.r = readers.Get().(*bufio.Reader)
	cn.r.Reset(cn.Conn)
	reuse, err := c.converse(ctx, req, r, cn)
	reuse = reuse && cn.r.Buffered() == 0
	cn.r.Reset(nil)
	readers.Put(cn.r)
	cn.r = nil
	r.Received += cn.wire.received - cn.counted
	cn.counted = cn.wire.received
	alive := stop() // false: the cancellation has already changed the deadline
	if err != nil || !reuse || !alive {
		cn.Close()
	} else {
		cn.SetDeadline(time.Time{})
		c.park(cn)
	}
	return err
}

// converse makes the exchange on cn, whose reader is set. reuse tells whether cn may serve again.
func (c *Client) converse(ctx context.Context, req *Request, r *Response, cn *conn) (reuse bool, err error) {
	req.at(StepHead)
	r.Addr, r.TLSUnverified = cn.key.addr, cn.unverified
	end, _ := ctx.Deadline()
	now := time.Now()
	var sent []byte
	r.RequestHead, sent = c.requestHead(r.RequestHead[:0], req)
	cn.SetWriteDeadline(sooner(now.Add(c.o.WriteTimeout), end))
	if _, err := cn.Write(sent); err != nil {
		if r.Reused && !errors.Is(err, os.ErrDeadlineExceeded) {
			return false, c.stale(cn, err)
		}
		return false, classify(err, FailWriteTimeout)
	}
	if err := readUntil(ctx, cn, sooner(now.Add(c.o.HeadTimeout), end)); err != nil {
		return false, err
	}
	if r.Reused {
		// Only here may the server be at fault for what it did with the request before this one. An error but these
		// comes again when the head is read.
		switch _, err := cn.r.Peek(1); {
		case err == nil && cn.premature():
			return false, c.stale(cn, errPremature)
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			return false, c.stale(cn, err)
		}
	}
	if err := r.readHead(cn.r); err != nil {
		return false, err
	}
	r.FirstByte = time.Since(now)
	if r.Status == http.StatusProxyAuthRequired && c.proxy.absolute(cn.key.secure) {
		// It is the proxy's own. As a site's answer to the request for its robots.txt it would permit everything.
		return false, &fault{FailProxy, errProxyPassword}
	}
	fr, f := r.framing()
	if f != nil {
		return false, f
	}
	ok := r.Status >= 200 && r.Status < 300
	if c.o.Accept != nil && ok && !req.AnyType && !c.o.Accept(mediaTypeOf([]byte(r.ContentType()))) {
		return false, &fault{failure: FailType} // closing the connection is cheaper than reading the body
	}
	b := bodyReader{c: c, ctx: ctx, cn: cn, r: r, max: req.MaxBody, begun: time.Now(), end: end, req: req}
	if b.max <= 0 {
		b.max = c.o.MaxBody
	} else {
		b.max = min(b.max, c.o.MaxBody) // the budget has a reserve for no more
	}
	req.at(StepBody)
	r.held = c.budget.begin(func() { cn.SetReadDeadline(time.Unix(1, 0)) })
	defer r.held.received()
	if err := b.read(fr); err != nil {
		return false, err
	}
	r.CutOff = r.Truncated != "" && r.held.cutOff.Load()
	return fr.reuse && r.Truncated == "", nil
}

var errPremature = errors.New("bytes came before the server had the request")

// stale notes that the server broke off a kept connection, or sent something unsolicited on it, and returns the
// failure of the request that met this.
func (c *Client) stale(cn *conn, err error) error {
	c.lapsed.note(cn.key.server(), c.o.Now())
	return &fault{FailStale, err}
}

// mediaTypeOf returns the media type of a Content-Type field, in lower case and without parameters.
func mediaTypeOf(v []byte) string {
	if i := bytes.IndexByte(v, ';'); i >= 0 {
		v = v[:i]
	}
	return string(bytes.ToLower(bytes.TrimSpace(v)))
}

// readUntil sets a read deadline without undoing a cancellation. A cancellation moves the deadline into the
// past, perhaps just before this call, so the context is checked after it.
func readUntil(ctx context.Context, cn *conn, deadline time.Time) error {
	cn.SetReadDeadline(deadline)
	return ctx.Err()
}

// sooner returns the earlier time. A zero b means none.
func sooner(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

// readHead reads heads until one is not interim (1xx), and keeps only the last.
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

// readOneHead reads lines up to the blank one into r.Head. first: no interim head came before.
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
			if err == io.EOF {
				return &fault{FailClosed, err}
			}
			return classify(err, FailHeadTimeout)
		case err != nil && len(r.Head) == 0 && len(line) > 0 && !mayBecomeHTTP(line):
			return &fault{failure: FailStatusLine} // however it ended, it did not begin as HTTP
		case err == io.EOF:
			return &fault{FailReset, io.ErrUnexpectedEOF}
		case err != nil:
			return classify(err, FailHeadTimeout)
		}
		if n := len(r.Head); n > 0 && r.Head[n-1] != '\n' { // the rest of a line that did not fit, or but its end
			r.Head = append(r.Head, line...)
			continue
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			if len(r.Head) > 0 {
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

// mayBecomeHTTP reports whether the start of a line, which has at least one byte, agrees with "HTTP/".
func mayBecomeHTTP(line []byte) bool {
	return bytes.HasPrefix([]byte("HTTP/"), bytes.ToUpper(line[:min(len(line), 5)]))
}

// bodyReader reads a body within its bounds. The deadline of the fetch, a closed connection or a bound truncates the
// body. A violation of the protocol or of the minimum rate is a failure.
type bodyReader struct {
	c     *Client
	ctx   context.Context
	cn    *conn
	r     *Response
	max   int64
	begun time.Time
	end   time.Time
	check time.Time // next check of the rate
	more  bool      // take reads chunks: more may follow
	long  bool      // the bound was raised, or must not be
	fault *fault    // why the body is not to be kept; nil: it is
	req   *Request
	ended bool // the server closed the connection in order, over TLS at the end of a record
}

// read reads the body. The error is nil for a truncated one.
func (b *bodyReader) read(fr framing) error {
	err := b.framed(fr)
	if b.fault == nil && b.r.Truncated == "time" && !errors.Is(b.ctx.Err(), context.Canceled) {
		// Whichever of the two limits a busy machine sees first, a body that is too slow is no part of a page.
		if now := time.Now(); !now.Before(b.end) || now.Sub(b.begun) >= b.c.o.Grace {
			b.tooSlow(now)
		}
	}
	if b.fault != nil {
		b.r.Truncated = ""
		return b.fault
	}
	return err
}

func (b *bodyReader) framed(fr framing) error {
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
		b.part(fr.length)
		return nil
	}
	for b.take(b.max+1-int64(len(b.r.Body))) && b.longer() {
	}
	if int64(len(b.r.Body)) > b.max {
		b.r.Body, b.r.Truncated = b.r.Body[:b.max], "length"
	} else if b.ended {
		b.r.Truncated = "" // the end of the connection is the end of the body
	}
	return nil
}

// part is take within the bound of the body. Beyond it Truncated is "length".
func (b *bodyReader) part(n int64) bool {
	for {
		room := b.max - int64(len(b.r.Body))
		if !b.take(min(n, room)) {
			return false
		}
		if n <= room {
			return true
		}
		if n -= room; !b.longer() {
			b.r.Truncated = "length"
			return false
		}
	}
}

// longer raises the bound of a body that has more bytes, once, if Options.Longer says so.
func (b *bodyReader) longer() bool {
	if b.c.o.Longer == nil || b.long || b.req.MaxBody > 0 {
		return false
	}
	before := b.max
	b.long, b.max = true, max(b.max, b.c.o.Longer(b.r.start()))
	return b.max > before
}

// take appends n bytes to the body. If fewer come it returns false, and Truncated says why.
func (b *bodyReader) take(n int64) bool {
	for n > 0 {
		if !b.grow(n) {
			if b.r.Truncated == "" {
				b.r.Truncated = "time"
			}
			return false
		}
		body := b.r.Body
		room := body[len(body):min(int64(cap(body)), b.r.room, int64(len(body))+n)]
		got, err := b.cn.r.Read(room)
		b.r.Body = body[:len(body)+got]
		b.cn.wire.limit += 2 * int64(got)
		n -= int64(got)
		if err == nil {
			if (n > 0 || b.more) && !b.fastEnough() { // a body that is complete is fast enough
				return false
			}
			continue
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && b.ctx.Err() == nil && b.fastEnough() {
			continue
		}
		if errors.As(err, &b.fault) {
			return false
		}
		if b.r.Truncated == "" {
			b.ended = err == io.EOF
			b.r.Truncated = "disconnect"
			if errors.Is(err, os.ErrDeadlineExceeded) || b.ctx.Err() != nil {
				b.r.Truncated = "time"
			}
		}
		return false
	}
	return true
}

// fastEnough checks the average rate, about once a second after the grace, and sets the next read deadline.
// Until then it returns true.
func (b *bodyReader) fastEnough() bool {
	now := time.Now()
	if now.Before(b.check) && !b.r.held.cutOff.Load() {
		return true
	}
	if !now.Before(b.end) || b.r.held.cutOff.Load() {
		b.r.Truncated = "time"
		return false
	}
	if b.tooSlow(now) {
		return false
	}
	b.check = now.Add(time.Second)
	if readUntil(b.ctx, b.cn, sooner(b.check, b.end)) != nil || b.r.held.cutOff.Load() {
		b.r.Truncated = "time"
		return false
	}
	return true
}

// tooSlow makes it a fault that the average rate is below the minimum.
func (b *bodyReader) tooSlow(now time.Time) bool {
	if float64(len(b.r.Body)) >= now.Sub(b.begun).Seconds()*float64(b.c.o.MinRate) {
		return false
	}
	b.fault = &fault{failure: FailTooSlow}
	return true
}

// grow makes room for at least one of n bytes, at most doubling the body's share of the budget. It waits for the
// budget; false: the context has ended, or the body is cut off because others need its bytes.
func (b *bodyReader) grow(n int64) bool {
	size := int64(len(b.r.Body))
	if size < int64(cap(b.r.Body)) && size < b.r.room {
		return true
	}
	if b.more { // growing by chunks would copy a body of a million chunks a million times
		n = b.max - size
	}
	step := min(max(n, 1), max(size, budgetStep))
	if b.long {
		if step = min(step, b.c.o.MaxBody); !b.r.held.takeFree(step) {
			b.r.Truncated = "length"
			return false
		}
		b.enlarge(step)
		return true
	}
	waited, ok := b.r.held.take(b.ctx, step, b.req)
	if !ok {
		return false
	}
	if waited > 0 { // that was not the server's fault
		b.begun = b.begun.Add(waited)
		b.check = time.Now().Add(time.Second)
		if readUntil(b.ctx, b.cn, sooner(b.check, b.end)) != nil || b.r.held.cutOff.Load() {
			return false
		}
	}
	b.enlarge(step)
	return true
}

// enlarge makes room for step more bytes, which are taken from the budget.
func (b *bodyReader) enlarge(step int64) {
	b.r.room += step
	if size := int64(len(b.r.Body)); int64(cap(b.r.Body)) <= size {
		grown := make([]byte, size, size+step)
		copy(grown, b.r.Body)
		b.r.Body = grown
	}
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
		if !b.part(size) {
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
		case errors.As(err, &b.fault):
		case b.fault != nil || b.r.Truncated != "": // fastEnough says why
		case late || b.ctx.Err() != nil:
			b.r.Truncated = "time"
		default:
			b.r.Truncated = "disconnect"
		}
		return nil, nil
	}
}

// chunkSize parses "1a2b;extension".
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

// trailer reads the trailer lines and drops them.
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
