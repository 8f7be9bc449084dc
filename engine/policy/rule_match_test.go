// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestRuleMatch: whether an expression is compared or matched, it finds what regexp finds.
func TestRuleMatch(t *testing.T) {
	longWord := strings.Repeat("x", 70)
	expressions := []string{
		`.`, `^http://`, `^https?://`, `^(?:file|ftp|mailto):`, `^http://(a|b)\.example/`, `^http://a\.example/$`,
		`(?i)\.(?:gif|jpg|jpeg|b)$`, `\.(gif|GIF|b)$`, `[?*!@=]`, `[^a-z:/.]`, `/a/`, `(?i)/A/`, `/a/|/b/`, `.*/a/.*`,
		`a?b$`, `.*`, `^.*$`, `^`, `$`, `(a|b|)$`, `[ab]/b$`, `(?i)[ab]/B$`, `(?i)a[b]$`, `^http://.*\.gif$`, `a{2,3}$`,
		`(?i:A)b$`, `(?i)é$`, `\bexample\b`, `()`, `^$`, `(?s).*a/?$`, `(?i)\.(?:gif|` + longWord + `)$`,
		`(?:[a-z][a-z]|[A-Z]).(?:[a-z][a-z][a-z]|x)$`, `[^x][^y][^z]$`,
	}
	filters := make([]*policy.RulesFilter, len(expressions))
	for i, e := range expressions {
		filters[i] = must(policy.ParseRules([]byte("+" + e)))(t)
	}
	rapid.Check(t, func(t *rapid.T) {
		const urls = `https?://(a|b|ab)\.example/(a|b|A|B|/|aa|\.gif|\.GIF|\.jpeg|\?|=|\*|!|@){0,6}`
		u, err := urlkey.Parse(rapid.StringMatching(urls).Draw(t, "URL"))
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range expressions {
			if want := regexp.MustCompile(e).MatchString(u.String()); (filters[i].Accept(u) == "") != want {
				t.Fatalf("%s in %s: want %t", e, u, want)
			}
		}
	})
}
