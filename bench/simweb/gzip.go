// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// acceptsGzip reads an Accept-Encoding field (RFC 9110, 12.5.3): gzip or x-gzip is named, or * stands for it, and its
// weight is not 0.
func acceptsGzip(value []byte) bool {
	named, any := -1.0, -1.0
	for part := range bytes.SplitSeq(value, []byte(",")) {
		coding, parameters, _ := bytes.Cut(part, []byte(";"))
		weight := 1.0
		if q, ok := bytes.CutPrefix(bytes.ToLower(bytes.TrimSpace(parameters)), []byte("q=")); ok {
			if w, err := strconv.ParseFloat(string(bytes.TrimSpace(q)), 64); err == nil {
				weight = w
			}
		}
		switch coding = bytes.TrimSpace(coding); {
		case bytes.EqualFold(coding, []byte("gzip")), bytes.EqualFold(coding, []byte("x-gzip")):
			named = max(named, weight)
		case string(coding) == "*":
			any = weight
		}
	}
	if named >= 0 {
		return named > 0
	}
	return any > 0
}

// gzipLevel is nginx's default.
const gzipLevel = 1

var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzipLevel)
	return z
}}

// appendGzip appends the compressed body to dst; body may be what dst holds.
func appendGzip(dst, body []byte) []byte {
	z := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	out := bytes.NewBuffer(dst)
	z.Reset(out)
	if _, err := z.Write(body); err != nil {
		panic("BUG: compressing into memory failed: " + err.Error())
	}
	if err := z.Close(); err != nil {
		panic("BUG: compressing into memory failed: " + err.Error())
	}
	return out.Bytes()
}
