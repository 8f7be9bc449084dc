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

// request is a request head, parsed leniently.
type request struct {
	Method, Path string // Path with query, as sent
	Host         string // with port
	Head         string // as received
}

// conn is a server's end of a connection, with the moves that cases are made of. A move returns false if it failed
// because the client left. One goroutine uses it.
type conn struct {
	net.Conn
	s      *Server
	c      *Case
	number int // in the log
	r      *bufio.Reader
	over   bool // the case wants the connection closed
	asked  int  // requests read
}

// readLogger reads from a connection and logs what it read.
type readLogger struct{ c *conn }

func (r readLogger) Read(b []byte) (int, error) {
	n, err := r.c.Conn.Read(b)
	r.c.s.log.add(r.c.number, In, b[:n])
	return n, err
}

// next reads a request head.
func (c *conn) next() (*request, bool) {
	var head strings.Builder
	for head.Len() < maxRequestHead {
		line, err := c.r.ReadString('\n')
		if err != nil {
			return nil, false
		}
		head.WriteString(line)
		if line == "\r\n" || line == "\n" {
			q := &request{Head: head.String()}
			q.Method, q.Path, _ = strings.Cut(q.Head, " ")
			q.Path, _, _ = strings.Cut(q.Path, " ")
			for field := range strings.SplitSeq(q.Head, "\r\n") {
				if name, value, ok := strings.Cut(field, ":"); ok && strings.EqualFold(name, "Host") {
					q.Host = strings.TrimSpace(value)
				}
			}
			c.asked++
			c.s.log.request(c.number, q)
			return q, true
		}
	}
	return nil, false
}

// say sends texts as they are.
func (c *conn) say(parts ...string) bool {
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
func (c *conn) end() { c.over = true }

// pause waits for d, scaled, and ends early with false when the server closes.
func (c *conn) pause(d time.Duration) bool {
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
func (c *conn) hang() {
	c.over = true
	io.Copy(io.Discard, readLogger{c})
}

// drip sends a text over and over, with a pause before each.
func (c *conn) drip(text string, every time.Duration) {
	for c.pause(every) && c.say(text) {
	}
	c.over = true
}

// flood sends a text over and over as fast as the client takes it, up to most bytes.
func (c *conn) flood(text string, most int) {
	for sent := 0; sent < most; sent += len(text) {
		if !c.say(text) {
			return
		}
	}
}

// reset ends the connection with RST.
func (c *conn) reset() {
	c.over = true
	if t, ok := c.Conn.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	c.Conn.Close()
}

// page sends an ordinary response.
func (c *conn) page(body string) bool { return c.say(response("200 OK", "text/html", body)) }

const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

// response returns a response with a Content-Length. Each of fields is a whole line with its CR LF.
func response(status, mediaType, body string, fields ...string) string {
	return fmt.Sprintf(
		"HTTP/1.1 %s\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n%s", status, mediaType,
		strings.Join(fields, ""), len(body), body,
	)
}

// says serves the same bytes to every request and closes.
func says(parts ...string) func(*conn, *request) {
	return func(c *conn, _ *request) {
		c.say(parts...)
		c.end()
	}
}

// keeps serves the same bytes to every request and keeps the connection.
func keeps(parts ...string) func(*conn, *request) {
	return func(c *conn, _ *request) { c.say(parts...) }
}

// answers serves a response that is computed from the request.
func answers(f func(q *request) string) func(*conn, *request) {
	return func(c *conn, q *request) { c.say(f(q)) }
}
