// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
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

func textFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRulesFilter: the first rule that is found in the URL decides; which one is told.
func TestRulesFilter(t *testing.T) {
	path := textFile(t, "rules.txt", nutchRules)
	f, err := policy.NewRulesFilter(path)
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{"http://a.example/": "", "http://a.example/x.PNG": ":8 ", "http://a.example/?a=b": ":11 ", "http://a.example/x/y/x/y/x/": ":14 ", "http://closed.example/x": ":16 ",
		"http://open.example/private/public/x": "", "http://open.example/private/x": ":18 ", "http://open.example/x.html": ""} {
		u, err := urlkey.Parse(url)
		if err != nil {
			t.Fatal(err)
		}
		reason, rule := f.Accept(u), f.Explain(u)
		if want == "" && (reason != "" || !strings.Contains(rule, "+")) || want != "" && (reason != "rules" || !strings.Contains(rule, path+want)) {
			t.Errorf("%s: %q by %q, want line %q", url, reason, rule, want)
		}
	}
}

// TestRulesRefresh: a changed file is read again; a broken one keeps the rules and is reported once.
func TestRulesRefresh(t *testing.T) {
	path := textFile(t, "rules.txt", "-/old\n+.\n")
	f, err := policy.NewRulesFilter(path)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := urlkey.Parse("http://a.example/old")
	v, _ := urlkey.Parse("http://a.example/new")
	at := time.Now()
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if changed, err := f.Refresh(); changed || err != nil || f.Accept(u) == "" {
		t.Errorf("unchanged: %v %v", changed, err)
	}
	write("-/new\n+.\n")
	if changed, err := f.Refresh(); !changed || err != nil || f.Accept(u) != "" || f.Accept(v) == "" {
		t.Errorf("changed: %v %v", changed, err)
	}
	write("+(\n*x\n")
	if _, err := f.Refresh(); err == nil || !strings.Contains(err.Error(), path+", line 1") || !strings.Contains(err.Error(), "line 2") || f.Accept(v) == "" {
		t.Errorf("broken: %v", err)
	}
	if changed, err := f.Refresh(); changed || err != nil {
		t.Errorf("broken and unchanged: %v %v", changed, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Refresh(); err != nil || f.Accept(v) == "" {
		t.Errorf("gone: %v", err)
	}
	if _, err := policy.NewRulesFilter(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no file: %v", err)
	}
	if _, err := policy.NewRulesFilter(textFile(t, "rules.txt", `+(a)\1`)); err == nil || !strings.Contains(err.Error(), "backreferences") {
		t.Errorf("backreference: %v", err)
	}
}

// TestLoops: what the expressions of Nutch's files mean that refer back, as Python finds it.
func TestLoops(t *testing.T) {
	text, err := os.ReadFile("testdata/loops.txt")
	if err != nil {
		t.Fatal(err)
	}
	var filters [2]*policy.RulesFilter
	for i, rule := range []string{`.*(/[^/]+)/[^/]+\1/[^/]+\1/`, `.*(/.+?)/.*?\1/.*?\1/`} {
		if filters[i], err = policy.NewRulesFilter(textFile(t, "rules.txt", "-"+rule+"\n+.\n")); err != nil {
			t.Fatal(err)
		}
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
	f, err := policy.NewRulesFilter(textFile(t, "rules.txt", "> Shop.example\n-/cart\n<\n> www.other.example\n-/x\n<\n+.\n"))
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{"http://shop.example/cart": "rules", "https://www.shop.example/cart": "rules", "http://free.example/cart": "",
		"http://www.other.example/x": "rules", "http://other.example/x": "", "http://shop.example/x": ""} {
		if u, _ := urlkey.Parse(url); f.Accept(u) != want {
			t.Errorf("%s: %q, want %q", url, f.Accept(u), want)
		}
	}
	if _, err := policy.NewRulesFilter(textFile(t, "rules.txt", "> a b\n+.\n")); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("no host: %v", err)
	}
}
