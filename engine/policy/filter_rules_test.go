// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/policy/policytest"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// nutchRules are the lines of the file that comes with Nutch, and some more.
const nutchRules = `# skip file: ftp: and mailto: urls
-^(?:file|ftp|mailto):

# skip URLs longer than 2048 characters, see also db.max.outlink.length
#-^.{2049,}

# skip image and other suffixes we can't yet parse
-(?i)\.(?:gif|jpg|png|ico|css|sit|eps|wmf|zip|ppt|mpg|xls|gz|rpm|tgz|mov|exe|jpeg|bmp|js)$

# skip URLs containing certain characters as probable queries, etc.
-[?*!@=]

# skip URLs with slash-delimited segment that repeats 3+ times, to break loops
-.*(/[^/]+)/[^/]+\1/[^/]+\1/

-^http://closed.example/
+^http://open.example/private/public
-^http://open.example/private/
# accept anything else
+.
`

// TestRulesFilter: the first rule that is found in the URL decides, and Explain names it.
func TestRulesFilter(t *testing.T) {
	f := must(policy.ParseRules([]byte(nutchRules)))(t)
	for url, want := range map[string]string{
		"http://a.example/":                    "line 20: +",
		"http://a.example/x.PNG":               "line 8: -",
		"http://a.example/?a=b":                "line 11: -",
		"http://a.example/x/y/x/y/x/":          "line 14: -",
		"http://closed.example/x":              "line 16: -",
		"http://open.example/private/public/x": "line 17: +",
		"http://open.example/private/x":        "line 18: -",
		"http://open.example/x.html":           "line 20: +",
	} {
		u := parse(t, url)
		reason, rule := f.Accept(u), f.Explain(u)
		wantReason := "rules"
		if strings.HasSuffix(want, "+") {
			wantReason = ""
		}
		if reason != wantReason || !strings.HasPrefix(rule, want) {
			t.Errorf("%s: %q by %q, want %q by %q", url, reason, rule, wantReason, want)
		}
		policytest.URLFilter(t, f, []string{url})
	}
	f = must(policy.ParseRules([]byte("+/a$")))(t)
	if u := parse(t, "http://h/b"); f.Accept(u) != "rules" || f.Explain(u) != "no rule matches" {
		t.Errorf("%s: %q by %q", u, f.Accept(u), f.Explain(u))
	}
}

// TestFaultyRules: an error names each wrong line and what is wrong with it.
func TestFaultyRules(t *testing.T) {
	rules := parser(policy.ParseRules)
	fails(t, rules, "+(\n*x\n", "line 1: ", `line 2: "*x"`)
	fails(t, rules, `+(a)\1`, "line 1: ", "backreferences")
	fails(t, rules, "> a b\n+.\n", `line 1: "> a b"`)
	fails(t, rules, "> *.example.org\n+.\n", "line 1: ", "such as > example.org")
	fails(t, rules, "> example.org:8080\n+.\n", "line 1: ", "such as > example.org", "all its ports")
}

// TestLoops: the expressions of Nutch's files that refer back find what Python finds with them.
func TestLoops(t *testing.T) {
	text, err := os.ReadFile("testdata/loops.txt")
	if err != nil {
		t.Fatal(err)
	}
	var filters [2]*policy.RulesFilter
	for i, rule := range []string{`.*(/[^/]+)/[^/]+\1/[^/]+\1/`, `.*(/.+?)/.*?\1/.*?\1/`} {
		filters[i] = must(policy.ParseRules([]byte("-" + rule + "\n+.\n")))(t)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	for _, line := range lines {
		fields := strings.SplitN(line, " ", 3)
		u, err := urlkey.Parse(fields[2])
		if err != nil || u.String() != fields[2] {
			t.Fatalf("%q is %s, %v", fields[2], u, err)
		}
		for i, f := range filters {
			if got := f.Accept(u) != ""; got != (fields[i] == "1") {
				t.Errorf("expression %d, %s: %t", i+1, u, got)
			}
		}
	}
	if len(lines) != 400 {
		t.Errorf("%d lines", len(lines))
	}
}

// TestRulesSections: rules between > and < are for a host or a registered domain.
func TestRulesSections(t *testing.T) {
	f := must(policy.ParseRules([]byte("> Shop.example\n-/cart\n<\n> www.other.example\n-/x\n<\n+.\n")))(t)
	for url, want := range map[string]string{
		"http://shop.example/cart": "rules", "https://www.shop.example/cart": "rules", "http://free.example/cart": "",
		"http://www.other.example/x": "rules", "http://other.example/x": "", "http://shop.example/x": "",
	} {
		if u := parse(t, url); f.Accept(u) != want {
			t.Errorf("%s: %q, want %q", url, f.Accept(u), want)
		}
	}
}
