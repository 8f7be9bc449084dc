// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// Response is the end of one exchange: a head and a body, or a failure. Its bytes are valid until
// Release.
type Response struct {
	Failure Failure // "" when a head was read
	Err     error   // the failure's cause
	Status  int
	// RequestHead is the request head as sent, but with [removed] for the values of Authorization, Cookie and
	// Proxy-Authorization.
	RequestHead []byte
	Head        []byte // status line and fields as received, with the blank line
	Body        []byte // transfer-decoded; content-encoding intact
	// Truncated says why the body is not complete: "length" (too large), "time", "disconnect"; "" when
	// it is known to be complete.
	Truncated     string
	Addr          netip.Addr
	Start, End    time.Time
	FirstByte     time.Duration // from Start
	Reused        bool          // on a pooled connection
	Replayed      bool          // sent twice, see the package page
	TLSUnverified bool

	fields     []field
	odd        bool // the head was read, but its connection must not be used again
	maxDecoded int64
	decoded    []byte
	release    func(n int64)
	budget     int64
}

var responses = sync.Pool{New: func() any { return new(Response) }}

func newResponse() *Response { return responses.Get().(*Response) }

// Release gives the response's memory back.
func (r *Response) Release() {
	if r.release != nil {
		r.release(r.budget)
	}
	keep := Response{RequestHead: r.RequestHead[:0], Head: r.Head[:0], Body: r.Body[:0], fields: r.fields[:0], decoded: r.decoded[:0]}
	if cap(keep.Body) > keptBody {
		keep.Body = nil
	}
	if cap(keep.decoded) > keptBody {
		keep.decoded = nil
	}
	*r = keep
	responses.Put(r)
}

// field is one header field, as places in the head.
type field struct{ name, value []byte }

// Header returns the first value of a field, nil when there is none. The name is matched without
// regard to case.
func (r *Response) Header(name string) []byte {
	for _, f := range r.fields {
		if equalFold(f.name, name) {
			return f.value
		}
	}
	return nil
}

// Values returns all values of a field.
func (r *Response) Values(name string) (values [][]byte) {
	for _, f := range r.fields {
		if equalFold(f.name, name) {
			values = append(values, f.value)
		}
	}
	return values
}

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

// Location returns the target of a redirect as the server wrote it.
func (r *Response) Location() string { return string(r.Header("Location")) }

// RetryAfter returns how long the server asks to be left alone, in seconds or until a date. What is
// negative, past or unreadable counts as absent.
func (r *Response) RetryAfter(now time.Time) (time.Duration, bool) {
	v := string(r.Header("Retry-After"))
	if n, err := strconv.ParseUint(v, 10, 31); err == nil && n > 0 {
		return time.Duration(n) * time.Second, true
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return t.Sub(now), true
	}
	return 0, false
}

// StoredResponse makes a response of bytes that were kept: a head as received and a transfer-decoded
// body. Everything but times and connection is as it was.
func StoredResponse(head, body []byte, truncated string) (*Response, error) {
	r := newResponse()
	r.Head = append(r.Head[:0], head...)
	r.Body = append(r.Body[:0], body...)
	r.Truncated = truncated
	r.maxDecoded = defaultMaxDecoded
	if f := r.parseHead(); f != nil {
		r.Release()
		return nil, f
	}
	return r, nil
}
