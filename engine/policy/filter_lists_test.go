// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/policy/policytest"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestPrefixFilter: for any list, the filter accepts what begins with an entry and nothing else.
func TestPrefixFilter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.StringMatching(`http://(a|b|ab)\.example/(a|b|ab|/){0,4}`)
		list := rapid.SliceOfN(part, 0, 8).Draw(rt, "list")
		f, err := policy.ParsePrefixes([]byte("# URLs\n\n" + strings.Join(list, "\n")))
		if err != nil {
			rt.Fatal(err)
		}
		u, err := urlkey.Parse(part.Draw(rt, "URL") + "c")
		if err != nil {
			rt.Fatal(err)
		}
		wanted := slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(u.String(), p) })
		if got := f.Accept(u); (got == "") != wanted {
			rt.Fatalf("%s by %q: %q", u, list, got)
		}
		if got := f.Explain(u); wanted != slices.Contains(list, got) {
			rt.Fatalf("%s by %q: explained by %q", u, list, got)
		}
	})
	list := []string{"http://b.example/", "http://a.example/"}
	f := policy.NewPrefixFilter(list...)
	policytest.URLFilter(t, f, []string{"http://a.example/x", "http://b.example/", "http://c.example/"})
	if list[0] != "http://b.example/" {
		t.Errorf("the caller's list has become %q", list)
	}
}

// TestSuffixList: the two modes, case, and the end of the path or of the URL.
func TestSuffixList(t *testing.T) {
	for text, cases := range map[string]map[string]bool{
		"# no pictures\n+\n.gif\n\n.x.jpg\n": {
			"/a.gif": false, "/a.GIF": true, "/a.gif?b": true, "/a?b.gif": false,
			"/a.jpg": true, "/a.x.jpg": false, "/gif": true,
		},
		"+I\n+P\n.gif\n":      {"/a.GIF": false, "/a.gif?b": false, "/a?b.gif": true},
		"-\n.html\n/\n":       {"/a.html": true, "/a/": true, "/a": false, "/a.HTML": false},
		"-PI\n.HTML\n":        {"/a.html?x": true, "/": false},
		"+\n":                 {"/": true, "/a": true},
		"-\n":                 {"/": false},
		"+\n-\n.a\n":          {"/x.a": true, "/x.b": false},
		"+\r\n.gif\r\n.a\r\n": {"/x.a": false, "/x.b": true},
	} {
		f := must(policy.ParseSuffixes([]byte(text)))(t)
		var urls []string
		for target, want := range cases {
			u := parse(t, "http://h.example"+target)
			urls = append(urls, u.String())
			if got := f.Accept(u); (got == "") != want {
				t.Errorf("%q by %q: %q", u, text, got)
			}
		}
		policytest.URLFilter(t, f, urls)
	}
	f := must(policy.ParseSuffixes([]byte("+I\n.gif")))(t)
	for url, want := range map[string]string{"http://h/a.GIF": ".GIF", "http://h/a": "no suffix matches"} {
		if got := f.Explain(parse(t, url)); got != want {
			t.Errorf("%s: explained by %q, want %q", url, got, want)
		}
	}
	suffixes := parser(policy.ParseSuffixes)
	fails(t, suffixes, ".gif\n", "no line with +")
	fails(t, suffixes, "\n+.gif\n", `line 2: "+.gif"`)
	fails(t, suffixes, "+\n"+strings.Repeat("x", 300), "line 2: ", "longer than 256")
}

// TestByteOrderMark: the mark with which editors begin a file is not part of its first line.
func TestByteOrderMark(t *testing.T) {
	const mark = "\ufeff"
	u := parse(t, "http://a.example/x.gif")
	for what, f := range map[string]policy.URLFilter{
		"prefixes": must(policy.ParsePrefixes([]byte(mark + "http://a.example/\n")))(t),
		"suffixes": must(policy.ParseSuffixes([]byte(mark + ".gif\n-\n")))(t),
		"rules":    must(policy.ParseRules([]byte(mark + "+^http://a\n")))(t),
		"hosts":    must(policy.ParseAllowedHosts([]byte(mark + "# hosts\na.example\n")))(t),
	} {
		if reason := f.Accept(u); reason != "" {
			t.Errorf("%s: %q", what, reason)
		}
	}
	normalizes(t, must(policy.ParseSiteRules(policy.SiteRules{Protocols: []byte(mark + "a.example https\n")}))(t),
		map[string]string{"http://a.example/": "https://a.example/"})
}

// TestPrefixSpellings: a prefix with a host that no URL has so is an error with the right spelling; one that ends in
// the host, or is of another scheme, as in Nutch's file, is none.
func TestPrefixSpellings(t *testing.T) {
	for line, says := range map[string]string{
		"http://EXAMPLE.org/Docs/":  "write http://example.org/Docs/",
		"HTTPS://bücher.example/a":  "write https://xn--bcher-kva.example/a",
		"https://example.org:443/":  "write https://example.org/",
		"http://me@example.org./%7": "write http://example.org/%7",
		"http://a b/":               "line 2: ",
	} {
		fails(t, parser(policy.ParsePrefixes), "http://a.example/\n"+line, says, "line 2: ")
	}
	f := must(policy.ParsePrefixes([]byte(
		"file:///\nftp://A/\nhttp://docs.\nhttps://\nhttp:///\nhttp://[::1]:81/x\n",
	)))(t)
	for url, want := range map[string]string{
		"http://docs.example/": "", "https://a/": "", "http://[::1]:81/x": "", "http://a/": "prefix",
	} {
		if got := f.Accept(parse(t, url)); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
