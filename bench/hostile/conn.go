// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Request is a request head.
type Request struct {
	Method, Path string // Path with query, as sent
	Host         string
	Head         string
}

// Conn is a server's end of a connection, with the moves that cases are made of. Moves that fail,
// because the client left, return false.
type Conn struct {
	net.Conn
	s      *Server
	c      *Case
	number int // in the log
	r      *bufio.Reader
	over   bool // the case wants the connection closed
}

// readLogger reads from a connection and logs.
type readLogger struct{ c *Conn }

func (r readLogger) Read(b []byte) (int, error) {
	n, err := r.c.Conn.Read(b)
	r.c.s.log.add(r.c.number, In, b[:n])
	return n, err
}

// next reads a request head.
func (c *Conn) next() (*Request, bool) {
	var head strings.Builder
	for head.Len() < maxRequestHead {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return nil, false
		}
		head.WriteString(line)
		if line == "\r\n" || line == "\n" {
			q := &Request{Head: head.String()}
			q.Method, q.Path, _ = strings.Cut(q.Head, " ")
			q.Path, _, _ = strings.Cut(q.Path, " ")
			for field := range strings.SplitSeq(q.Head, "\r\n") {
				if name, value, ok := strings.Cut(field, ":"); ok && strings.EqualFold(name, "Host") {
					q.Host = strings.TrimSpace(value)
				}
			}
			c.s.log.request(c.number, q)
			return q, true
		}
	}
	return nil, false
}

// say writes.
func (c *Conn) say(parts ...string) bool {
	for _, p := range parts {
		n, err := io.WriteString(c.Conn, p)
		c.s.log.add(c.number, Out, []byte(p[:n]))
		if err != nil {
			c.over = true
			return false
		}
	}
	return true
}

// end makes this the connection's last response.
func (c *Conn) end() { c.over = true }

// pause waits, and ends early when the server closes.
func (c *Conn) pause(d time.Duration) bool {
	t := time.NewTimer(time.Duration(float64(d) * c.s.o.Scale))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.s.done:
		c.over = true
		return false
	}
}

// hang keeps the connection open, reading and saying nothing, until the client leaves.
func (c *Conn) hang() {
	c.over = true
	io.Copy(io.Discard, readLogger{c})
}

// drip says something over and over, with a pause before each time.
func (c *Conn) drip(text string, every time.Duration) {
	for c.pause(every) && c.say(text) {
	}
	c.over = true
}

// flood says something over and over as fast as it is taken, at most so many bytes.
func (c *Conn) flood(text string, most int) {
	for sent := 0; sent < most; sent += len(text) {
		if !c.say(text) {
			return
		}
	}
}

// reset breaks the connection off.
func (c *Conn) reset() {
	c.over = true
	if t, ok := c.Conn.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	c.Conn.Close()
}

// page says an ordinary response.
func (c *Conn) page(body string) bool { return c.say(response("200 OK", "text/html", body)) }

const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

// response is a response with a length; fields are whole lines with their ends.
func response(status, mediaType, body string, fields ...string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n%s", status, mediaType, strings.Join(fields, ""), len(body), body)
}

// says serves a case that gives every request the same bytes and closes.
func says(parts ...string) func(*Conn, *Request) {
	return func(c *Conn, _ *Request) {
		c.say(parts...)
		c.end()
	}
}

// keeps serves a case that gives every request the same bytes and goes on.
func keeps(parts ...string) func(*Conn, *Request) {
	return func(c *Conn, _ *Request) { c.say(parts...) }
}

// answers serves a case that computes a whole response from the request.
func answers(f func(q *Request) string) func(*Conn, *Request) {
	return func(c *Conn, q *Request) { c.say(f(q)) }
}
