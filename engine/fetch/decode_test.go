// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/seine-crawler/seine/engine/fetch"
)

// TestContentBound: content has at most as many bytes as it may, whatever buffer it gets, and is whole if it has just
// as many.
func TestContentBound(t *testing.T) {
	for _, c := range []struct {
		bytes     int
		truncated bool
	}{{1000, false}, {1001, true}, {64 << 10, true}} {
		body := squeeze(t, "gzip", bytes.Repeat([]byte("a"), c.bytes))
		head := "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n"
		s := serve(t, said(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)))
		cl := client(t, nil)
		for range 20 {
			large := stored(t, "gzip", squeeze(t, "gzip", make([]byte, 128<<10)))
			large.Content()
			large.Release() // its buffer is for the next
			r := cl.Fetch(context.Background(), &fetch.Request{URL: s.url("/"), MaxBody: 1000})
			got, truncated, err := r.Content()
			if r.Failure != "" || err != nil || len(got) != 1000 || truncated != c.truncated {
				t.Errorf("of %d bytes: %s, %d, truncated %v, %v", c.bytes, r.Failure, len(got), truncated, err)
			}
			r.Release()
		}
	}
}
