// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/seine-crawler/seine/engine/fetch"
)

// TestContentType: several Content-Type values are combined as the Fetch standard says (its examples are among these),
// also where Options.Accept decides.
func TestContentType(t *testing.T) {
	for _, c := range []struct {
		fields []string
		want   string
		is     string // for Accept
	}{
		{nil, "", ""},
		{[]string{"Text/HTML; charset=utf-8"}, "Text/HTML; charset=utf-8", "text/html"},
		{[]string{"text/plain;charset=gbk, text/html"}, "text/html", "text/html"},
		{[]string{"text/html;charset=gbk;a=b, text/html;x=y"}, "text/html;x=y;charset=gbk", "text/html"},
		{[]string{"text/html;charset=gbk;a=b", "text/html;x=y"}, "text/html;x=y;charset=gbk", "text/html"},
		{[]string{"text/html;charset=gbk", "x/x", "text/html;x=y"}, "text/html;x=y", "text/html"},
		{[]string{"text/html", "cannot-parse"}, "text/html", "text/html"},
		{[]string{"text/html", "*/*"}, "text/html", "text/html"},
		{[]string{"text/html", ""}, "text/html", "text/html"},
		{[]string{"text/html; charset=gbk", "text/html; charset=utf-8"}, "text/html; charset=utf-8", "text/html"},
		{[]string{"application/octet-stream", "text/html; charset=utf-8"}, "text/html; charset=utf-8", "text/html"},
		{[]string{`text/html;x=",text/plain"`}, `text/html;x=",text/plain"`, "text/html"},
		{[]string{"text"}, "text", "text"},
	} {
		head := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
		for _, f := range c.fields {
			head += fmt.Sprintf("Content-Type: %s\r\n", f)
		}
		is := "not called"
		cl := client(t, func(o *fetch.Options) { o.Accept = func(s string) bool { is = s; return true } })
		r := cl.Fetch(context.Background(), &fetch.Request{URL: serve(t, said(head+"\r\nhi")).url("/")})
		if got := r.ContentType(); r.Failure != "" || got != c.want || is != c.is {
			t.Errorf("%q: %q, Accept got %q, want %q and %q; %s", c.fields, got, is, c.want, c.is, r.Failure)
		}
		r.Release()
	}
}
