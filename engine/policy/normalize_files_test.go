// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/policy/policytest"
	"github.com/seine-crawler/seine/storage/urlkey"
)

func ruleFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rules")
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// normalizes checks what becomes of URLs ("" for those that are dropped), and the law of normalizers.
func normalizes(t *testing.T, n policy.URLNormalizer, cases map[string]string) {
	t.Helper()
	var kept []string
	for from, to := range cases {
		u, err := urlkey.Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		got, err := n.Normalize(u)
		if to == "" {
			if err == nil {
				t.Errorf("%s: %s, want an error", from, got)
			}
			continue
		}
		kept = append(kept, from)
		if err != nil || got.String() != to {
			t.Errorf("%s: %s, want %s, %v", from, got, to, err)
		}
	}
	policytest.URLNormalizer(t, n, kept)
}

// nutchSubstitutions are those of the regex-normalize.xml that comes with Nutch.
const nutchSubstitutions = `<?xml version="1.0"?>
<regex-normalize>
<!-- session ids -->
<regex><pattern>(?i)(;?\b_?(l|j|bv_)?(sid|phpsessid|sessionid)=.*?)(\?|&amp;|#|$)</pattern><substitution>$4</substitution></regex>
<regex><pattern>#.*?(\?|&amp;|$)</pattern><substitution>$1</substitution></regex>
<regex><pattern>\?&amp;</pattern><substitution>\?</substitution></regex>
<regex><pattern>&amp;{2,}</pattern><substitution>&amp;</substitution></regex>
<regex><pattern>[\?&amp;\.]$</pattern><substitution></substitution></regex>
<regex><pattern>^file://+</pattern><substitution>file:/</substitution></regex>
<regex><pattern>(?&lt;!:)/{2,}</pattern><substitution>/</substitution></regex>
</regex-normalize>`

func TestRegexNormalizer(t *testing.T) {
	n, err := policy.NewRegexNormalizer(ruleFile(t, nutchSubstitutions))
	if err != nil {
		t.Fatal(err)
	}
	normalizes(t, n, map[string]string{
		"http://a.example/x?a=1":                                  "http://a.example/x?a=1",
		"http://a.example/x?sid=1234&a=1":                         "http://a.example/x?a=1",
		"http://a.example/x;jsessionid=1F?a=1":                    "http://a.example/x?a=1",
		"http://a.example/x?a=1&PHPSESSID=0":                      "http://a.example/x?a=1",
		"http://a.example/x?&&a=1&&&b":                            "http://a.example/x?a=1&b",
		"http://a.example//x///y?u=http://b.example//z":           "http://a.example/x/y?u=http://b.example/z",
		"http://a.example/x.?":                                    "http://a.example/x",
		"http://a.example/x?a=1#f":                                "http://a.example/x?a=1",
		"https://a.example:8080/" + strings.Repeat("/", 50) + "x": "https://a.example:8080/x",
	})
	if n, err = policy.NewRegexNormalizer(ruleFile(t, `<regex-normalize><regex><pattern>^http://www\.(.*)</pattern><substitution>http://$1</substitution></regex>
		<regex><pattern>x</pattern><substitution>xx</substitution></regex><regex><pattern>^(.*/)kill$</pattern><substitution>nothing:$1</substitution></regex></regex-normalize>`)); err != nil {
		t.Fatal(err)
	}
	normalizes(t, n, map[string]string{"http://www.a.org/": "http://a.org/", "http://a.org/x": "", "http://a.org/kill": ""})
	for text, want := range map[string]string{
		"":     "regex-normalize",
		"<a/>": "regex-normalize",
		`<regex-normalize><regex><pattern>a</pattern></regex><regex><pattern>(?=b)</pattern></regex></regex-normalize>`: "rule 2",
		`<regex-normalize><regex><pattern>(a)</pattern><substitution>$2</substitution></regex></regex-normalize>`:       "rule 1",
	} {
		if _, err := policy.NewRegexNormalizer(ruleFile(t, text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rules") {
			t.Errorf("%q: %v, want the file and %q", text, err, want)
		}
	}
	if _, err := policy.NewRegexNormalizer("/nonexistent/file"); err == nil || !strings.Contains(err.Error(), "/nonexistent/file") {
		t.Errorf("no file: %v", err)
	}
}

func TestSiteNormalizer(t *testing.T) {
	n, err := policy.NewSiteNormalizer(policy.SiteFiles{
		Hosts:     ruleFile(t, "www.a.example a.example # the old name\n\n*.mirror.example main.example\nown.mirror.example own.example\nx.example y.example\ny.example z.example\n"),
		Protocols: ruleFile(t, "a.example https\n*.b.example http\n"),
		Slashes:   ruleFile(t, "a.example -\nb.example +\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	normalizes(t, n, map[string]string{
		"http://www.a.example/x/?q=1":   "https://a.example/x?q=1",
		"http://www.a.example:8080/x//": "http://a.example:8080/x",
		"http://a.example/":             "https://a.example/",
		"http://mirror.example/":        "http://main.example/",
		"http://de.mirror.example/?":    "http://main.example/?",
		"http://own.mirror.example/":    "http://own.example/",
		"https://sub.b.example/x":       "http://sub.b.example/x",
		"https://b.example/x":           "http://b.example/x/",
		"https://b.example/x.html":      "http://b.example/x.html",
		"http://other.example/x/":       "http://other.example/x/",
		"http://x.example/":             "",
	})
	for what, f := range map[string]policy.SiteFiles{
		"line 2": {Hosts: ruleFile(t, "a.example b.example\na.example http://b.example/\n")},
		"https":  {Protocols: ruleFile(t, "a.example ftp\n")},
		"- ":     {Slashes: ruleFile(t, "a.example - +\n")},
		"/none":  {Hosts: "/none"},
	} {
		if _, err := policy.NewSiteNormalizer(f); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %q in it", err, what)
		}
	}
}

func TestSpellings(t *testing.T) {
	normalizes(t, policy.SlashNormalizer{}, map[string]string{
		"http://a.example/x/y": "http://a.example/x/y", "http://a.example//x///y//?a=//": "http://a.example/x/y/?a=//", "http://a.example//": "http://a.example/",
	})
	normalizes(t, policy.QueryNormalizer{}, map[string]string{
		"http://a.example/?b=2&a=1": "http://a.example/?a=1&b=2", "http://a.example/?b&a=2&a=1": "http://a.example/?a=2&a=1&b", "http://a.example/?a&b": "http://a.example/?a&b",
		"http://a.example/": "http://a.example/", "http://a.example/?": "http://a.example/?",
	})
}

// TestScopedFiles: which file is for which scope.
func TestScopedFiles(t *testing.T) {
	files, err := policy.ParseScopedFiles("inject=a.xml, outlink=b=c.xml")
	if err != nil || len(files) != 2 || files[policy.NormalizeInject] != "a.xml" || files[policy.NormalizeOutlink] != "b=c.xml" {
		t.Errorf("%v, %v", files, err)
	}
	for text, says := range map[string]string{"": "SCOPE=FILE", "a.xml": "SCOPE=FILE", "inject=": "SCOPE=FILE", "linkdb=a": "linkdb", "inject=a,inject=b": "already"} {
		if _, err := policy.ParseScopedFiles(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
