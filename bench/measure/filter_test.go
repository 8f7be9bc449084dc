// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: the time to decide about a URL, for the links of simweb's pages and, with $SEINE_PAGES, of real
// pages (docs), by the filters that people use: seine's default filters; the rules that come with Nutch, its loop rule
// included, and the suffixes; a million prefixes; a million hosts; and the default normalizer. The peer is Go's regexp
// with the same rules, less the loop rule, which it cannot express. How to run:
//
//	go test -run '^$' -bench Filter ./bench/measure

// nutchFilter is Nutch's regex-urlfilter.txt without its comments.
const nutchFilter = `-^(?:file|ftp|mailto):
-(?i)\.(?:gif|jpg|png|ico|css|sit|eps|wmf|zip|ppt|mpg|xls|gz|rpm|tgz|mov|exe|jpeg|bmp|js)$
-[?*!@=]
-.*(/[^/]+)/[^/]+\1/[^/]+\1/
+.
`

// regexpRules are the rules of nutchFilter without the loop rule.
func regexpRules() func(urlkey.URL) string {
	type rule struct {
		accept bool
		re     *regexp.Regexp
	}
	var rules []rule
	for _, line := range strings.Split(strings.TrimSpace(nutchFilter), "\n") {
		if !strings.Contains(line, `\1`) {
			rules = append(rules, rule{line[0] == '+', regexp.MustCompile(line[1:])})
		}
	}
	return func(u urlkey.URL) string {
		for _, r := range rules {
			if r.re.MatchString(u.String()) {
				if r.accept {
					return ""
				}
				break
			}
		}
		return "rules"
	}
}

// linkURLs are the targets of the links of pages.
func linkURLs(b *testing.B, kind string) (urls []urlkey.URL) {
	pages := simPages()
	if kind == "docs" {
		pages = docsPages(b)
	}
	for _, p := range pages {
		for _, ref := range hrefs(p.text) {
			if u, err := p.url.Resolve(ref); err == nil {
				urls = append(urls, u)
			}
		}
	}
	return urls
}

// manyLines returns a text of a million lines of a format.
func manyLines(format string) []byte {
	var text bytes.Buffer
	for i := range 1_000_000 {
		fmt.Fprintf(&text, format+"\n", i)
	}
	return text.Bytes()
}

func BenchmarkFilter(b *testing.B) {
	need := func(f policy.URLFilter, err error) policy.URLFilter {
		if err != nil {
			b.Fatal(err)
		}
		return f
	}
	rules, err := policy.ParseRules([]byte(nutchFilter))
	rulesFilter := need(rules, err)
	suffixes, err := policy.ParseSuffixes([]byte(
		"+I\n+P\n.gif\n.jpg\n.png\n.ico\n.css\n.zip\n.exe\n.jpeg\n.js\n.m3u8\n.woff2\n",
	))
	suffixFilter := need(suffixes, err)
	prefixes, err := policy.ParsePrefixes(manyLines("http://host-%d.example/docs/"))
	prefixFilter := need(prefixes, err)
	hosts, err := policy.ParseDeniedHosts(manyLines("host-%d.example"))
	hostsFilter := need(hosts, err)
	for _, kind := range []string{"simweb", "docs"} {
		urls := linkURLs(b, kind)
		if len(urls) == 0 {
			continue
		}
		for _, c := range []struct {
			name   string
			accept func(urlkey.URL) string
		}{
			{kind + "-default/seine", policy.URLFilters{policy.TrapFilter{}, policy.NewSuffixFilter()}.Accept},
			{kind + "-nutch-rules/seine", rulesFilter.Accept},
			{kind + "-nutch-rules/peer-regexp", regexpRules()},
			{kind + "-nutch-suffixes/seine", suffixFilter.Accept},
			{kind + "-million-prefixes/seine", prefixFilter.Accept},
			{kind + "-million-hosts/seine", hostsFilter.Accept},
			{kind + "-default-normalizer/seine", func(u urlkey.URL) string {
				if _, err := (policy.ParameterNormalizer{}).Normalize(u); err != nil {
					return "normalizer"
				}
				return ""
			}},
		} {
			b.Run(c.name, func(b *testing.B) {
				b.ReportAllocs()
				refused := 0
				for b.Loop() {
					refused = 0
					for _, u := range urls {
						if c.accept(u) != "" {
							refused++
						}
					}
				}
				per(b, len(urls), "URL")
				b.ReportMetric(100*float64(refused)/float64(len(urls)), "%refused")
			})
		}
	}
}
