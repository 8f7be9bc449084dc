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

// nutchRules are the lines of the file that comes with Nutch, but for one with a backreference.
const nutchRules = `# skip file: ftp: and mailto: urls
-^(?:file|ftp|mailto):

# skip URLs longer than 2048 characters, see also db.max.outlink.length
#-^.{2049,}

# skip image and other suffixes we can't yet parse
-(?i)\.(?:gif|jpg|png|ico|css|sit|eps|wmf|zip|ppt|mpg|xls|gz|rpm|tgz|mov|exe|jpeg|bmp|js)$

# skip URLs containing certain characters as probable queries, etc.
-[?*!@=]

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
	for url, want := range map[string]string{"http://a.example/": "", "http://a.example/x.PNG": ":8 ", "http://a.example/?a=b": ":11 ", "http://closed.example/x": ":13 ",
		"http://open.example/private/public/x": "", "http://open.example/private/x": ":15 ", "http://open.example/x.html": ""} {
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
