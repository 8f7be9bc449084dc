// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// Request is what to fetch. Fetch only reads it, so one Request may serve several calls at once.
type Request struct {
	URL urlkey.URL
	// Addr is the address to connect to. The zero value leaves it to the resolver. With Options.Proxy it has
	// no effect.
	Addr netip.Addr
	// IfNoneMatch and IfModifiedSince are the validators of an earlier version; "" sends none.
	IfNoneMatch, IfModifiedSince string
	// UserAgent replaces Options.UserAgent, Timeout Options.TotalTimeout; zero values mean those.
	UserAgent string
	Timeout   time.Duration
	// MaxBody is the largest body in bytes, as received and after content decoding; 0 means Options.MaxBody and
	// Options.MaxDecoded, and more than those counts as those.
	MaxBody int64
	// AnyType has the body read whatever Options.Accept says of its type.
	AnyType bool
	// Waits, if not nil, is called with true when the fetch begins to wait for memory or a connection of its client,
	// and with false when that ends, on the goroutine of Fetch. The server is not at fault then.
	Waits func(waiting bool)
	// Stage, if not nil, is told how far the fetch is. A Request that serves several calls at once needs one for each.
	Stage *Stage
	// Header holds further fields, such as Cookie or Authorization. They are sent in this order, after the
	// client's own; an Accept field replaces the client's. Each must pass ValidHeader, or the fetch ends with
	// FailHeader and nothing is sent.
	//
	// They go to URL's host only. Fetch returns a redirect and does not follow it, so the caller chooses the
	// fields of the next Request. An HTTP proxy sees them if the URL's scheme is http.
	//
	// Response.RequestHead holds them as sent, but for the values of Authorization and Cookie, so that
	// credentials never reach a WARC file.
	Header []Header
}

// Header is one field of a request's head.
type Header struct{ Name, Value string }

// removed stands in Response.RequestHead for the value of a field that may hold credentials.
const removed = "[removed]"

const proxyAuthorization = "Proxy-Authorization"

// ownHeaders are the fields that the client sets itself.
var ownHeaders = [...]string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Accept-Encoding",
	"User-Agent", "If-None-Match", "If-Modified-Since"}

// ValidHeader reports why a field cannot be part of Request.Header, or nil. The name must be a token of
// RFC 9110; Host, Connection, Content-Length, Transfer-Encoding, Accept-Encoding, User-Agent, If-None-Match,
// If-Modified-Since and all names that begin with Proxy- are the client's own, whatever their case. The value
// must hold no control byte, which excludes tabs and line ends; it may be empty. The error does not repeat the
// value, which may be a secret. ValidHeader is safe for concurrent use.
func ValidHeader(name, value string) error {
	if name == "" {
		return errors.New("request header: the name is empty")
	}
	for i := range len(name) {
		if !isTokenByte(name[i]) {
			return fmt.Errorf("request header %q: byte %d of the name is %q: use letters, digits and hyphens",
				name, i+1, name[i:i+1])
		}
	}
	const proxyPrefix = "Proxy-"
	own := func(o string) bool { return strings.EqualFold(name, o) }
	if slices.ContainsFunc(ownHeaders[:], own) ||
		len(name) >= len(proxyPrefix) && strings.EqualFold(name[:len(proxyPrefix)], proxyPrefix) {
		return fmt.Errorf("request header %s: the client sets this field itself", name)
	}
	for i := range len(value) {
		if value[i] < ' ' || value[i] == 0x7f {
			return fmt.Errorf("request header %s: byte %d of the value is the control byte 0x%02x",
				name, i+1, value[i])
		}
	}
	return nil
}

// isTokenByte reports whether c may be part of a token (RFC 9110, section 5.6.2).
func isTokenByte(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// isCredential reports whether the value of a field must not be recorded.
func isCredential(name string) bool {
	return strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "Cookie") ||
		strings.EqualFold(name, proxyAuthorization)
}

// checkHeader applies ValidHeader to all fields.
func (req *Request) checkHeader() error {
	for _, h := range req.Header {
		if err := ValidHeader(h.Name, h.Value); err != nil {
			return &fault{FailHeader, err}
		}
	}
	return nil
}

// requestHead appends the head of a request to dst, written by fasthttp's writer from canonical parts. It
// returns the head as Response.RequestHead records it, and as it is sent: the same bytes, or a copy that
// holds the credentials.
func (c *Client) requestHead(dst []byte, req *Request) (recorded, sent []byte) {
	absolute := c.proxy.absolute(req.URL.Scheme() == "https")
	var h fasthttp.RequestHeader
	h.DisableNormalizing()
	h.SetNoDefaultContentType(true)
	if absolute {
		h.SetRequestURI(req.URL.String())
	} else {
		h.SetRequestURI(req.URL.RequestTarget())
	}
	h.SetHost(req.URL.Authority())
	h.SetUserAgent(cmp.Or(req.UserAgent, c.o.UserAgent))
	if !slices.ContainsFunc(req.Header, func(h Header) bool { return strings.EqualFold(h.Name, "Accept") }) {
		h.Set("Accept", "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.5")
	}
	h.Set("Accept-Encoding", "gzip, deflate, br, zstd")
	if req.IfNoneMatch != "" {
		h.Set("If-None-Match", req.IfNoneMatch)
	}
	if req.IfModifiedSince != "" {
		h.Set("If-Modified-Since", req.IfModifiedSince)
	}
	dst = h.AppendBytes(dst)
	fields := req.Header
	if absolute && c.proxy.authorization != "" {
		fields = append(slices.Clip(fields), Header{proxyAuthorization, c.proxy.authorization})
	}
	if len(fields) == 0 {
		return dst, dst
	}
	// fasthttp parses cookies and writes them anew; these fields must go out as the caller wrote them.
	dst = dst[:len(dst)-len("\r\n")]
	if slices.ContainsFunc(fields, func(h Header) bool { return isCredential(h.Name) }) {
		sent = appendFields(bytes.Clone(dst), fields, false)
		return appendFields(dst, fields, true), sent
	}
	dst = appendFields(dst, fields, false)
	return dst, dst
}

// appendFields appends field lines and the blank line that ends a head.
func appendFields(dst []byte, fields []Header, record bool) []byte {
	for _, h := range fields {
		value := h.Value
		if record && isCredential(h.Name) {
			value = removed
		}
		dst = append(append(dst, h.Name...), ": "...)
		dst = append(append(dst, value...), "\r\n"...)
	}
	return append(dst, "\r\n"...)
}
