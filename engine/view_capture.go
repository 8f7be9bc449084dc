// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/seine-crawler/seine/engine/internal/inspect"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
	"github.com/seine-crawler/seine/storage/warc"
)

// CaptureView is one stored response to a request for a URL. Times are in UTC, to the millisecond.
type CaptureView struct {
	URL        string    `json:"url"`
	Time       time.Time `json:"time"`
	HTTPStatus uint16    `json:"http_status"`
	MediaType  string    `json:"media_type,omitempty"`
	Digest     string    `json:"digest"` // "sha1:…" of the body as received, as in WARC-Payload-Digest
	Segment    uint32    `json:"segment"`
	// WARC is the name of the file in the directory warc; its record begins at Offset and has Length bytes there, which
	// are compressed.
	WARC   string `json:"warc"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	// RevisitOf is the time of the capture with the content that this one confirmed (the answer was 304); zero: it has
	// its own content.
	RevisitOf time.Time `json:"revisit_of,omitzero"`
}

// String is the capture on one line, its fields separated by tabs.
func (c CaptureView) String() string {
	of := ""
	if !c.RevisitOf.IsZero() {
		of = "\trevisit of " + timeText(c.RevisitOf)
	}
	return fmt.Sprintf("%s\t%s\thttp %d\t%s\t%s\t%s@%d+%d%s", c.URL, timeText(c.Time), c.HTTPStatus,
		orDash(strings.Map(onePrintable, c.MediaType)), c.Digest, c.WARC, c.Offset, c.Length, of)
}

func viewCapture(u urlkey.URL, c *inspect.CaptureOf) CaptureView {
	return CaptureView{
		URL: u.String(), Time: timeOf(c.Time), HTTPStatus: c.HTTPStatus, MediaType: c.MediaType,
		Digest: string(warc.AppendSHA1(nil, c.Digest)), Segment: c.Segment, WARC: c.Location.File,
		Offset: c.Location.Offset, Length: c.Location.Length, RevisitOf: timeOf(c.RevisitOf),
	}
}

// StoredCopy is a response as it was received. Everything in it comes from a foreign server.
type StoredCopy struct {
	// Capture is the one that was chosen; Content has the header and the body: Capture itself, or the one that it
	// confirmed.
	Capture CaptureView `json:"capture"`
	Content CaptureView `json:"content"`
	// Header are the fields as received, in their order. Bytes that are not UTF-8 are replaced.
	Header []HeaderField `json:"header"`
	// Charset is the WHATWG name of the body's encoding, as far as it is known; "": unknown, or the body is no text.
	Charset string `json:"charset,omitempty"`
	// Body is without transfer and content coding, at most 8 MiB of it.
	Body []byte `json:"body"`
	// Truncated says why the body is not whole: "length", "time", "disconnect" or "unspecified" as in WARC-Truncated,
	// "decode" if its content coding is damaged; "": it is whole.
	Truncated string `json:"truncated,omitempty"`
	// NoArchive: the page forbids that its stored copy is shown to others (robots meta tag, X-Robots-Tag).
	NoArchive bool `json:"noarchive,omitempty"`
}

// HeaderField is a field of a response's header.
type HeaderField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Field returns the first value of a header field, "" if there is none. Upper and lower case in the name are equal.
func (c *StoredCopy) Field(name string) string {
	for _, f := range c.Header {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Text returns the body in UTF-8. Bytes that its charset does not have are replaced; with an unknown charset, those
// that are not UTF-8.
func (c *StoredCopy) Text() string {
	if e, err := htmlindex.Get(c.Charset); err == nil {
		if name, _ := htmlindex.Name(e); name != "utf-8" {
			if text, err := e.NewDecoder().Bytes(c.Body); err == nil {
				return string(text)
			}
		}
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(c.Body), "\ufeff"), "\ufffd")
}

// String writes the head of the copy as an HTTP message, then the body in UTF-8, without control characters.
func (c StoredCopy) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nHTTP %d %s\n", c.Capture, c.Content.HTTPStatus, http.StatusText(int(c.Content.HTTPStatus)))
	for _, f := range c.Header {
		fmt.Fprintf(&b, "%s: %s\n", strings.Map(onePrintable, f.Name), strings.Map(onePrintable, f.Value))
	}
	b.WriteByte('\n')
	b.WriteString(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return onePrintable(r)
	}, c.Text()))
	return b.String()
}

func viewCopy(u urlkey.URL, c *inspect.Copy) StoredCopy {
	v := StoredCopy{
		Capture: viewCapture(u, &c.Capture), Content: viewCapture(u, &c.Content), Charset: c.Charset, Body: c.Body,
		Truncated: c.Truncated, NoArchive: c.Flags&storage.FlagNoArchive != 0, Header: []HeaderField{},
	}
	for _, f := range c.Header {
		v.Header = append(v.Header, HeaderField{
			strings.ToValidUTF8(f.Name, "\ufffd"), strings.ToValidUTF8(f.Value, "\ufffd"),
		})
	}
	return v
}
