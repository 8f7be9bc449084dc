// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"crypto/sha1"
	"fmt"
	"net/netip"
	"time"
)

// Exchange is one HTTP exchange to be stored. The Writer only reads it, and keeps nothing of it.
type Exchange struct {
	// URI is the canonical URL: 1 to MaxURIBytes bytes, all of them in 0x21–0x7e, the first not '<'.
	URI string
	// Addr is the address that answered; the zero Addr leaves WARC-IP-Address out.
	Addr netip.Addr
	// Start is when the request was sent: the WARC-Date, kept to the millisecond. Zero means now.
	Start time.Time
	// Request is the head of the request as sent; empty writes no request record.
	Request []byte
	// ResponseHead is the status line and the fields as received. See the package page for what is kept of it.
	ResponseHead []byte
	// Body is the entity: transfer coding removed, content coding (gzip, br, …) left as it is.
	Body []byte
	// Truncated says why Body is not all of it: "" (it is), "length", "time", "disconnect" or "unspecified".
	Truncated string
	// Fields are added to the header of the response record, in order: names begin with "WARC-" or "X-" and are not
	// among those that the Writer sets itself; values are escaped where they must be. WARC-Identified-Payload-Type
	// belongs here.
	Fields []Field
}

// Written says where an exchange was stored.
type Written struct {
	Request     Location // zero when there was no request record
	Response    Location // of the response or revisit record
	PayloadSHA1 [sha1.Size]byte
}

// WriteExchange appends a request and a response record, adjacent and in this order, and returns the Location of the
// response record. It may be called from any goroutine; the records are on disk after the next Sync.
//
// An *InputError says what of x cannot be stored: nothing was written and the Writer goes on. Every other error is
// that of the file: it is sticky.
func (w *Writer) WriteExchange(x *Exchange) (Location, error) {
	written, err := w.AppendExchange(x)
	return written.Response, err
}

// AppendExchange is WriteExchange for callers that also want the request's Location or the digest that was computed.
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

// store appends the members in e, of which the first requestBytes bytes are the request record, and tells where they
// went.
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

// WriteMetadata appends a metadata record about a URI (application/warc-fields): the outcome of a fetch that had no
// response. Names are tokens; values are escaped. Errors are those of WriteExchange.
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

// InputError says what of a caller's record cannot be stored. The record was refused and the Writer is as before.
type InputError struct {
	What   string // "URI", "Exchange.Truncated", "field WARC-Type", …
	Value  string // the offending value or the URI of the record, shortened and quoted by Error
	Reason string
}

func (e *InputError) Error() string {
	v := e.Value
	if len(v) > 200 {
		v = v[:200] + "…"
	}
	return fmt.Sprintf("writing a WARC record: %s %q: %s", e.What, v, e.Reason)
}

// checkExchange checks what all records have in common, and gives the date to write.
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
		return &InputError{what, uri, "begins with an angle bracket, which readers take off"}
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
		return &InputError{"Exchange.ResponseHead of", uri, "is empty: a fetch without response belongs in WriteMetadata"}
	}
	return nil
}
