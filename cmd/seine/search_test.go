// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

// TestPartialSearch: people read that the deadline ended a search, and only then.
func TestPartialSearch(t *testing.T) {
	for _, partial := range []bool{false, true} {
		var out bytes.Buffer
		c := &console{out: &out, err: &out}
		r := engine.SearchResult{Total: 4, Partial: partial, AtLeast: partial}
		if err := c.found(r, index.Suggestion{}, false); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Contains(text, "ran out of time") != partial ||
			strings.Contains(text, "at least 4 found") != partial || !strings.Contains(text, "4 found") {
			t.Errorf("partial %v: %s", partial, text)
		}
	}
}
