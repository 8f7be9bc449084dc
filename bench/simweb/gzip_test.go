// SPDX-License-Identifier: Apache-2.0

package simweb_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/seine-crawler/seine/bench/simweb"
)

// TestGzip: a client that accepts gzip gets the same page in fewer bytes, any other gets it uncompressed, and both can
// revalidate by their tags; with pages made on request and beforehand.
func TestGzip(t *testing.T) {
	w, err := simweb.New(simweb.Small(), 0)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := simweb.Prerender(w, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for name, site := range map[string]simweb.Site{"on request": w, "beforehand": kept} {
		t.Run(name, func(t *testing.T) {
			s, err := simweb.Serve(context.Background(), site, simweb.ServerOptions{Gzip: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c := client(t, s)
			ask := func(path, accept, tag string) (*http.Response, []byte) {
				t.Helper()
				req, err := http.NewRequest(http.MethodGet, s.Site().Root(0)+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Accept-Encoding", accept) // which also keeps net/http from decompressing
				if tag != "" {
					req.Header.Set("If-None-Match", tag)
				}
				return do(t, c, req)
			}
			for _, path := range []string{"", "robots.txt", "nothing"} {
				plain, want := ask(path, "identity", "")
				if got := plain.Header.Get("Content-Encoding"); got != "" {
					t.Errorf("/%s: Content-Encoding %q was not accepted", path, got)
				}
				for accept, zipped := range map[string]bool{
					"gzip": true, "br, GZIP;q=0.5": true, "x-gzip": true, "*": true, "*;q=0, gzip": true,
					"gzip;q=0": false, "gzip; q=0.0, *": false, "br": false, "*;q=0": false, "": false,
				} {
					resp, body := ask(path, accept, "")
					if got := resp.Header.Get("Content-Encoding") == "gzip"; got != zipped {
						t.Errorf("/%s: Accept-Encoding %q: compressed is %v", path, accept, got)
						continue
					}
					if zipped {
						if path == "" && len(body) > len(want)/2 {
							t.Errorf("a page of %d bytes came in %d", len(want), len(body))
						}
						z, err := gzip.NewReader(bytes.NewReader(body))
						if err != nil {
							t.Fatal(err)
						}
						if body, err = io.ReadAll(z); err != nil {
							t.Fatal(err)
						}
					}
					if !bytes.Equal(body, want) || resp.StatusCode != plain.StatusCode {
						t.Errorf(
							"/%s: Accept-Encoding %q: status %d, %d bytes, want %d, %d", path, accept,
							resp.StatusCode, len(body), plain.StatusCode, len(want),
						)
					}
					if tag := resp.Header.Get("ETag"); tag != "" {
						if again, body := ask(path, accept, tag); again.StatusCode != http.StatusNotModified ||
							len(body) > 0 {
							t.Errorf(
								"/%s: If-None-Match %s: status %d, %d bytes", path, tag, again.StatusCode,
								len(body),
							)
						}
					}
				}
			}
		})
	}
}
