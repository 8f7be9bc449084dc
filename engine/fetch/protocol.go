// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"context"
	"time"
)

// Protocol makes exchanges. Client implements it for HTTP; a user may replace it. Fetch must be safe for
// concurrent use.
//
// Law: a Response has a Failure, or a Head in the form of HTTP/1, whatever the transport, and the body as it came, with
// the content coding that the head names. StoredResponse makes one of a head and a body. In an Engine the rest of the
// Response may be zero: see Checked.
type Protocol interface {
	// Fetch makes one exchange. It never returns nil, reports errors in Response.Failure, and ends soon after
	// ctx does. The caller must call Release on the result.
	Fetch(ctx context.Context, req *Request) *Response
}

// Checked returns a Protocol that makes the exchanges of p and completes their responses: it reads status and fields
// from the head, and sets the times and the number of bytes that p leaves zero. A response whose head cannot be read
// has a Failure then, and a Failure that is none of the constants becomes FailReset, with its name in Err: other names
// are those of outcomes that are no failures of an exchange. Without its own times a page would be one of the year 1,
// and due again at once.
//
// The context that p gets ends after Request.Timeout, or timeout without one; 0 means 60 s. So a transport that has no
// bound of its own does not wait for ever.
func Checked(p Protocol, timeout time.Duration, now func() time.Time) Protocol {
	return checked{p, cmp.Or(timeout, defaultTotal), now}
}

type checked struct {
	of      Protocol
	timeout time.Duration
	now     func() time.Time
}

// Fetch makes one exchange of the other protocol.
func (c checked) Fetch(ctx context.Context, req *Request) *Response {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(req.Timeout, c.timeout))
	defer cancel()
	start := c.now()
	r := c.of.Fetch(ctx, req)
	if r.Start.IsZero() || r.End.Before(r.Start) {
		r.Start, r.End = start, c.now()
	}
	r.maxDecoded = cmp.Or(r.maxDecoded, defaultMaxDecoded)
	if r.Failure != "" {
		if !r.Failure.isKnown() {
			r.Failure, r.Err = FailReset, &fault{r.Failure, r.Err}
		}
		return r
	}
	if f := r.parseHead(); f != nil {
		r.Failure, r.Err, r.Status = f.failure, f.err, 0
		return r
	}
	switch r.Truncated {
	case "", "length", "time", "disconnect":
	default:
		r.Truncated = "disconnect"
	}
	r.FirstByte = cmp.Or(r.FirstByte, r.End.Sub(r.Start))
	r.Received = cmp.Or(r.Received, int64(len(r.Head)+len(r.Body)))
	return r
}
