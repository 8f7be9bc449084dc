// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/fetch"
)

// TestRetryAfter: seconds and dates count, however far ahead; what is past or no time does not.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"120":                           2 * time.Minute,
		"9999999999":                    (1<<31 - 1) * time.Second,
		"99999999999999999999999999":    (1<<31 - 1) * time.Second,
		"0":                             0,
		"-1":                            0,
		"x":                             0,
		"":                              0,
		"Thu, 01 Jan 2026 00:01:00 GMT": time.Minute,
		"Thu, 01 Jan 2015 00:01:00 GMT": 0,
	} {
		r, err := fetch.StoredResponse([]byte("HTTP/1.1 503 No\r\nRetry-After: "+value+"\r\n\r\n"), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := r.RetryAfter(now); got != want || ok != (want > 0) {
			t.Errorf("%q: %s %v, want %s", value, got, ok, want)
		}
		r.Release()
	}
}

// TestLocation: the target of a redirect keeps the bytes that the server wrote, in whatever charset its paths are.
func TestLocation(t *testing.T) {
	f := func(location, want string) {
		t.Helper()
		r, err := fetch.StoredResponse([]byte("HTTP/1.1 302 Found\r\nLocation: "+location+"\r\n\r\n"), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		u, err := mustParse(t, "http://h.example/dir/page").Resolve(r.Location())
		if err != nil || u.String() != "http://h.example"+want {
			t.Errorf("%q leads to %s, %v, want %s", location, u, err, want)
		}
	}
	f("/plain?a=%20b", "/plain?a=%20b")
	f("/caf\xc3\xa9?q=\xc3\xa9", "/caf%C3%A9?q=%C3%A9")
	f("/caf\xe9?q=\xe9", "/caf%E9?q=%E9")               // ISO 8859-1
	f("\xcf\xf0\xe8 \xe2", "/dir/%CF%F0%E8%20%E2")      // windows-1251
	f("/\xc3\xa9/\xe9%", "/%C3%A9/%E9%25")              // both
	f("http://h.example/\xb4\xeb.html", "/%B4%EB.html") // EUC-KR
}

// TestNoCoding: a Content-Encoding that names a charset, a media type or the coding of a mail is no coding, as browsers
// see it, beside one that is.
func TestNoCoding(t *testing.T) {
	text := []byte("User-agent: *\nDisallow: /\n")
	f := func(label string, body []byte) {
		t.Helper()
		r := stored(t, label, body)
		defer r.Release()
		got, truncated, err := r.ExactContent()
		if err != nil || truncated || string(got) != string(text) {
			t.Errorf("%s: %q, truncated %v, %v", label, got, truncated, err)
		}
	}
	for _, label := range []string{"utf-8", "UTF8", "iso-8859-1", "windows-1251", "none", "None", "binary", "7bit",
		"8bit", "text/html", "aws-chunked", "identity, utf-8"} {
		f(label, text)
		f(label+", gzip", squeeze(t, "gzip", text))
	}
}
