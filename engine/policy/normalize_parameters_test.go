// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/engine/policy/policytest"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// TestParameterNormalizer: what says nothing about the page is dropped, and nothing else.
func TestParameterNormalizer(t *testing.T) {
	var all []string
	for from, to := range map[string]string{
		"/a?b=1&c=2":                             "/a?b=1&c=2",
		"/a?utm_source=x&b=1":                    "/a?b=1",
		"/a?b=1&UTM_Source=x":                    "/a?b=1",
		"/a?b=1&gclid=x&c=2":                     "/a?b=1&c=2",
		"/a?gclid=x&fbclid=y":                    "/a",
		"/a?gclid":                               "/a",
		"/a?":                                    "/a?",
		"/a?b&&c":                                "/a?b&&c",
		"/a?b=utm_source=1":                      "/a?b=utm_source=1",
		"/a?utm=1&autm_x=2":                      "/a?utm=1&autm_x=2",
		"/a?sid=7":                               "/a?sid=7",
		"/a?sid=0123456789abcdef0123&t=1":        "/a?t=1",
		"/a?s=how-to-catch-a-lobster-at-night":   "/a?s=how-to-catch-a-lobster-at-night",
		"/a?PHPSESSID=1":                         "/a",
		"/a?ASPSESSIONIDQQQQQQQQQ=X":             "/a",
		"/a;jsessionid=12AB.node1":               "/a",
		"/a;JSESSIONID=1/b;x=2;jsessionid=3?c=4": "/a/b;x=2?c=4",
		"/a;v=1":                                 "/a;v=1",
		"//x;jsessionid=1":                       "//x",
		"/;jsessionid=1":                         "/",
		"/a?utm_campaign_of_a_very_long_name=1&x=2": "/a?x=2",
		"/a?Mtm_campaign_of_a_very_long_name=1&x=2": "/a?x=2",
	} {
		u, err := urlkey.Parse("https://a.example:8080" + from)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, u.String())
		got, err := policy.ParameterNormalizer{}.Normalize(u)
		if err != nil || got.String() != "https://a.example:8080"+to {
			t.Errorf("%s: %s, want %s, %v", from, got, to, err)
		}
	}
	policytest.URLNormalizer(t, policy.ParameterNormalizer{}, all)
}

func BenchmarkParameterNormalizer(b *testing.B) {
	u, _ := urlkey.Parse("https://a.example/list?category=12&page=3&order=date")
	b.ReportAllocs()
	for b.Loop() {
		if v, _ := (policy.ParameterNormalizer{}).Normalize(u); v != u {
			b.Fatal(v)
		}
	}
}
