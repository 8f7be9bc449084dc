// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"crypto/sha1"
	"encoding/base32"
	"net/netip"
	"time"
)

// RevisitProfile is the reason why a revisit record states that a body is already stored. The zero value is
// NotModified.
type RevisitProfile uint8

const (
	// NotModified: the server answered a conditional request with status 304.
	NotModified RevisitProfile = iota
	// IdenticalPayload: the body was received and has the digest of an earlier one.
	IdenticalPayload
)

// String returns the URI to be written as WARC-Profile (WARC 1.1, 6.7).
func (p RevisitProfile) String() string {
	if p == IdenticalPayload {
		return "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
	}
	return "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
}

// Revisit is an exchange whose body is not stored, because an earlier record contains the same body.
type Revisit struct {
	// URI, Addr, Start, Request, ResponseHead, Fields: as in Exchange. ResponseHead may be empty if only the digest
	// is known.
	URI          string
	Addr         netip.Addr
	Start        time.Time
	Request      []byte
	ResponseHead []byte
	Fields       []Field
	// Profile says why the earlier record has the same body.
	Profile RevisitProfile
	// PayloadDigest is that of the earlier record, as spelled in its header ("sha1:…"). It is required for
	// IdenticalPayload and optional for NotModified.
	PayloadDigest string
	// RefersToURI and RefersToDate identify the earlier record as replay tools look it up. RefersToID is its
	// WARC-Record-ID ("urn:uuid:…"). Empty ones are left out.
	RefersToURI  string
	RefersToDate time.Time
	RefersToID   string
}

// WriteRevisit appends a request record, if there is a request, and a revisit record. The rules and errors are those
// of WriteExchange. The response head keeps its Content-Length, which is that of the body stored elsewhere. A
// Transfer-Encoding field is renamed as in a response.
func (w *Writer) WriteRevisit(v *Revisit) (Written, error) {
	date, err := w.checkExchange(v.URI, v.Start, "", v.Fields)
	if err != nil {
		return Written{}, err
	}
	if err := checkRevisit(v); err != nil {
		return Written{}, err
	}
	e := w.encoder()
	defer w.release(e)
	id := w.o.NewID()
	requestBytes := e.request(w, v.URI, v.Addr, date, v.Request, id)

	e.head = e.head[:0]
	if visible(v.ResponseHead) {
		e.head = appendHead(e.head, v.ResponseHead, revisitHead, 0)
	}
	e.begin(TypeRevisit, id, date, v.URI)
	e.address(v.Addr)
	e.field("WARC-Profile", v.Profile.String())
	if v.RefersToID != "" {
		e.field("WARC-Refers-To", "<"+v.RefersToID+">")
	}
	if v.RefersToURI != "" {
		e.field("WARC-Refers-To-Target-URI", v.RefersToURI)
	}
	if !v.RefersToDate.IsZero() {
		e.fieldBytes("WARC-Refers-To-Date", appendDate(e.scratch[:0], v.RefersToDate))
	}
	if v.PayloadDigest != "" {
		e.field("WARC-Payload-Digest", v.PayloadDigest)
	}
	e.fieldBytes("WARC-Block-Digest", AppendSHA1(e.scratch[:0], sha1.Sum(e.head)))
	e.fields(v.Fields)
	e.member(e.gz, "application/http; msgtype=response", e.head, nil)
	return w.store(e, requestBytes, ParseSHA1(v.PayloadDigest))
}

func checkRevisit(v *Revisit) error {
	if len(v.Request) > maxHeadBytes || len(v.ResponseHead) > maxHeadBytes {
		return checkHeads(v.URI, v.Request, v.ResponseHead)
	}
	if v.Profile > IdenticalPayload {
		return &InputError{"Revisit.Profile of", v.URI, "is unknown"}
	}
	if v.Profile == IdenticalPayload && v.PayloadDigest == "" {
		return &InputError{"Revisit.PayloadDigest of", v.URI, "is required for an identical payload"}
	}
	for _, f := range [...]Field{{"Revisit.RefersToURI", v.RefersToURI}, {"Revisit.RefersToID", v.RefersToID},
		{"Revisit.PayloadDigest", v.PayloadDigest}} {
		if f.Value == "" {
			continue
		}
		if err := checkURI(f.Name, f.Value); err != nil {
			return err
		}
	}
	if y := v.RefersToDate.UTC().Year(); y < 1 || y > 9999 {
		return &InputError{"Revisit.RefersToDate", v.RefersToDate.String(), "a WARC date has a year of four digits"}
	}
	return nil
}

// ParseSHA1 is the inverse of AppendSHA1; zero for any other digest.
func ParseSHA1(digest string) (sum [sha1.Size]byte) {
	const prefix = "sha1:"
	if len(digest) == len(prefix)+32 && digest[:len(prefix)] == prefix {
		if raw, err := base32.StdEncoding.DecodeString(digest[len(prefix):]); err == nil {
			copy(sum[:], raw)
		}
	}
	return sum
}
