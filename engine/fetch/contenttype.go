// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"bytes"
	"strings"
)

// ContentType returns the Content-Type of a response, "" if there is none. Of several values, in fields or joined by
// commas, it chooses as browsers do (Fetch standard, "extract a MIME type"): the last that is a media type counts, with
// the charset of one before it if that has the same type and it has none.
func (r *Response) ContentType() string {
	values := r.Values("Content-Type")
	if len(values) == 0 {
		return ""
	}
	chosen, essence, charset, inherits := "", "", "", false
	for _, item := range splitList(values) {
		is := mediaTypeOf([]byte(item))
		if !isMediaType(is) || is == "*/*" {
			continue
		}
		own := charsetOf(item)
		if own != "" || is != essence {
			charset = own
		}
		chosen, essence, inherits = item, is, own == ""
	}
	if inherits && charset != "" { // not before: it may be long, and the items many
		chosen += ";charset=" + charset
	}
	if chosen == "" { // text, perhaps, or nonsense: the reader decides
		return string(values[0])
	}
	return chosen
}

// splitList splits the values of a field at commas outside quotes.
func splitList(values [][]byte) (items []string) {
	for _, v := range values {
		quoted, from := false, 0
		for i := 0; i < len(v); i++ {
			switch {
			case v[i] == '"':
				quoted = !quoted
			case v[i] == '\\' && quoted:
				i++
			case v[i] == ',' && !quoted:
				items = append(items, string(bytes.TrimSpace(v[from:i])))
				from = i + 1
			}
		}
		items = append(items, string(bytes.TrimSpace(v[from:])))
	}
	return items
}

// isMediaType reports whether s is "type/subtype".
func isMediaType(s string) bool {
	kind, sub, ok := strings.Cut(s, "/")
	isToken := func(s string) bool {
		return s != "" && strings.IndexFunc(s, func(c rune) bool { return c > 0x7f || !isTokenByte(byte(c)) }) < 0
	}
	return ok && isToken(kind) && isToken(sub)
}

// charsetOf returns the value of a media type's charset parameter as it is written, "" if there is none.
func charsetOf(mediaType string) string {
	_, parameters, _ := strings.Cut(mediaType, ";")
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if strings.EqualFold(strings.TrimSpace(name), "charset") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
