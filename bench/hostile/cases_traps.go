// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// noise is a number that depends only on a text.
func noise(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// paragraph is deterministic prose.
func paragraph(seed uint64, words int) string {
	list := strings.Fields("net boat tide rope harbour storm anchor lantern weather engine " +
		"page night morning signal paper river copper winter market garden")
	var b strings.Builder
	for i := range words {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], seed+uint64(i))
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(list[noise(string(n[:]))%uint64(len(list))])
	}
	return b.String()
}

// trapCases are sites without an end.
func trapCases() []Case { return slices.Concat(linkTrapCases(), contentTrapCases()) }

// budget is what is required where a site has no end.
var budget = Want{
	Results: []string{"200"}, Crawl: []string{"db_fetched"},
	Text: "the host stops at its budget: 95% of a crawl's requests go elsewhere",
}

// pages serves HTML computed from the request.
func pages(f func(q *request) string) func(*conn, *request) {
	return answers(func(q *request) string { return response("200 OK", "text/html", f(q)) })
}

// prose is a paragraph that depends on the URL only.
func prose(q *request) string { return "<p>" + paragraph(noise(q.Host+q.Path), 60) + "</p>" }

// linkTrapCases lead to new URLs without end.
func linkTrapCases() []Case {
	return []Case{
		{
			Number: 98, Name: "calendar", Does: "has a page for each day, forever", Path: "/2026-11-21",
			Want: budget,
			serve: pages(func(q *request) string {
				day, err := time.Parse("2006-01-02", strings.TrimPrefix(q.Path, "/"))
				if err != nil {
					day = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
				}
				return prose(q) + fmt.Sprintf(
					`<a href="/%s">before</a> <a href="/%s">after</a>`,
					day.AddDate(0, 0, -1).Format("2006-01-02"), day.AddDate(0, 0, 1).Format("2006-01-02"),
				)
			}),
		},
		{
			Number: 99, Name: "session-id", Does: "gives each visit new URLs",
			Want: budget,
			serve: pages(func(q *request) string {
				id := noise(q.Path)
				return prose(q) + fmt.Sprintf(
					`<a href="/a?PHPSESSID=%032x">a</a> <a href="/b;jsessionid=%032x">b</a>`,
					id, id+1,
				)
			}),
		},
		{
			Number: 100, Name: "facets", Does: "combines filters",
			Want: budget,
			serve: pages(func(q *request) string {
				var b strings.Builder
				sep := "?"
				if strings.Contains(q.Path, "?") {
					sep = "&"
				}
				for i := range 30 {
					fmt.Fprintf(
						&b, `<a href="%s%sf%d=%d">facet</a> `, strings.ReplaceAll(q.Path, "&", "&amp;"),
						strings.ReplaceAll(sep, "&", "&amp;"), i, noise(q.Path)%7,
					)
				}
				return prose(q) + b.String()
			}),
		},
		{
			Number: 101, Name: "path-repeat", Does: "links to a/b/a/b/…",
			Want:  budget,
			serve: pages(func(q *request) string { return prose(q) + `<a href="a/b/">on</a>` }),
		},
		{
			Number: 102, Name: "infinite-relative",
			Does:  "has a relative link on each page, also on those that are not there",
			Want:  budget,
			serve: pages(func(q *request) string { return prose(q) + `<a href="a/">on</a>` }),
		},
	}
}

// contentTrapCases are worthless pages without an end.
func contentTrapCases() []Case {
	return []Case{
		{
			Number: 103, Name: "markov-maze", Does: "is a maze of garbage, 1.5 s a page",
			Want: Want{Results: []string{"200", "timeout_head"}, Within: "total", Text: budget.Text},
			serve: func(c *conn, q *request) {
				if !c.pause(1500 * time.Millisecond) {
					return
				}
				var b strings.Builder
				for i := range 40 {
					fmt.Fprintf(
						&b, `<a href="/%x">%s</a> `, noise(fmt.Sprint(q.Path, i)),
						paragraph(noise(q.Path)+uint64(i), 3),
					)
				}
				c.page(prose(q) + b.String())
			},
		},
		{
			Number: 104, Name: "wildcard-hosts",
			Does: "links to a hundred new hosts on each page, all at one address",
			Want: Want{
				Results: []string{"200"}, Crawl: []string{"db_fetched"},
				Text: "at most 100 of its hosts a day, one request at a time for all",
			},
			serve: pages(func(q *request) string {
				_, port, _ := strings.Cut(q.Host, ":")
				var b strings.Builder
				for i := range 100 {
					fmt.Fprintf(&b, `<a href="http://%x.evil.test:%s/">host</a> `, noise(fmt.Sprint(q.Host, i)), port)
				}
				return prose(q) + b.String()
			}),
		},
		{
			Number: 105, Name: "link-farm", Does: "is one of many sites that link to each other",
			Want: budget,
			serve: pages(func(q *request) string {
				var b strings.Builder
				for i := range 20 {
					fmt.Fprintf(&b, `<a href="/farm/%d">cheap</a> `, noise(fmt.Sprint(q.Path, i))%1000)
				}
				return prose(q) + b.String()
			}),
		},
		{
			Number: 106, Name: "soft-404", Does: "answers 200 for everything", Path: "/certainly/not/there",
			Want:  Want{Results: []string{"200"}, Text: "recognized by a probe"},
			serve: pages(func(*request) string { return "<title>Not found</title>Sorry!" }),
		},
		{
			Number: 108, Name: "near-dup-nonce", Does: "is the same page with another number",
			Want: Want{Results: []string{"200"}, Text: "near-duplicates are recognized"},
			serve: pages(func(q *request) string {
				return fmt.Sprintf(
					`<p>%s</p><a href="/%x">next</a> %x`, paragraph(1, 100), noise(q.Path), noise(q.Path),
				)
			}),
		},
	}
}

// robotsCases are hosts whose robots.txt is odd; their only page is /page.
func robotsCases() []Case {
	return slices.Concat(robotsRedirectCases(), robotsStatusCases(), robotsTextCases(), robotsDelayCases())
}

// The statuses that /page may have after a crawl.
var (
	allowed = []string{"db_fetched", "db_duplicate"}
	denied  = []string{"db_gone"}
	closed  = []string{"db_unfetched"} // as long as robots.txt cannot be had
)

// robotsCase requires that /page has one of the statuses in crawl after a crawl, and that the host gets at most
// requests many requests.
func robotsCase(name, does string, crawl []string, requests int, serve func(*conn, *request)) Case {
	return Case{
		Number: 109, Name: "robots-" + name, Does: does, Path: "/page", robots: true, serve: serve,
		Want: Want{Results: []string{"200"}, Crawl: crawl, CrawlRequests: requests},
	}
}

// robotsFile serves a robots.txt and a page.
func robotsFile(status, body string, fields ...string) func(*conn, *request) {
	return answers(func(q *request) string {
		if q.Path == "/robots.txt" {
			return response(status, "text/plain", body, fields...)
		}
		return response("200 OK", "text/html", "robots "+q.Host)
	})
}

// robotsHops serves a robots.txt behind n redirects: /rrr is three hops in.
func robotsHops(n int) func(*conn, *request) {
	return answers(func(q *request) string {
		at := len(q.Path) - len(strings.TrimLeft(q.Path, "/r"))
		switch {
		case q.Path == "/page":
			return response("200 OK", "text/html", "robots "+q.Host)
		case q.Path == "/robots.txt":
			return redirect("/r")
		case at-1 >= n:
			return response("200 OK", "text/plain", "User-agent: *\nDisallow: /page\n")
		}
		return redirect(q.Path + "r")
	})
}

func robotsRedirectCases() []Case {
	const six = "robots.txt behind six redirects: unavailable, so everything is allowed (RFC 9309, 2.3.1.2)"
	return []Case{
		robotsCase("301x5", "robots.txt behind five redirects", denied, 6, robotsHops(5)),
		robotsCase("301x6", six, allowed, 8, robotsHops(6)),
		robotsCase("loop", "robots.txt redirects to itself", allowed, 8, answers(func(q *request) string {
			if q.Path == "/page" {
				return response("200 OK", "text/html", "loop")
			}
			return redirect("/robots.txt")
		})),
	}
}

func robotsStatusCases() (out []Case) {
	for _, status := range []string{"401 Unauthorized", "403 Forbidden", "404 Not Found", "410 Gone"} {
		out = append(out,
			robotsCase(status[:3], "robots.txt answers "+status, allowed, 2, robotsFile(status, "no")))
	}
	unavailable := func(name, does, status, body string, fields ...string) {
		out = append(out, robotsCase(name, does, closed, 1, robotsFile(status, body, fields...)))
	}
	unavailable("429", "robots.txt answers 429", "429 Too Many Requests", "slow down")
	unavailable("500", "robots.txt answers 500", "500 Internal Server Error", "oops")
	unavailable("503-retry", "robots.txt answers 503 and when to come again",
		"503 Service Unavailable", "", "Retry-After: 3600\r\n")
	return out
}

func robotsTextCases() []Case {
	says := func(name, does string, crawl []string, text string) Case {
		requests := 2
		if crawl[0] != allowed[0] {
			requests = 1
		}
		return robotsCase(name, does, crawl, requests, robotsFile("200 OK", text))
	}
	const agent, page = "User-agent: *\n", "Disallow: /page\n"
	return []Case{
		says("10mb", "a robots.txt of 10 MB that forbids at its end: 500 KiB must be read", allowed,
			agent+strings.Repeat("# padding\n", 1<<20)+page),
		says("1mb-line", "a robots.txt with a line of 1 MB, then a rule beyond what must be read", allowed,
			agent+"Disallow: /"+strings.Repeat("x", 1<<20)+"\n"+page),
		says("bom", "a robots.txt with a byte order mark", denied, "\xef\xbb\xbf"+agent+page),
		says("utf-16", "a robots.txt in UTF-16: nothing in it can be read", allowed,
			"\xff\xfeU\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00"),
		says("nul", "a robots.txt with NULs", denied, "User-agent: *\x00\n"+agent+page),
		says("html", "a page for robots.txt", allowed,
			"<!DOCTYPE html><title>Welcome</title>Disallow nothing"),
		says("cr-only", "a robots.txt with bare carriage returns", denied, "User-agent: *\rDisallow: /page\r"),
		says("unknown-groups", "groups for others only", allowed, "User-agent: otherbot\nDisallow: /\n\nFoo: bar\n"),
	}
}

func robotsDelayCases() (out []Case) {
	delay := func(name, does, value string, crawl []string) {
		file := robotsFile("200 OK", "User-agent: *\nCrawl-delay: "+value+"\n")
		out = append(out, robotsCase("delay-"+name, does, crawl, 2, file))
	}
	delay("0", "Crawl-delay: 0", "0", allowed)
	delay("nan", "Crawl-delay: NaN", "NaN", allowed)
	delay("1", "Crawl-delay: -1", "-1", allowed)
	delay("huge", "Crawl-delay: 1e9, far above the cap: its pages wait, and this is reported", "1000000000",
		[]string{"db_unfetched", "db_fetched"})
	return out
}

// retryCases answer with 429 and how long to wait; the page must stay due and be requested once.
func retryCases() []Case {
	var out []Case
	for i, value := range []string{
		"0", "1", "1000000000", "-1", "Thu, 01 Jan 2015 00:00:00 GMT", "Thu, 01 Jan 2099 00:00:00 GMT",
		"soon", "",
	} {
		fields := []string{"Retry-After: " + value + "\r\n"}
		if value == "" {
			fields = nil
		}
		out = append(out, Case{
			Number: 110, Name: fmt.Sprintf("retry-after-%d", i),
			Does:  fmt.Sprintf("429 with Retry-After %q", value),
			Want:  Want{Results: []string{"429"}, Crawl: []string{"db_unfetched"}, CrawlRequests: 8},
			serve: keeps(response("429 Too Many Requests", "text/plain", "slow down", fields...)),
		})
	}
	return out
}
