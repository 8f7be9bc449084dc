// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/policy/policytest"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestPrefixFilter: for any list, what begins with an entry is wanted and nothing else.
func TestPrefixFilter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.StringMatching(`http://(a|b|ab)\.example/(a|b|ab|/){0,4}`)
		list := rapid.SliceOfN(part, 0, 8).Draw(rt, "list")
		f, err := policy.NewPrefixFilter(textFile(t, "prefixes.txt", "# URLs\n\n"+strings.Join(list, "\n")))
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
	})
	path := textFile(t, "prefixes.txt", "http://a.example/\n")
	f, err := policy.NewPrefixFilter(path)
	if err != nil {
		t.Fatal(err)
	}
	policytest.URLFilter(t, f, []string{"http://a.example/x", "http://b.example/"})
	refreshes(t, f, path, "http://b.example/\n", "http://b.example/x")
	if _, err := policy.NewPrefixFilter(path + ".missing"); err == nil {
		t.Error("a missing file is no error")
	}
}

// TestSuffixFile: the two modes, case, and the end of the path or of the URL.
func TestSuffixFile(t *testing.T) {
	for text, cases := range map[string]map[string]bool{
		"# no pictures\n+\n.gif\n\n.x.jpg\n": {"/a.gif": false, "/a.GIF": true, "/a.gif?b": true, "/a?b.gif": false, "/a.jpg": true, "/a.x.jpg": false, "/gif": true},
		"+I\n+P\n.gif\n":                     {"/a.GIF": false, "/a.gif?b": false, "/a?b.gif": true},
		"-\n.html\n/\n":                      {"/a.html": true, "/a/": true, "/a": false, "/a.HTML": false},
		"-PI\n.HTML\n":                       {"/a.html?x": true, "/": false},
		"+\n":                                {"/": true, "/a": true},
		"-\n":                                {"/": false},
		"+\n-\n.a\n":                         {"/x.a": true, "/x.b": false},
	} {
		path := textFile(t, "suffixes.txt", text)
		f, err := policy.NewSuffixFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var urls []string
		for target, want := range cases {
			u, _ := urlkey.Parse("http://h.example" + target)
			urls = append(urls, u.String())
			if got := f.Accept(u); (got == "") != want {
				t.Errorf("%q by %q: %q", u, text, got)
			}
		}
		policytest.URLFilter(t, f, urls)
	}
	for text, says := range map[string]string{".gif\n": "no line with +", "+.gif\n": `"+.gif"`, "+\n" + strings.Repeat("x", 300): "longer than 256"} {
		if _, err := policy.NewSuffixFile(textFile(t, "suffixes.txt", text)); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "suffixes.txt") {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	path := textFile(t, "suffixes.txt", "+\n.a\n")
	f, err := policy.NewSuffixFile(path)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := urlkey.Parse("http://h.example/x.a")
	if f.Accept(u) == "" {
		t.Error("accepted")
	}
	refreshes(t, f, path, "+\n.b\n", u.String())
}

// refreshes checks that a filter takes a changed file, by which it accepts a URL.
func refreshes(t *testing.T, f interface {
	policy.URLFilter
	Refresh() (bool, error)
}, path, text, url string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	u, err := urlkey.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	if changed, err := f.Refresh(); !changed || err != nil || f.Accept(u) != "" {
		t.Errorf("after a change: %t, %v, %q", changed, err, f.Accept(u))
	}
}
