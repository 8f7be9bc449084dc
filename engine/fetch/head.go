// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"strconv"
)

// parseHead parses r.Head into r.Status and r.fields. It accepts what browsers accept: bare line feeds,
// lower-case versions, folded lines, space before a colon. It refuses NUL and bare carriage returns.
func (r *Response) parseHead() *fault {
	r.fields, r.odd = r.fields[:0], false
	line, rest := cutLine(r.Head)
	status, f := parseStatusLine(line)
	if f != nil {
		return f
	}
	r.Status = status
	own := false // the last value has memory of its own, since it was folded: lines are appended to it
	for len(rest) > 0 {
		line, rest = cutLine(rest)
		if len(line) == 0 {
			break
		}
		if bytes.IndexByte(line, 0) >= 0 || bytes.IndexByte(line, '\r') >= 0 {
			return &fault{failure: FailField}
		}
		if line[0] == ' ' || line[0] == '\t' { // folded: it continues the previous value
			if n := len(r.fields); n > 0 {
				last := &r.fields[n-1]
				if !own {
					last.value, own = bytes.Clone(last.value), true
				}
				last.value = append(append(last.value, ' '), bytes.TrimSpace(line)...)
			}
			continue
		}
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 {
			continue // not a field: browsers skip it
		}
		if len(r.fields) == maxFields {
			return &fault{failure: FailHeadTooLarge}
		}
		name := bytes.TrimRight(line[:colon], " \t")
		// Proxies disagree about a name followed by space, so nothing after it is trusted (RFC 9112, section 5.1).
		r.odd = r.odd || len(name) < colon
		r.fields, own = append(r.fields, field{name, bytes.TrimSpace(line[colon+1:])}), false
	}
	return nil
}

// cutLine splits off the first line, without its line end.
func cutLine(b []byte) (line, rest []byte) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return bytes.TrimSuffix(b, []byte{'\r'}), nil
	}
	return bytes.TrimSuffix(b[:end], []byte{'\r'}), b[end+1:]
}

// startsLikeHTTP checks the first nine bytes of a status line. Nothing is kept before it.
func startsLikeHTTP(b []byte) bool {
	return len(b) >= 9 && equalFold(b[:5], "HTTP/") &&
		b[5] == '1' && b[6] == '.' && (b[7] == '0' || b[7] == '1') && b[8] == ' '
}

// parseStatusLine returns the status code, which must be 100 to 599, or 999.
func parseStatusLine(line []byte) (int, *fault) {
	if !startsLikeHTTP(line) {
		return 0, &fault{failure: FailStatusLine}
	}
	code := line[9:]
	if len(code) > 3 && code[3] != ' ' || len(code) < 3 {
		return 0, &fault{failure: FailStatus}
	}
	n, err := strconv.Atoi(string(code[:3]))
	if err != nil || n < 100 || n > 599 && n != 999 {
		return 0, &fault{failure: FailStatus}
	}
	return n, nil
}

// framing says how the end of a body is found.
type framing struct {
	chunked bool
	length  int64 // bytes; -1: until the connection closes
	reuse   bool  // the connection may serve another request
}

// framing derives from the fields where the body ends and whether the connection stays open.
func (r *Response) framing() (framing, *fault) {
	http11 := r.Head[7] == '1'
	fr := framing{length: -1, reuse: http11}
	for _, f := range r.fields {
		switch {
		case equalFold(f.name, "Transfer-Encoding"):
			switch v := bytes.ToLower(f.value); {
			case len(v) == 0 || string(v) == "identity":
			case string(v) == "chunked" && http11:
				fr.chunked = true
			case string(v) == "chunked": // has no meaning in HTTP/1.0
			default:
				return fr, &fault{failure: FailCoding}
			}
		case equalFold(f.name, "Content-Length"):
			n, wrong := parseLength(f.value)
			if wrong != nil {
				return fr, wrong
			}
			if fr.length >= 0 && n != fr.length {
				return fr, &fault{failure: FailLength}
			}
			fr.length = n
		case equalFold(f.name, "Connection"):
			for token := range bytes.SplitSeq(f.value, []byte{','}) {
				switch token = bytes.TrimSpace(token); {
				case equalFold(token, "close"):
					fr.reuse = false
				case equalFold(token, "keep-alive") && r.Head[7] == '0':
					fr.reuse = true
				}
			}
		}
	}
	if fr.chunked && fr.length >= 0 {
		fr.length, fr.reuse = -1, false // contradictory framing: nothing after this body is trusted
	}
	if r.Status == 204 || r.Status == 304 {
		fr.chunked, fr.length = false, 0
	}
	if fr.length < 0 && !fr.chunked || r.odd {
		fr.reuse = false
	}
	return fr, nil
}

// parseLength parses "n" or "n, n". An empty value counts as absent (-1).
func parseLength(v []byte) (int64, *fault) {
	length := int64(-1)
	if len(v) == 0 {
		return length, nil
	}
	for part := range bytes.SplitSeq(v, []byte{','}) {
		part = bytes.TrimSpace(part)
		n, err := strconv.ParseInt(string(part), 10, 64)
		if err != nil || n < 0 || part[0] == '+' || part[0] == '-' || length >= 0 && n != length {
			return 0, &fault{failure: FailLength}
		}
		length = n
	}
	return length, nil
}
