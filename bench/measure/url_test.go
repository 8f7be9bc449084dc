// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: the links of 400 pages of simweb (12 KB, 50 links each), as they are written, resolved against the
// page and turned into the sort key of the store. "relative" are links within the host, "absolute" those with a scheme;
// "docs" are all http links of the real pages of $SEINE_PAGES, absent without it. The floor is net/url with the key
// built from its parts. It does less: RFC 3986 rather than the WHATWG standard, without canonical host, escapes and
// bounds. The benchmark checks that both give the same keys on simweb's links, and on at least nine in ten of docs'.
// How to run:
//
//	go test -run '^$' -bench URL ./bench/measure

// linkCase is a page's links of one kind.
type linkCase struct {
	base urlkey.URL
	std  *url.URL
	refs []string
	ours *ourWay
}

// ourWay is the state that package parse and the engine keep from link to link.
type ourWay struct {
	resolver urlkey.Resolver
	memo     urlkey.KeyMemo
}

func linkCases(b *testing.B, kind string) (cases []linkCase, links int) {
	ours := new(ourWay)
	pages := simPages()
	if kind == "docs" {
		pages = docsPages(b)
	}
	for _, p := range pages {
		c := linkCase{base: p.url, ours: ours}
		var err error
		if c.std, err = url.Parse(p.url.String()); err != nil {
			b.Fatal(err)
		}
		for _, ref := range hrefs(p.text) {
			if kind == "docs" {
				_, err := c.base.Resolve(ref)
				_, err2 := c.std.Parse(ref)
				if err != nil || err2 != nil { // mailto:, javascript:
					continue
				}
			} else if strings.Contains(ref, "://") != (kind == "absolute") {
				continue
			}
			c.refs = append(c.refs, ref)
		}
		links += len(c.refs)
		compact(c.refs)
		cases = append(cases, c)
	}
	if links < len(cases) {
		b.Fatalf("%d links on %d pages", links, len(cases))
	}
	return cases, links
}

// compact puts texts next to each other in memory, as on a page. A crawl has just read the page, so waiting for memory
// must not be measured here.
func compact(refs []string) {
	all := strings.Join(refs, "")
	for i, ref := range refs {
		refs[i], all = all[:len(ref)], all[len(ref):]
	}
}

// appendStdKey makes the key of a parsed URL, see urlkey.Key.
func appendStdKey(dst []byte, u *url.URL) []byte {
	for host := u.Hostname(); host != ""; {
		i := strings.LastIndexByte(host, '.')
		dst = append(append(dst, host[i+1:]...), ',')
		host = host[:max(i, 0)]
	}
	if port := u.Port(); port != "" {
		dst = append(append(dst, ':'), port...)
	}
	dst = append(append(dst, ')'), u.EscapedPath()...)
	if u.RawQuery != "" || u.ForceQuery {
		dst = append(append(dst, '?'), u.RawQuery...)
	}
	return append(append(dst, ' '), u.Scheme...)
}

func stdKey(dst []byte, c *linkCase, ref string) ([]byte, error) {
	u, err := c.std.Parse(ref)
	if err != nil {
		return nil, err
	}
	return appendStdKey(dst, u), nil
}

// ourKey makes a key as package parse and the engine do.
func ourKey(dst []byte, c *linkCase, ref string) ([]byte, error) {
	u, err := c.ours.resolver.Resolve(&c.base, ref)
	if err != nil {
		return nil, err
	}
	return c.ours.memo.AppendKey(dst, u), nil
}

func BenchmarkURL(b *testing.B) {
	for _, kind := range []string{"relative", "absolute", "docs"} {
		cases, links := linkCases(b, kind)
		if len(cases) == 0 {
			continue
		}
		differ := 0
		for i := range cases {
			for _, ref := range cases[i].refs {
				ours, err := ourKey(nil, &cases[i], ref)
				if err != nil {
					b.Fatal(err)
				}
				if std, err := stdKey(nil, &cases[i], ref); err != nil || string(std) != string(ours) {
					if differ++; kind != "docs" || differ > links/10 {
						b.Fatalf("%q on %s: key %q, of net/url %q, %v", ref, cases[i].base, ours, std, err)
					}
				}
			}
		}
		for _, impl := range []struct {
			name string
			key  func([]byte, *linkCase, string) ([]byte, error)
		}{{"seine", ourKey}, {"floor-net-url", stdKey}} {
			b.Run(kind+"/"+impl.name, func(b *testing.B) {
				b.ReportAllocs()
				key := make([]byte, 0, 2*urlkey.MaxLength)
				for b.Loop() {
					for i := range cases {
						for _, ref := range cases[i].refs {
							var err error
							if key, err = impl.key(key[:0], &cases[i], ref); err != nil {
								b.Fatal(err)
							}
						}
					}
				}
				per(b, links, "link")
				b.ReportMetric(float64(links), "links/op")
			})
		}
	}
}
