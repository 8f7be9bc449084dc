// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// ParseSeed parses the URL of a seed. People type "example.org": a text without a scheme that begins like a host gets
// https, and assumed is true. The error is that of the text as it was given.
func ParseSeed(raw string) (u urlkey.URL, assumed bool, err error) {
	u, err = urlkey.Parse(raw)
	if err == nil || !beginsWithHost(raw) {
		return u, false, err
	}
	with, failed := urlkey.Parse("https://" + strings.TrimPrefix(raw, "//"))
	if failed != nil {
		return u, false, err
	}
	return with, true, nil
}

// beginsWithHost reports whether a text without a scheme begins with a host: a name with a dot, localhost, an
// address, or any name with a port.
func beginsWithHost(s string) bool {
	s = strings.TrimPrefix(s, "//")
	if i := strings.IndexAny(s, "/?#\\"); i >= 0 {
		s = s[:i]
	}
	if strings.ContainsAny(s, "@ \t") {
		return false
	}
	if strings.HasPrefix(s, "[") {
		return true
	}
	name, port, hasPort := strings.Cut(s, ":")
	if name == "" || name[0] == '.' || name[len(name)-1] == '.' && !strings.Contains(name[:len(name)-1], ".") ||
		hasPort && (port == "" || strings.Trim(port, "0123456789") != "") {
		return false
	}
	return hasPort || strings.Contains(name, ".") || strings.EqualFold(name, "localhost")
}
