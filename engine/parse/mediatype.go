// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
)

// mediaType decides what a body is: what the server says, unless that is nothing or the catch-all
// that servers say when they do not know.
func mediaType(in *Input) string {
	said, _, err := mime.ParseMediaType(in.ContentType)
	if err != nil {
		said, _, _ = strings.Cut(in.ContentType, ";")
		said = strings.ToLower(strings.TrimSpace(said))
	}
	switch said {
	case "", "application/octet-stream", "application/unknown", "unknown/unknown", "*/*":
		sniffed, _, _ := strings.Cut(http.DetectContentType(in.Body), ";")
		return sniffed
	case "text/plain":
		// Misconfigured servers send binary files as text.
		if bytes.IndexByte(in.Body[:min(len(in.Body), 512)], 0) >= 0 && !bytes.HasPrefix(in.Body, []byte("\xff\xfe")) && !bytes.HasPrefix(in.Body, []byte("\xfe\xff")) {
			return "application/octet-stream"
		}
	}
	return said
}
