// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"
)

// TestPrerender: pages that are kept and pages that are not have the same bytes as those of the web itself.
func TestPrerender(t *testing.T) {
	w := newWeb(t, Small())
	for _, maxBytes := range []int64{1 << 30, 2 << 20} {
		p, err := Prerender(w, maxBytes)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Serve(context.Background(), p, ServerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		site := s.Site().(*Prerendered)
		if all := len(site.pages) == site.Hosts(); all != (maxBytes == 1<<30) || len(site.pages) == 0 {
			t.Errorf("%d of %d hosts are kept within %d bytes", len(site.pages), site.Hosts(), maxBytes)
		}
		for host := range 4 {
			targets := []string{"/robots.txt", "/sitemap.xml", "/nothing"}
			for n := range site.Pages(host) {
				u := site.URL(host, n)
				targets = append(targets, u[len(site.Root(host))-1:])
			}
			for _, target := range targets {
				var got, want response
				q := request{host: host, target: []byte(target), now: someDay}
				site.answer(&q, &got)
				site.Web.answer(&q, &want)
				if got.status != want.status || got.contentType != want.contentType ||
					!bytes.Equal(got.body, want.body) || !slices.Equal(got.location, want.location) ||
					got.etag != want.etag || !got.modified.Equal(want.modified) || got.wait != want.wait {
					t.Fatalf(
						"%s%s: %d, %d bytes; the web answers %d, %d bytes", site.Host(host), target,
						got.status, len(got.body), want.status, len(want.body),
					)
				}
			}
		}
	}
	changing := Small()
	changing.ChangeEvery = time.Hour
	if _, err := Prerender(newWeb(t, changing), 1<<30); err == nil {
		t.Error("a web that changes was rendered beforehand")
	}
}
