// SPDX-License-Identifier: Apache-2.0

package urlkey_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// wptData reads a file of web-platform-tests' URL tests from the directory in SEINE_CONFORMANCE_DATA.
func wptData(t *testing.T, name string, into any) {
	t.Helper()
	dir := os.Getenv("SEINE_CONFORMANCE_DATA")
	if dir == "" {
		t.Skip("SEINE_CONFORMANCE_DATA is not set: web-platform-tests are not run")
	}
	b, err := os.ReadFile(filepath.Join(dir, "url", name))
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// wptCase is a case of urltestdata.json; comments between them are plain strings.
type wptCase struct {
	Input, Href, Username, Password string
	Base                            *string
	Failure                         bool
}

func wptCases(t *testing.T) (cases []wptCase) {
	var raw []json.RawMessage
	wptData(t, "urltestdata.json", &raw)
	for _, r := range raw {
		var c wptCase
		if r[0] == '{' {
			if err := json.Unmarshal(r, &c); err != nil {
				t.Fatal(err)
			}
			cases = append(cases, c)
		}
	}
	return cases
}

func isWeb(s string) bool { return strings.HasPrefix(s, "http:") || strings.HasPrefix(s, "https:") }

// TestWebPlatformURLs: every case whose input or result is a web address gives the result of web-platform-tests in
// canonical form (without user information and fragment, escapes in normal form). URLs that the standard parses to
// another scheme are refused.
func TestWebPlatformURLs(t *testing.T) {
	web, failures, others := 0, 0, 0
	for _, c := range wptCases(t) {
		var got urlkey.URL
		var err error
		if c.Base == nil || *c.Base == "" || *c.Base == "about:blank" {
			got, err = urlkey.Parse(c.Input)
		} else if base, baseErr := urlkey.Parse(*c.Base); baseErr == nil {
			got, err = base.Resolve(c.Input)
		} else {
			got, err = urlkey.Parse(c.Input) // right if it needs no base
			if err != nil && !isWeb(c.Href) {
				others++
				continue
			}
		}
		base := ""
		if c.Base != nil {
			base = *c.Base
		}
		switch {
		case c.Failure:
			failures++
			if err == nil {
				t.Errorf("%q on %q: %q, want failure", c.Input, base, got)
			}
		case !isWeb(c.Href):
			others++
			if err == nil {
				t.Errorf("%q on %q: %q, want it refused for its scheme: %s", c.Input, base, got, c.Href)
			}
		default:
			web++
			if err != nil {
				t.Errorf("%q on %q: %v, want %s", c.Input, base, err, c.Href)
				continue
			}
			href, _, _ := strings.Cut(c.Href, "#")
			want, err := urlkey.Parse(href)
			if err != nil || got != want {
				t.Errorf("%q on %q: %q, want %s (%q, %v)", c.Input, base, got, c.Href, want, err)
			}
			// The spelling is the standard's own, except for what the canonical form changes.
			changed := c.Username+c.Password != "" || strings.ContainsAny(href, "%^|[]{}\\`'") ||
				strings.Contains(href, ".:") || strings.Contains(href, "./")
			if !changed && got.String() != href {
				t.Errorf("%q on %q: %q, want exactly %s", c.Input, base, got, href)
			}
			if back, err := got.Key().URL(); err != nil || back != got {
				t.Errorf("%q: key %q gives %q, %v", got, got.Key(), back, err)
			}
		}
	}
	t.Logf("%d web addresses, %d failures, %d of other schemes", web, failures, others)
	if web < 200 {
		t.Errorf("only %d web addresses", web)
	}
}

// newerUnicode are cases with characters that are newer than the Unicode version of x/net's tables.
var newerUnicode = map[string]bool{
	"\U0003293120.音.ꡦ1.": true,
	"\U00032b9a9ꍩ៓.ss":   true,
	"\U00032b9a9ꍩ៓.SS":   true,
}

// withoutRoot removes a name's trailing dot, as the canonical form does.
func withoutRoot(host string) string {
	if n := len(host); n > 1 && host[n-1] == '.' && host[n-2] != '.' {
		return host[:n-1]
	}
	return host
}

// TestWebPlatformHosts: hosts give the results of toascii.json and IdnaTestV2.json.
func TestWebPlatformHosts(t *testing.T) {
	for _, file := range []string{"toascii.json", "IdnaTestV2.json"} {
		var raw []json.RawMessage
		wptData(t, file, &raw)
		n := 0
		for _, r := range raw {
			var c struct {
				Input   string
				Output  *string
				Comment string
			}
			if r[0] != '{' {
				continue
			}
			if err := json.Unmarshal(r, &c); err != nil {
				t.Fatal(err)
			}
			if n++; c.Input == "" || newerUnicode[c.Input] {
				continue
			}
			u, err := urlkey.Parse("http://" + c.Input + "/x")
			switch {
			case c.Output == nil && err == nil:
				t.Errorf("%s: %q is %q, want failure (%s)", file, c.Input, u.Host(), c.Comment)
			case c.Output != nil && err != nil:
				t.Errorf("%s: %q: %v, want %q (%s)", file, c.Input, err, *c.Output, c.Comment)
			case c.Output != nil && u.Host() != withoutRoot(*c.Output):
				t.Errorf("%s: %q is %q, want %q (%s)", file, c.Input, u.Host(), *c.Output, c.Comment)
			}
		}
		t.Logf("%s: %d cases", file, n)
	}
}
