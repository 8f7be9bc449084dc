// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// CDXJ is one line of a CDXJ index, the format that pywb, warcio and OutbackCDX read: the place of one capture of a
// URL. An index is sorted by the bytes of its lines.
type CDXJ struct {
	// Key is the sort key, which replay tools expect to be that of AppendSURT: "org,python,docs)/3/library". Bytes that
	// would end it (space and control characters) are percent-encoded.
	Key string
	// Time is the time of the capture. It is written in UTC to the second, 14 digits.
	Time time.Time
	// URL, MediaType ("mime", MediaTypeRevisit for revisit records), Status (HTTP, 0 is left out) and Digest
	// ("sha1:…", by which replay tools find what a revisit record refers to) describe the capture. Empty ones other
	// than URL are left out.
	URL, MediaType string
	Status         int
	Digest         string
	Location
}

// MediaTypeRevisit is what an index says in place of the media type of a revisit record, which has no content.
const MediaTypeRevisit = "warc/revisit"

// AppendCDXJ appends one line, with its line feed, to dst. All values are JSON strings, also numbers, as pywb expects.
func AppendCDXJ(dst []byte, c *CDXJ) []byte {
	for i := 0; i < len(c.Key); i++ {
		if b := c.Key[i]; b > ' ' && b != 0x7f {
			dst = append(dst, b)
		} else {
			dst = append(dst, '%', upperHex[b>>4], upperHex[b&15])
		}
	}
	dst = append(dst, ' ')
	dst = c.Time.UTC().AppendFormat(dst, "20060102150405")
	dst = append(dst, ` {"url": `...)
	dst = appendJSON(dst, c.URL)
	if c.MediaType != "" {
		dst = append(dst, `, "mime": `...)
		dst = appendJSON(dst, c.MediaType)
	}
	if c.Status != 0 {
		dst = append(dst, `, "status": "`...)
		dst = strconv.AppendInt(dst, int64(c.Status), 10)
		dst = append(dst, '"')
	}
	if c.Digest != "" {
		dst = append(dst, `, "digest": `...)
		dst = appendJSON(dst, c.Digest)
	}
	dst = append(dst, `, "length": "`...)
	dst = strconv.AppendInt(dst, c.Length, 10)
	dst = append(dst, `", "offset": "`...)
	dst = strconv.AppendInt(dst, c.Offset, 10)
	dst = append(dst, `", "filename": `...)
	dst = appendJSON(dst, c.File)
	return append(dst, "}\n"...)
}

const upperHex = "0123456789ABCDEF"

// appendJSON appends a JSON string (RFC 8259). Bytes that are not UTF-8 become U+FFFD, as in encoding/json. Angle
// brackets and ampersands are not escaped, because the line is never part of a page.
func appendJSON(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ' || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', upperHex[c>>4], upperHex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == '\u2028' || r == '\u2029' { // line ends in JavaScript, and for some line readers
				dst = append(dst, `\u202`...)
				dst = append(dst, upperHex[r&15])
			} else {
				dst = utf8.AppendRune(dst, r)
			}
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}
