// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"fmt"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// FuzzRedirect: any Location gives another canonical URL, each byte of which is allowed in a request line, or an
// outcome that says why there is none.
func FuzzRedirect(f *testing.F) {
	for _, location := range []string{
		"/", "//b.example/x", "https://b.example:444/?q#f", "mailto:x@b.example", "http://", "", "\t/x y",
		"http://u:p@b.example/", "http://[::1]:80/", "../../..//x\\y", "http:/x", "HTTP://B.EXAMPLE/%zz",
		"http://b.example\r\nSet-Cookie: x", "/a?b\xff", "javascript:alert(1)", "http://0x7f.1/",
	} {
		f.Add("http://a.example/dir/page?x=1", []byte(location), uint16(301))
	}
	g := New(Env{Redirects: policy.DefaultNormalizers()})
	f.Fuzz(func(t *testing.T, page string, location []byte, status uint16) {
		u, err := urlkey.Parse(page)
		if err != nil {
			return
		}
		head := fmt.Appendf(nil, "HTTP/1.1 3%02d Moved\r\nLocation: ", status%100)
		resp, err := fetch.StoredResponse(append(append(head, location...), "\r\n\r\n"...), nil, "")
		if err != nil {
			return
		}
		defer resp.Release()
		var s Scratch
		g.readOutcome(&Attempt{URL: u, At: time.Unix(1e9, 0), Response: resp}, &s, true)
		o := &s.outcome
		switch o.Status {
		case storage.FetchRedirTemp, storage.FetchRedirPerm:
		case storage.FetchGone:
			if o.Failure != failureLocation || o.Redirect != "" {
				t.Fatalf("gone: failure %q, redirect %q", o.Failure, o.Redirect)
			}
			return
		default: // 304
			if o.Redirect != "" {
				t.Fatalf("%s with redirect %q", o.Status, o.Redirect)
			}
			return
		}
		to, err := o.Redirect.URL()
		if err != nil {
			t.Fatalf("key %q: %v", o.Redirect, err)
		}
		again, err := urlkey.Parse(to.String())
		if err != nil || again != to || to == u {
			t.Fatalf("%q from %q is not canonical: %q, %v", to, location, again, err)
		}
		for _, c := range []byte(to.String()) {
			if c <= ' ' || c > '~' {
				t.Fatalf("%q holds %q", to, c)
			}
		}
	})
}
