// SPDX-License-Identifier: Apache-2.0

package warc

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCDXJ(t *testing.T) {
	f := func(c CDXJ, want string) {
		t.Helper()
		if got := string(AppendCDXJ([]byte("x"), &c)); got != "x"+want+"\n" {
			t.Errorf("got  %swant x%s", got, want)
		}
	}
	f(CDXJ{Key: "org,example)/", Time: testTime, URL: "http://example.org/", MediaType: "text/html", Status: 200,
		Digest: "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5", Location: Location{"a.warc.gz", 333, 1043}},
		`org,example)/ 20260102020405 {"url": "http://example.org/", "mime": "text/html", "status": "200", `+
			`"digest": "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5", "length": "1043", "offset": "333", `+
			`"filename": "a.warc.gz"}`)
	f(CDXJ{Key: "a b\n", Time: testTime, URL: "\"\\\n\u2028\xff<é"},
		`a%20b%0A 20260102020405 {"url": "\"\\\u000A\u2028`+"\ufffd"+`<é", `+
			`"length": "0", "offset": "0", "filename": ""}`)
}

// TestCDXJString: encoding/json reads every string back, and no string breaks a line.
func TestCDXJString(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bytes := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })
		s := rapid.OneOf(rapid.String(), bytes).Draw(rt, "s")
		line := AppendCDXJ(nil, &CDXJ{Key: s, URL: s, MediaType: s, Location: Location{File: s}})
		if n := strings.Count(string(line), "\n"); n != 1 {
			rt.Fatalf("%d lines: %q", n, line)
		}
		parts := strings.SplitN(string(line), " ", 3)
		var got struct{ URL, Mime, Filename string }
		if err := json.Unmarshal([]byte(parts[2]), &got); err != nil {
			rt.Fatalf("%q: %v", line, err)
		}
		if utf8.ValidString(s) && (got.URL != s || got.Filename != s) {
			rt.Fatalf("wrote %q, read %+v", s, got)
		}
	})
}
