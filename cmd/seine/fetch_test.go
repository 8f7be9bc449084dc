// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// TestFetchAllGoesOn: a segment whose hosts give nothing keeps its fetchlist, and does not keep the others from being
// fetched.
func TestFetchAllGoesOn(t *testing.T) {
	t.Chdir(t.TempDir())
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, homePage)
	}))
	defer site.Close()
	for name, url := range map[string]string{"refused": "http://169.254.169.254/", "site": site.URL + "/"} {
		if err := os.WriteFile(name, []byte(url+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const fetch = "fetch --all --quiet --allow-private --contact https://crawler.example/ --delay 0s --dir d"
	for _, c := range []struct {
		line   string
		status int
		says   []string
	}{
		{"freegen refused --dir d", exitOK, []string{"segment 1, 1 URLs"}},
		{"freegen site --dir d", exitOK, []string{"segment 2, 1 URLs"}},
		{fetch, exitOK, []string{
			"fetch: segment 1, 0 fetched", "ended: 169.254.169.254 has a special address",
			"fetch: segment 2, 1 fetched",
		}},
		{fetch, exitNoPage, []string{"fetch: segment 1, 0 fetched"}},
	} {
		status, out, stderr := runLine(c.line, "")
		if status != c.status {
			t.Errorf("%s: status %d, want %d: %s%s", c.line, status, c.status, out, stderr)
		}
		for _, says := range c.says {
			if !strings.Contains(out, says) {
				t.Errorf("%s: does not say %q: %s", c.line, says, out)
			}
		}
	}
}
