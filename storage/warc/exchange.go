// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"crypto/sha1"
	"fmt"
	"net/netip"
	"time"
)

// Exchange is one HTTP exchange to be stored. The Writer only reads it and keeps no reference to it.
type Exchange struct {
	// URI is the canonical URL: 1 to MaxURIBytes bytes, all of them in 0x21–0x7e, the first not '<'.
	URI string
	// Addr is the address that answered; the zero Addr leaves WARC-IP-Address out.
	Addr netip.Addr
	// Start is when the request was sent. It becomes the WARC-Date, to the millisecond. Zero means now.
	Start time.Time
	// Request is the head of the request as sent. If it is empty, no request record is written.
	Request []byte
	// ResponseHead is the status line and the fields as received. The package documentation says how it is stored.
	ResponseHead []byte
	// Body is the body without transfer coding; content coding (gzip, br, …) is kept. A compressed body is stored as it
	// came: on an earlier host that took 30 µs a page instead of 95, while decompressing it for the parser takes 40 to
	// 60.
	Body []byte
	// Truncated says why Body is incomplete: "length", "time", "disconnect" or "unspecified"; "" = it is complete.
	Truncated string
	// Fields are added to the header of the response record, in order. Names begin with "WARC-" or "X-", and the
	// Writer's own fields are not allowed. Values are escaped where necessary. WARC-Identified-Payload-Type belongs
	// here.
	Fields []Field
}

// Written is the place where an exchange was stored.
type Written struct {
	Request     Location        // zero if there was no request record
	Response    Location        // of the response or revisit record
	PayloadSHA1 [sha1.Size]byte // of the body; of a revisit, its SHA-1 PayloadDigest, or zero
}

// WriteExchange appends a request and a response record, adjacent and in this order, and returns the Location of the
// response record. It may be called from any goroutine. The records are on disk after the next Sync.
//
// An *InputError says which part of x cannot be stored; nothing was written, and the Writer remains usable. After
// Close the error is ErrClosed. Any other error comes from the file and is final: see Sync.
func (w *Writer) WriteExchange(x *Exchange) (Location, error) {
	written, err := w.AppendExchange(x)
	return written.Response, err
}

// AppendExchange is WriteExchange for callers that also need the request's Location or the computed digest.
func (w *Writer) AppendExchange(x *Exchange) (Written, error) {
	date, err := w.checkExchange(x.URI, x.Start, x.Truncated, x.Fields)
	if err != nil {
		return Written{}, err
	}
	if err := checkHeads(x.URI, x.Request, x.ResponseHead); err != nil {
		return Written{}, err
	}
	if len(x.Body) > DefaultMaxBlockBytes-2*maxHeadBytes {
		return Written{}, &InputError{"Exchange.Body", x.URI,
			fmt.Sprintf("has %d bytes, a record holds at most %d", len(x.Body), DefaultMaxBlockBytes-2*maxHeadBytes)}
	}

	e := w.encoder()
	defer w.release(e)
	sum := sha1.Sum(x.Body)
	responseID := w.o.NewID()
	requestBytes := e.request(w, x.URI, x.Addr, date, x.Request, responseID)

	e.head = appendHead(e.head[:0], x.ResponseHead, responseHead, len(x.Body))
	e.begin(TypeResponse, responseID, date, x.URI)
	e.address(x.Addr)
	e.fieldBytes("WARC-Payload-Digest", AppendSHA1(e.scratch[:0], sum))
	if x.Truncated != "" {
		e.field("WARC-Truncated", x.Truncated)
	}
	e.fields(x.Fields)
	e.member(e.gz, "application/http; msgtype=response", e.head, x.Body)

	return w.store(e, requestBytes, sum)
}

// store appends the members in e, of which the first requestBytes bytes are the request record, and returns their
// places.
func (w *Writer) store(e *encoder, requestBytes int64, sum [sha1.Size]byte) (Written, error) {
	records := int64(1)
	if requestBytes > 0 {
		records = 2
	}
	file, offset, err := w.append(e.out, records)
	if err != nil {
		return Written{}, err
	}
	total := int64(len(e.out))
	out := Written{Response: Location{file, offset + requestBytes, total - requestBytes}, PayloadSHA1: sum}
	if requestBytes > 0 {
		out.Request = Location{file, offset, requestBytes}
	}
	return out, nil
}

// WriteMetadata appends a metadata record about a URI (application/warc-fields), such as the outcome of a fetch
// without a response. A zero at means now. Names of fields must be tokens; values are escaped. It may be called from
// any goroutine. Errors are those of WriteExchange.
func (w *Writer) WriteMetadata(uri string, at time.Time, fields []Field) (Location, error) {
	date, err := w.checkExchange(uri, at, "", nil)
	if err != nil {
		return Location{}, err
	}
	if err := checkBlockFields("metadata", uri, fields); err != nil {
		return Location{}, err
	}
	e := w.encoder()
	defer w.release(e)
	e.head = appendBlockFields(e.head[:0], fields)
	e.begin(TypeMetadata, w.o.NewID(), date, uri)
	e.fieldBytes("WARC-Block-Digest", AppendSHA1(e.scratch[:0], sha1.Sum(e.head)))
	e.member(e.gz, "application/warc-fields", e.head, nil)
	written, err := w.store(e, 0, [sha1.Size]byte{})
	return written.Response, err
}

// InputError says which part of a caller's record cannot be stored. The record was refused, and the Writer remains
// usable.
type InputError struct {
	What   string // "URI", "Exchange.Truncated", "field WARC-Type", …
	Value  string // the bad value or the URI of the record; Error shortens and quotes it
	Reason string // what is wrong with it
}

func (e *InputError) Error() string {
	v := e.Value
	if len(v) > 200 {
		v = v[:200] + "…"
	}
	return fmt.Sprintf("writing a WARC record: %s %q: %s", e.What, v, e.Reason)
}

// checkExchange checks the parts that all records have in common, and returns the date to write.
func (w *Writer) checkExchange(uri string, start time.Time, truncated string, fields []Field) (time.Time, error) {
	if err := checkURI("URI", uri); err != nil {
		return start, err
	}
	switch truncated {
	case "", "length", "time", "disconnect", "unspecified":
	default:
		return start, &InputError{"Exchange.Truncated", truncated, "not one of length, time, disconnect, unspecified"}
	}
	if err := checkHeaderFields(fields); err != nil {
		return start, err
	}
	if start.IsZero() {
		start = w.o.Now()
	}
	start = start.UTC()
	if y := start.Year(); y < 1 || y > 9999 {
		return start, &InputError{"Start", start.String(), "a WARC-Date has a year of four digits"}
	}
	return start, nil
}

func checkURI(what, uri string) error {
	if uri == "" || len(uri) > MaxURIBytes {
		return &InputError{what, uri, fmt.Sprintf("has %d bytes, must have 1 to %d", len(uri), MaxURIBytes)}
	}
	if uri[0] == '<' {
		return &InputError{what, uri, "begins with an angle bracket, which readers remove"}
	}
	for i := 0; i < len(uri); i++ {
		if c := uri[i]; c < 0x21 || c > 0x7e {
			return &InputError{what, uri, fmt.Sprintf("byte %#02x at %d is not visible ASCII: escape it first", c, i)}
		}
	}
	return nil
}

func checkHeads(uri string, request, response []byte) error {
	if len(request) > maxHeadBytes || len(response) > maxHeadBytes {
		return &InputError{"the HTTP head of", uri,
			fmt.Sprintf("request %d, response %d bytes; at most %d", len(request), len(response), maxHeadBytes)}
	}
	if !visible(response) {
		return &InputError{"Exchange.ResponseHead of", uri,
			"is empty: use WriteMetadata for a fetch without a response"}
	}
	return nil
}
