// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// Response is the result of one exchange: a head and a body, or a failure. Its bytes are valid until Release.
// It is not safe for concurrent use.
type Response struct {
	Failure Failure // "" if a head was read
	Err     error   // cause of the failure, nil without one
	Status  int     // HTTP status code; 0 without a head
	// RequestHead is the request head as sent, but with [removed] for the values of Authorization, Cookie and
	// Proxy-Authorization.
	RequestHead []byte
	// Head is the status line and the fields as received, with the blank line.
	Head []byte
	// Body is transfer-decoded; Content undoes its content coding.
	Body []byte
	// Truncated says why the body is not complete: "length" (over a bound), "time" (too slow) or "disconnect".
	// It is "" if the body is known to be complete.
	Truncated string
	Addr      netip.Addr // the server's address; zero with a proxy or without a connection
	// Start and End enclose the fetch, by Options.Now.
	Start, End time.Time
	// FirstByte is the time from sending the request to the end of the response's head.
	FirstByte time.Duration
	// Received is the number of bytes that came over the wire for this exchange: everything from the connection's
	// first byte, or from the end of the exchange before it. That is what a proxy says, TLS, interim heads, the head,
	// and the body with its framing and trailer. It counts after a failure too.
	Received      int64
	Reused        bool // the connection came from the pool
	TLSUnverified bool // Options.TLSInsecure accepted the certificate unverified
	CutOff        bool // the body is truncated because other bodies needed its memory

	fields     []field
	odd        bool // the head is readable, but its connection must not be used again
	maxDecoded int64
	decoded    []byte
	held       *holding // nil: no body was received
	room       int64    // bytes that the body may have for now
}

var responses = sync.Pool{New: func() any { return new(Response) }}

func newResponse() *Response { return responses.Get().(*Response) }

// Release returns the response's memory to the client. The response must not be used after it.
func (r *Response) Release() {
	r.DropContent()
	held := r.held
	keep := Response{
		RequestHead: r.RequestHead[:0],
		Head:        r.Head[:0],
		Body:        r.Body[:0],
		fields:      r.fields[:0],
	}
	if cap(keep.Body) > keptBody {
		keep.Body = nil
	}
	if cap(keep.Head) > keptHead {
		keep.Head, keep.fields = nil, nil
	}
	*r = keep
	responses.Put(r)
	if held != nil {
		held.release()
	}
}

// DropContent gives up the memory of what Content returned, which must not be used after it. Without it, Release does.
func (r *Response) DropContent() {
	if cap(r.decoded) > 0 && cap(r.decoded) <= keptContent {
		kept := r.decoded[:0]
		contents.Put(&kept)
	}
	r.decoded = nil
}

// contents are buffers of decoded bodies. There are as few as goroutines that use Content at the same time.
var contents sync.Pool // of *[]byte

// field is one header field, as slices of the head.
type field struct{ name, value []byte }

// Header returns the first value of a field, or nil. Upper and lower case in the name are equal.
func (r *Response) Header(name string) []byte {
	for _, f := range r.fields {
		if equalFold(f.name, name) {
			return f.value
		}
	}
	return nil
}

// Values returns all values of a field, in the order received. Upper and lower case in the name are equal.
func (r *Response) Values(name string) (values [][]byte) {
	for _, f := range r.fields {
		if equalFold(f.name, name) {
			values = append(values, f.value)
		}
	}
	return values
}

// Fields yields names and values of the header in the order received.
func (r *Response) Fields() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, f := range r.fields {
			if !yield(string(f.name), string(f.value)) {
				return
			}
		}
	}
}

// equalFold compares ASCII letters without regard to case.
func equalFold(a []byte, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if x != y && (x|0x20 != y|0x20 || x|0x20 < 'a' || x|0x20 > 'z') {
			return false
		}
	}
	return true
}

// Location returns the target of a redirect as the server wrote it, or "". If it is not UTF-8, its bytes beyond ASCII
// are percent-encoded, as browsers do: they are a path in the server's own charset.
func (r *Response) Location() string {
	v := r.Header("Location")
	if utf8.Valid(v) {
		return string(v)
	}
	var out []byte
	for _, c := range v {
		if c < utf8.RuneSelf {
			out = append(out, c)
		} else {
			out = fmt.Appendf(out, "%%%02X", c)
		}
	}
	return string(out)
}

// Whole reports whether the Content-Range of a response with status 206 says that the part is all there is.
func (r *Response) Whole() bool {
	var first, last, length int64
	n, err := fmt.Sscanf(string(bytes.ToLower(r.Header("Content-Range"))), "bytes %d-%d/%d", &first, &last, &length)
	return err == nil && n == 3 && first == 0 && last+1 == length
}

// RetryAfter returns the wait that a Retry-After field demands, as seconds or as a date. A value that is zero,
// negative, past or malformed counts as absent, one of more seconds than fit as the most that do, 68 years.
func (r *Response) RetryAfter(now time.Time) (time.Duration, bool) {
	v := string(r.Header("Retry-After"))
	if n, err := strconv.ParseUint(v, 10, 31); (err == nil || errors.Is(err, strconv.ErrRange)) && n > 0 {
		return time.Duration(n) * time.Second, true
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return t.Sub(now), true
	}
	return 0, false
}

// StoredResponse rebuilds a response from a stored head, as received, and a transfer-decoded body, both of which
// it copies. Times and connection are absent, Received is the bytes of both; MaxDecoded has its default. The caller
// must call Release. The error says why the head cannot be parsed.
func StoredResponse(head, body []byte, truncated string) (*Response, error) {
	r := newResponse()
	r.Head = append(r.Head[:0], head...)
	r.Body = append(r.Body[:0], body...)
	r.Truncated, r.Received = truncated, int64(len(head)+len(body))
	r.maxDecoded = defaultMaxDecoded
	if f := r.parseHead(); f != nil {
		r.Release()
		return nil, f
	}
	return r, nil
}
