// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// proxy carries all requests. An HTTP proxy gets requests in absolute form for http, and CONNECT for https. A
// SOCKS5 proxy (RFC 1928, with a password by RFC 1929) gets names, not addresses. The proxy is the operator's own,
// so the table of addresses does not apply to it; a URL whose host is a private address is still refused.
type proxy struct {
	host, port     string
	socks          bool
	user, password string
	authorization  string // value of Proxy-Authorization; "" for SOCKS5 or without a user
}

// CheckProxy returns an error for a text that is no proxy. It does not show the text; "" means no proxy.
func CheckProxy(s string) error {
	if s == "" {
		return nil
	}
	_, err := parseProxy(s)
	return err
}

// RedactProxy is a proxy's URL without the password.
func RedactProxy(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.User == nil && strings.Contains(s, "@") { // then it is somewhere in it
		return "…"
	}
	return u.Redacted()
}

// parseProxy parses "http://[user:password@]host:port" or "socks5://…". Its errors do not show the text.
func parseProxy(s string) (*proxy, error) {
	u, err := url.Parse(s)
	bad := func(why string) error {
		return fmt.Errorf("%s: want http://[user:password@]host:port or socks5://[user:password@]host:port", why)
	}
	if err != nil || u.Hostname() == "" {
		return nil, bad("not a URL with a host")
	}
	p := &proxy{host: u.Hostname(), port: u.Port(), user: u.User.Username()}
	p.password, _ = u.User.Password()
	switch u.Scheme {
	case "http":
		if p.port == "" {
			p.port = "8080"
		}
		if u.User != nil {
			p.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(p.user+":"+p.password))
		}
	case "socks5", "socks5h":
		p.socks = true
		if p.port == "" {
			p.port = "1080"
		}
		if len(p.user) > 255 || len(p.password) > 255 {
			return nil, bad("user or password is longer than 255 bytes")
		}
	default:
		return nil, bad("unknown scheme")
	}
	if n, err := strconv.ParseUint(p.port, 10, 16); err != nil || n == 0 {
		return nil, bad("port out of range")
	}
	return p, nil
}

var errProxyPassword = errors.New("the proxy demands user and password, or others: check the setting proxy")

// absolute reports whether request lines hold the whole URL. p may be nil.
func (p *proxy) absolute(secure bool) bool { return p != nil && !p.socks && !secure }

// dial connects to the proxy.
func (p *proxy) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(p.host, p.port))
	switch {
	case err == nil:
		return conn, nil
	case isOutOfFiles(err):
		return nil, classify(err, FailProxy)
	}
	return nil, &fault{FailProxy, err}
}

// open opens a way to the server on a connection to the proxy, where one is needed. After an error conn is closed.
func (p *proxy) open(ctx context.Context, conn net.Conn, u urlkey.URL) (err error) {
	end, _ := ctx.Deadline()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	if err = conn.SetDeadline(end); err == nil {
		switch {
		case p.socks:
			err = p.socks5(conn, u)
		case u.Scheme() == "https":
			err = p.connect(conn, u)
		}
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		conn.Close()
		return &fault{FailProxy, err}
	}
	return nil
}

// connect opens a tunnel through an HTTP proxy.
func (p *proxy) connect(conn net.Conn, u urlkey.URL) error {
	target := net.JoinHostPort(trimBrackets(u.Host()), strconv.Itoa(int(u.Port())))
	head := "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n"
	if p.authorization != "" {
		head += "Proxy-Authorization: " + p.authorization + "\r\n"
	}
	if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
		return err
	}
	// Byte by byte: what follows the head comes from the server and must stay on the connection.
	var answer []byte
	var one [1]byte
	for !bytes.HasSuffix(answer, []byte("\r\n\r\n")) {
		if len(answer) > maxProxyHead {
			return fmt.Errorf("CONNECT %s: the head of the proxy's response exceeds %d bytes", target, maxProxyHead)
		}
		if _, err := io.ReadFull(conn, one[:]); err != nil {
			return err
		}
		answer = append(answer, one[0])
	}
	line, _, _ := bytes.Cut(answer, []byte("\r\n"))
	if !startsLikeHTTP(line) || len(line) < 12 || line[9] != '2' {
		return fmt.Errorf("CONNECT %s: the proxy responded %.100q", target, line)
	}
	return nil
}

// socks5 opens a connection through a SOCKS5 proxy.
func (p *proxy) socks5(conn net.Conn, u urlkey.URL) error {
	hello := []byte{5, 1, 0}
	if p.user != "" {
		hello = []byte{5, 2, 0, 2}
	}
	if _, err := conn.Write(hello); err != nil {
		return err
	}
	// Each reply is read with its exact length, so that no byte from the server is read with it.
	read := func(n int) ([]byte, error) {
		b := make([]byte, n)
		_, err := io.ReadFull(conn, b)
		return b, err
	}
	b, err := read(2)
	switch {
	case err != nil:
		return err
	case b[0] != 5 || b[1] != hello[len(hello)-1] && b[1] != 0:
		return errors.New("the SOCKS5 proxy accepts none of the offered ways to log in")
	case b[1] == 2:
		login := append([]byte{1, byte(len(p.user))}, p.user...)
		login = append(append(login, byte(len(p.password))), p.password...)
		if _, err := conn.Write(login); err != nil {
			return err
		}
		if b, err = read(2); err != nil {
			return err
		}
		if b[1] != 0 {
			return errors.New("the SOCKS5 proxy refused user and password: check the setting proxy")
		}
	}
	connect := []byte{5, 1, 0}
	host := trimBrackets(u.Host())
	switch addr, err := netip.ParseAddr(host); {
	case err == nil && addr.Is4():
		connect = append(append(connect, 1), addr.AsSlice()...)
	case err == nil:
		connect = append(append(connect, 4), addr.AsSlice()...)
	default:
		connect = append(append(connect, 3, byte(len(host))), host...)
	}
	if _, err := conn.Write(append(connect, byte(u.Port()>>8), byte(u.Port()))); err != nil {
		return err
	}
	if b, err = read(5); err != nil {
		return err
	}
	if b[0] != 5 || b[1] != 0 {
		return fmt.Errorf("the SOCKS5 proxy cannot connect to %s: reply %d", host, b[1])
	}
	// The first byte of the address has been read; for a name it is the length.
	rest, known := map[byte]int{1: 3, 4: 15, 3: int(b[4])}[b[3]]
	if !known {
		return fmt.Errorf("the SOCKS5 proxy replied with an address of unknown type %d", b[3])
	}
	_, err = read(rest + 2)
	return err
}

// trimBrackets returns an IPv6 host without its brackets.
func trimBrackets(host string) string {
	if len(host) > 2 && host[0] == '[' {
		return host[1 : len(host)-1]
	}
	return host
}
