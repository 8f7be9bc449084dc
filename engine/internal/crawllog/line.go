// SPDX-License-Identifier: Apache-2.0

package crawllog

import (
	"bytes"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// Format is the layout of lines.
type Format string

// The formats.
const (
	JSON     Format = "json"
	Heritrix Format = "heritrix"
)

// Entry is one fetch. Texts may hold anything.
type Entry struct {
	Time       time.Time // when it began; lines have milliseconds
	Took       time.Duration
	URL        string
	Outcome    string // "fetch_success" …
	HTTPStatus int    // 0: no answer
	Code       int    // HTTPStatus, or Heritrix's negative code of the failure
	Failure    string // "": none
	Bytes      int64  // received
	HopPath    string // L for a link, R for a redirect; "" for a seed
	Via        string // URL that led here; "": unknown, or a seed
	MediaType  string
	Redirect   string    // target
	Truncated  string    // as in WARC-Truncated
	Digest     *[20]byte // SHA-1 of the body as received, of a 304 that of the one it confirms; nil: no response
	Tries      int       // failed ones in a row before this one
	Segment    uint32
}

// The timestamps of Heritrix: of a line, and of the begin of a fetch.
const (
	logTime   = "2006-01-02T15:04:05.000Z"
	begunTime = "20060102150405"
)

// append appends the line of an entry.
func (f Format) append(dst []byte, e *Entry) []byte {
	if f == Heritrix {
		return appendHeritrix(dst, e)
	}
	return appendJSON(dst, e)
}

// appendJSON appends an entry as a JSON object. Fields that are empty are left out.
func appendJSON(dst []byte, e *Entry) []byte {
	dst = append(dst, `{"time":"`...)
	dst = e.Time.UTC().AppendFormat(dst, logTime)
	dst = append(dst, `","url":`...)
	dst = appendQuoted(dst, e.URL)
	text := func(name, value string) {
		if value != "" {
			dst = append(append(append(dst, `,"`...), name...), `":`...)
			dst = appendQuoted(dst, value)
		}
	}
	number := func(name string, value int64) {
		dst = append(append(append(dst, `,"`...), name...), `":`...)
		dst = strconv.AppendInt(dst, value, 10)
	}
	text("status", e.Outcome)
	number("http_status", int64(e.HTTPStatus))
	number("code", int64(e.Code))
	text("failure", e.Failure)
	number("bytes", e.Bytes)
	number("took_ms", e.Took.Milliseconds())
	text("hop_path", e.HopPath)
	text("via", e.Via)
	text("media_type", e.MediaType)
	text("redirect", e.Redirect)
	text("truncated", e.Truncated)
	if e.Digest != nil {
		dst = append(dst, `,"digest":"`...)
		dst = append(appendDigest(dst, e.Digest), '"')
	}
	number("tries", int64(e.Tries)+1)
	number("segment", int64(e.Segment))
	return append(dst, "}\n"...)
}

func appendDigest(dst []byte, digest *[20]byte) []byte {
	return base32.StdEncoding.AppendEncode(append(dst, "sha1:"...), digest[:])
}

// appendQuoted appends a text as JSON, without control characters and with U+FFFD for what is not UTF-8.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if plainText(s) {
		return append(append(dst, s...), '"')
	}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ' || c == 0x7f:
			dst = fmt.Appendf(dst, `\u%04x`, c)
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r < 0xa0 || r == '\u2028' || r == '\u2029' { // control characters and line ends of other readers
				dst = fmt.Appendf(dst, `\u%04x`, r)
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

// plainText reports whether a text is the same in JSON.
func plainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendHeritrix appends an entry as Heritrix 3 writes it to crawl.log: time of the line, status or negative code,
// bytes, URI, hop path, via, media type, number of the fetcher (which is not known: #000), begin of the fetch and its
// milliseconds, digest, source tag (which there is none of), annotations.
func appendHeritrix(dst []byte, e *Entry) []byte {
	dst = e.Time.Add(e.Took).UTC().AppendFormat(dst, logTime)
	dst = fmt.Appendf(dst, " %5d ", e.Code)
	if e.HTTPStatus == 0 && e.Bytes == 0 {
		dst = append(dst, "         -"...)
	} else {
		dst = fmt.Appendf(dst, "%10d", e.Bytes)
	}
	for _, s := range []string{e.URL, e.HopPath, e.Via} {
		dst = appendField(append(dst, ' '), s)
	}
	if dst = append(dst, ' '); e.MediaType == "" {
		dst = append(dst, "no-type"...)
	} else {
		dst = appendField(dst, e.MediaType)
	}
	dst = append(dst, " #000 "...)
	begun := e.Time.UTC()
	dst = begun.AppendFormat(dst, begunTime)
	dst = fmt.Appendf(dst, "%03d+%d ", begun.Nanosecond()/1e6, e.Took.Milliseconds())
	if e.Digest == nil {
		dst = append(dst, '-')
	} else {
		dst = appendDigest(dst, e.Digest)
	}
	dst = append(dst, " - "...)
	return append(appendAnnotations(dst, e), '\n')
}

// appendAnnotations appends what has no field of its own, with commas between.
func appendAnnotations(dst []byte, e *Entry) []byte {
	from := len(dst)
	add := func(s string) {
		if len(dst) > from {
			dst = append(dst, ',')
		}
		dst = appendField(dst, s)
	}
	if e.Tries > 0 {
		add(strconv.Itoa(e.Tries+1) + "t")
	}
	switch e.Truncated {
	case "":
	case "length":
		add("lenTrunc")
	default: // "timeTrunc" is Heritrix's, too
		add(e.Truncated + "Trunc")
	}
	if e.Failure != "" {
		add(e.Failure)
	}
	if len(dst) == from {
		return append(dst, '-')
	}
	return dst
}

// appendField appends a text without spaces and control characters: they are written as in a URL. "" is "-".
func appendField(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, '-')
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f {
			dst = fmt.Appendf(dst, "%%%02X", c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// read returns the URL of a line and when its fetch began. ok is false for a line that no Log wrote.
func (f Format) read(line []byte) (url string, begun time.Time, ok bool) {
	if f == Heritrix {
		fields := bytes.Fields(line)
		if len(fields) != heritrixFields {
			return "", time.Time{}, false
		}
		digits, _, _ := bytes.Cut(fields[8], []byte{'+'})
		if len(digits) != len(begunTime)+3 {
			return "", time.Time{}, false
		}
		begun, err := time.Parse(begunTime+".000", string(digits[:14])+"."+string(digits[14:]))
		return string(fields[3]), begun, err == nil
	}
	var e struct {
		Time time.Time `json:"time"`
		URL  string    `json:"url"`
	}
	err := json.Unmarshal(line, &e)
	return e.URL, e.Time, err == nil && e.URL != ""
}

const heritrixFields = 12
