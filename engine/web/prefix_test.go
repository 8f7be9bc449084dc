// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestPrefix: a prefix may have slashes at its ends or not. What is no path is named when the handler is made.
func TestPrefix(t *testing.T) {
	e := opened(t, t.TempDir())
	for _, prefix := range []string{"", "/", "/crawl", "/crawl/", "crawl", "crawl/", "/a/b/"} {
		h := New(e, Options{Token: testToken, Prefix: prefix})
		below := strings.TrimSuffix("/"+strings.Trim(prefix, "/"), "/")
		for _, path := range []string{"/crawl", "/api/v1/status", "/healthz"} {
			if status, _, body := opens(t, h, below+path); status != http.StatusOK {
				t.Errorf("prefix %q, %s: %d, %.100s", prefix, path, status, body)
			}
		}
	}
	for _, prefix := range []string{"/a//b", "/a/../b", "a b", "/{x}", "/a?b", "/a#b", "/%61", "http://a.example/"} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, "Options.Prefix") {
					t.Errorf("prefix %q: %s", prefix, said)
				}
			}()
			New(e, Options{Prefix: prefix})
		}()
	}
}
