// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/base64"
	"testing"

	"github.com/seine-crawler/seine/engine"
)

// TestNextCursor: there is a next page as long as there are, or may be, matches behind this one that can be reached.
func TestNextCursor(t *testing.T) {
	for _, c := range []struct {
		offset, limit, hits, total int
		atLeast                    bool
		want                       string
	}{
		{0, 4, 4, 5, false, "4"}, {4, 4, 4, 9, false, "8"}, {4, 4, 4, 8, false, ""}, {4, 4, 4, 8, true, "8"},
		{4, 4, 3, 7, true, ""}, {0, 4, 0, 0, false, ""}, {9_990, 10, 10, 20_000, false, ""},
		{9_980, 10, 10, 9_990, true, "9990"},
	} {
		r := engine.SearchResult{Total: c.total, AtLeast: c.atLeast, Hits: make([]engine.Hit, c.hits)}
		got := nextCursor(&engine.SearchOptions{Offset: c.offset, Limit: c.limit}, &r)
		if want := base64.RawURLEncoding.EncodeToString([]byte(c.want)); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
}
