// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestChooseRedirectURL: each rule of Nutch's URLUtil.chooseRepr.
func TestChooseRedirectURL(t *testing.T) {
	for _, c := range []struct {
		from, to  string
		temporary bool
		want      string
	}{
		{"http://a.example/", "http://b.test/", false, "http://b.test/"}, // another domain
		{"http://a.example/", "http://b.test/", true, "http://b.test/"},
		{"http://a.test/", "http://a.test/x/index.html", false, "http://a.test/"},
		{"http://a.test/", "http://a.test/?y=1", false, "http://a.test/"},
		{"http://a.test/old", "http://a.test/", false, "http://a.test/"},
		{"http://a.test/old", "http://a.test/new", false, "http://a.test/new"},
		{"http://a.test/?y=1", "http://a.test/new", false, "http://a.test/new"}, // a query: not the front page
		{"http://a.test/", "http://a.test/x/index.html", true, "http://a.test/"},
		{"http://a.test/x", "http://a.test/", true, "http://a.test/"},
		{"http://a.test/x/y", "http://a.test/long-name", true, "http://a.test/long-name"}, // fewer parts
		{"http://a.test/x/y", "http://a.test/x/z/1", true, "http://a.test/x/y"},
		{"http://a.test/xx/y", "http://a.test/x/y", true, "http://a.test/x/y"}, // shorter
		{"http://a.test/x/y", "http://a.test/x/z", true, "http://a.test/x/y"},
		{"http://www.a.test/", "http://a.test/", true, "http://a.test/"}, // fewer labels
		{"http://a.test/", "http://www.a.test/", true, "http://a.test/"},
		{"http://www.a.test/x", "http://a.test/x/y/z", true, "http://a.test/x/y/z"},
		{"http://w1.a.test/x", "http://w2.a.test/y", true, "http://w1.a.test/x"},
	} {
		from, err := urlkey.Parse(c.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := urlkey.Parse(c.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := policy.ChooseRedirectURL(from, to, c.temporary); got.String() != c.want {
			t.Errorf("%s to %s, temporary %v: %s, want %s", from, to, c.temporary, got, c.want)
		}
	}
}

// TestLinkRule: links are compared by host, or by registered domain.
func TestLinkRule(t *testing.T) {
	for _, c := range []struct {
		rule policy.LinkRule
		to   [3]string // to the same host, to another host of the domain, to another domain
	}{
		{policy.LinkRule{}, [3]string{}},
		{policy.LinkRule{ByDomain: true}, [3]string{}},
		{policy.LinkRule{IgnoreExternal: true}, [3]string{"", "external_link", "external_link"}},
		{policy.LinkRule{IgnoreExternal: true, ByDomain: true}, [3]string{"", "", "external_link"}},
		{policy.LinkRule{IgnoreInternal: true}, [3]string{"internal_link", "", ""}},
		{policy.LinkRule{IgnoreInternal: true, ByDomain: true}, [3]string{"internal_link", "internal_link", ""}},
		{
			policy.LinkRule{IgnoreInternal: true, IgnoreExternal: true},
			[3]string{"internal_link", "external_link", "external_link"},
		},
	} {
		for i, host := range []urlkey.HostKey{"test,a,)", "test,a,www,)", "test,b,)"} {
			if got := c.rule.Refuses("test,a,)", host); got != c.to[i] {
				t.Errorf("%+v, to %s: %q, want %q", c.rule, host, got, c.to[i])
			}
		}
	}
}
