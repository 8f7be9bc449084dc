// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// conn is one connection, served by one goroutine: it reads a head, asks the site, and writes the response.
//
// It does not use net/http's or fasthttp's server because the ledger must know when a head has been read and when the
// last bytes leave, and because this way a response is one buffer and one system call.
type conn struct {
	s      *Server
	raw    net.Conn // the socket
	nc     net.Conn // the same, or TLS over it
	tls    bool
	number int // of the local address; -1: the front
	asked  int // requests

	in       []byte    // received: a request head, and the beginning of the next ones
	out      []byte    // headRoom, then the body
	renewed  time.Time // when the deadlines were last set
	response response
	url      []byte // scratch: the key of the ledger
}

// scheme returns the beginning of a URL.
func scheme(https bool) string {
	if https {
		return "https://"
	}
	return "http://"
}

// head is a parsed request head. Its slices point into conn.in.
type head struct {
	request
	isHEAD, keep, body bool
	proxied, tunnel    bool   // requested as from a proxy; CONNECT
	name               []byte // of the host, without port
}

const (
	// headRoom is the number of bytes kept free before a body, so that the head can be put in front of it.
	headRoom = 512
	// atOnce is the largest response that is written in one call: a loopback socket takes it without waiting for its
	// reader. The tail of a larger one is written separately, and the request ends before it.
	atOnce, tail = 64 << 10, 512
)

var errBadRequest = errors.New("malformed request")

func (c *conn) serve() {
	defer c.s.wg.Done()
	defer c.s.forget(c)
	defer c.nc.Close()
	c.in = make([]byte, 0, 2048)
	if c.secure() != nil {
		return
	}
	for {
		n, err := c.readHead()
		if err != nil {
			if errors.Is(err, errBadRequest) {
				c.refuse(http.StatusRequestHeaderFieldsTooLarge)
			}
			return
		}
		var h head
		status := h.parse(c.in[:n])
		if status != 0 {
			c.refuse(status)
			return
		}
		if h.tunnel {
			c.in = append(c.in[:0], c.in[n:]...)
			if !c.tunnel() {
				return
			}
			continue
		}
		if !c.exchange(&h, n) {
			return
		}
		c.in = append(c.in[:0], c.in[n:]...)
		select {
		case <-c.s.done:
			return
		default:
		}
	}
}

// readHead reads until c.in begins with a whole head, and returns its length.
func (c *conn) readHead() (int, error) {
	for seen := 0; ; {
		if i := bytes.Index(c.in[seen:], []byte("\r\n\r\n")); i >= 0 {
			return seen + i + 4, nil
		}
		seen = max(len(c.in)-3, 0)
		if len(c.in) >= maxRequestHead {
			return 0, errBadRequest
		}
		if now := time.Now(); now.Sub(c.renewed) > idleTimeout/4 {
			c.renewed = now
			c.nc.SetDeadline(now.Add(idleTimeout))
			select { // shut may have set its own deadline just before
			case <-c.s.done:
				return 0, os.ErrDeadlineExceeded
			default:
			}
		}
		if n, err := c.read(); n == 0 && err != nil {
			return 0, err
		}
	}
}

// parse reads a head of HTTP/1.0 or 1.1 and returns the status to refuse it with, or 0.
func (h *head) parse(b []byte) int {
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	method, line, ok := bytes.Cut(line, []byte{' '})
	target, version, ok2 := bytes.Cut(line, []byte{' '})
	if !ok || !ok2 || len(target) == 0 {
		return http.StatusBadRequest
	}
	switch string(version) {
	case "HTTP/1.1":
		h.keep = true
	case "HTTP/1.0":
	default:
		return http.StatusHTTPVersionNotSupported
	}
	switch string(method) {
	case "GET":
	case "HEAD":
		h.isHEAD = true
	case "CONNECT":
		h.tunnel = true
		return 0
	default:
		return http.StatusMethodNotAllowed
	}
	for {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		if len(line) == 0 {
			break
		}
		name, value, ok := bytes.Cut(line, []byte{':'})
		if !ok {
			return http.StatusBadRequest
		}
		h.field(name, bytes.TrimSpace(value))
	}
	if h.body {
		return http.StatusRequestEntityTooLarge
	}
	// The absolute form, which is sent to proxies, names the host itself (RFC 9112, 3.2.2).
	if after, ok := bytes.CutPrefix(target, []byte("http://")); ok {
		slash := bytes.IndexByte(after, '/')
		if slash < 0 {
			return http.StatusBadRequest
		}
		h.name, target, h.proxied = after[:slash], after[slash:], true
	}
	if target[0] != '/' || len(h.name) == 0 {
		return http.StatusBadRequest
	}
	if i := bytes.IndexByte(h.name, ':'); i >= 0 {
		h.name = h.name[:i]
	}
	h.target = target
	return 0
}

// field keeps the header fields that matter here. Names are compared by length first, because most do not.
func (h *head) field(name, value []byte) {
	switch len(name) {
	case 4:
		if bytes.EqualFold(name, []byte("host")) {
			h.name = value
		}
	case 10:
		if bytes.EqualFold(name, []byte("connection")) {
			switch {
			case bytes.EqualFold(value, []byte("close")):
				h.keep = false
			case bytes.EqualFold(value, []byte("keep-alive")):
				h.keep = true
			}
		}
	case 13:
		if bytes.EqualFold(name, []byte("if-none-match")) {
			h.ifNoneMatch = value
		}
	case 14:
		if bytes.EqualFold(name, []byte("content-length")) {
			h.body = h.body || string(value) != "0"
		}
	case 15:
		if bytes.EqualFold(name, []byte("accept-encoding")) {
			h.gzip = acceptsGzip(value)
		}
	case 17:
		if bytes.EqualFold(name, []byte("if-modified-since")) {
			h.ifModifiedSince = value
		} else if bytes.EqualFold(name, []byte("transfer-encoding")) {
			h.body = true
		}
	}
}

// tunnel answers CONNECT (RFC 9110, 9.3.6). This server is every host, so the requests that follow are for the host
// that they name.
func (c *conn) tunnel() bool {
	c.s.ledger.proxied.Add(1)
	if _, err := c.nc.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return false
	}
	return c.secure() == nil
}

// outs are the buffers of connections that are being answered. The many idle ones need none.
var outs = sync.Pool{New: func() any {
	b := make([]byte, 0, 32<<10)
	return &b
}}

// behind is 1 if the client has sent another request to a host, behind the first n bytes, before it has the answer to
// those.
func (c *conn) behind(n, host int) int32 {
	more, next := c.in[n:], head{}
	if end := bytes.Index(more, []byte("\r\n\r\n")); end < 0 || next.parse(more[:end+4]) != 0 {
		return 0
	}
	if next.tunnel || c.s.site.find(next.name) != host {
		return 0
	}
	return 1
}

// exchange answers one request, of n bytes, and reports whether the connection stays open.
func (c *conn) exchange(h *head, n int) bool {
	s := c.s
	h.now = s.now()
	r := &c.response
	buf := outs.Get().(*[]byte)
	c.out = *buf
	defer func() {
		if *buf, c.out = c.out, nil; cap(*buf) <= keepBuffer {
			outs.Put(buf)
		}
	}()
	*r = response{body: c.out[headRoom:headRoom], location: r.location[:0]}
	if h.host = s.site.find(h.name); h.host < 0 {
		s.ledger.unknownHost.Add(1)
		r.plain(http.StatusMisdirectedRequest, "There is no such host here.")
		_, err := c.nc.Write(c.message(r, h))
		return err == nil && h.keep
	}
	number := s.site.addressOf(h.host)
	if c.number >= 0 && c.number != number {
		s.ledger.wrongAddress.Add(1)
	}
	a := arrival{at: s.since(h.now), robots: string(h.target) == "/robots.txt", least: s.least(h.host)}
	a.forbidden = !a.robots && s.site.forbidden(h.host, h.target)
	s.ledger.hosts.begin(h.host, a)
	s.ledger.addresses.begin(number, arrival{at: a.at, robots: a.robots})
	if c.asked++; c.asked > 1 && unit(mix(staleSalt, uint64(h.host))) < s.o.StaleHosts {
		at := s.since(s.now())
		s.ledger.hosts.end(h.host, at, a.robots, 0)
		s.ledger.addresses.end(number, at, a.robots, 0)
		return false
	}
	c.url = append(s.site.appendAuthority(append(c.url[:0], scheme(c.tls)...), h.host), h.target...)
	s.ledger.urls.add(c.url)
	if h.proxied {
		s.ledger.proxied.Add(1)
	}

	if !c.tls && s.authority != nil && s.site.https(h.host) {
		r.plain(http.StatusMovedPermanently, "This host speaks TLS.")
		r.location = append(s.site.appendAuthority(append(r.location, scheme(true)...), h.host), h.target...)
	} else {
		s.site.answer(&h.request, r)
		if s.o.Gzip && h.gzip && !r.gzip && len(r.body) > 0 {
			size := len(r.body)
			r.body = appendGzip(r.body, r.body)
			r.body, r.gzip = append(r.body[:0], r.body[size:]...), true
		}
	}
	if r.wait > 0 {
		c.wait(r.wait)
		c.writeWithin(writeTimeout)
	}
	b := c.message(r, h)
	var err error
	if len(b) > atOnce { // the client reads meanwhile: it has the response only when it has the tail
		c.writeWithin(writeTimeout)
		_, err = c.nc.Write(b[:len(b)-tail])
		b = b[len(b)-tail:]
	}
	at := s.since(s.now())
	behind := c.behind(n, h.host)
	s.ledger.hosts.end(h.host, at, a.robots, behind)
	s.ledger.addresses.end(number, at, a.robots, behind)
	if err == nil {
		_, err = c.nc.Write(b)
	}
	return err == nil && h.keep
}

// message returns the bytes of a response. The head is written into the room before the body.
func (c *conn) message(r *response, h *head) []byte {
	if cap(r.body) != cap(c.out)-headRoom { // the body outgrew the buffer
		c.out = append(make([]byte, headRoom, headRoom+len(r.body)+len(r.body)/4), r.body...)
		r.body = c.out[headRoom:]
	}
	out := c.out[:headRoom+len(r.body)]
	var room [headRoom]byte
	b := append(room[:0], "HTTP/1.1 "...)
	b = append(append(strconv.AppendInt(b, int64(r.status), 10), ' '), http.StatusText(r.status)...)
	b = append(c.s.appendDate(append(b, "\r\nServer: simweb\r\nDate: "...)), "\r\n"...)
	if r.status != http.StatusNotModified {
		b = append(append(append(b, "Content-Type: "...), r.contentType...), "\r\n"...)
		b = append(strconv.AppendInt(append(b, "Content-Length: "...), int64(len(r.body)), 10), "\r\n"...)
	}
	if r.gzip {
		b = append(b, "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"...)
	}
	if len(r.location) > 0 {
		b = append(append(append(b, "Location: "...), r.location...), "\r\n"...)
	}
	b = append(b, r.header...)
	if r.etag != 0 {
		b = append(b, "ETag: "...)
		if r.gzip { // other bytes than the page's must not share its strong tag
			b = append(b, "W/"...)
		}
		b = append(appendETag(b, r.etag), "\r\n"...)
	}
	if !r.modified.IsZero() {
		b = append(r.modified.UTC().AppendFormat(append(b, "Last-Modified: "...), http.TimeFormat), "\r\n"...)
	}
	if !h.keep {
		b = append(b, "Connection: close\r\n"...)
	}
	b = append(b, "\r\n"...)
	c.s.ledger.status[min(r.status/100, 5)].Add(1)
	if h.isHEAD {
		out = out[:headRoom]
	}
	if len(b) > headRoom { // a very long Location, which is rare
		out = append(b, out[headRoom:]...)
	} else {
		copy(out[headRoom-len(b):], b)
		out = out[headRoom-len(b):]
	}
	c.s.ledger.bytes.Add(int64(len(out)))
	return out
}

// appendDate appends the current Date, which is formatted once a second.
func (s *Server) appendDate(dst []byte) []byte {
	now := s.now()
	d := s.date.Load()
	if d == nil || d.second != now.Unix() {
		d = &dateText{now.Unix(), now.UTC().AppendFormat(nil, http.TimeFormat)}
		s.date.Store(d)
	}
	return append(dst, d.text...)
}

// writeWithin bounds the time of the writes of this response; a closing server bounds it more.
func (c *conn) writeWithin(d time.Duration) {
	c.nc.SetWriteDeadline(time.Now().Add(d))
	c.renewed = time.Time{}
	select {
	case <-c.s.done:
		c.nc.SetWriteDeadline(time.Now().Add(closeGrace))
	default:
	}
}

// wait lets the latency of a page pass. The goroutine is parked; no thread is held. It returns early if the client has
// left or was killed: then its request is over, and another may begin. To find out, it reads what comes next, since
// TLS says that it ends before the connection does.
func (c *conn) wait(d time.Duration) {
	end := time.Now().Add(d)
	c.nc.SetReadDeadline(end)
	select { // shut may have set its own deadline just before
	case <-c.s.done:
		return
	default:
	}
	for len(c.in) < maxRequestHead {
		n, err := c.read()
		if n == 0 && err != nil { // the time has passed, or the client has left
			return
		}
	}
	t := time.NewTimer(time.Until(end))
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.s.done:
	}
}

// read reads what comes next. What was read before stays where it is, or is copied.
func (c *conn) read() (int, error) {
	if len(c.in) == cap(c.in) {
		c.in = append(make([]byte, 0, 2*cap(c.in)), c.in...)
	}
	n, err := c.nc.Read(c.in[len(c.in):cap(c.in)])
	c.in = c.in[:len(c.in)+n]
	return n, err
}

// refuse answers a request that cannot be understood, and ends the connection.
func (c *conn) refuse(status int) {
	c.s.ledger.malformed.Add(1)
	b := append(c.out[:0], "HTTP/1.1 "...)
	b = append(append(strconv.AppendInt(b, int64(status), 10), ' '), http.StatusText(status)...)
	b = append(b, "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"...)
	c.nc.SetDeadline(time.Now().Add(closeGrace))
	c.nc.Write(b)
	// Bytes that were sent and not read would make the kernel reset the connection, and the client might never see the
	// answer: read some of them.
	if tc, ok := c.nc.(*net.TCPConn); ok && tc.CloseWrite() == nil {
		io.CopyN(io.Discard, tc, 4*maxRequestHead)
	}
}
