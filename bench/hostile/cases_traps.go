// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// noise is a number that depends on a text only.
func noise(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// paragraph is deterministic prose about nothing.
func paragraph(seed uint64, words int) string {
	list := strings.Fields("net boat tide rope harbour storm anchor lantern weather engine page night morning signal paper river copper winter market garden")
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
func trapCases() []Case {
	budget := Want{Results: []string{"200"}, Crawl: []string{"db_fetched"}, Text: "the host stops at its budget: 95% of a crawl's requests go elsewhere"}
	pages := func(f func(q *Request) string) func(*Conn, *Request) {
		return answers(func(q *Request) string { return response("200 OK", "text/html", f(q)) })
	}
	text := func(q *Request) string { return "<p>" + paragraph(noise(q.Host+q.Path), 60) + "</p>" }
	return []Case{
		{Number: 98, Name: "calendar", Does: "has a page for each day for ever", Path: "/2026-11-21", Want: budget, serve: pages(func(q *Request) string {
			day, err := time.Parse("2006-01-02", strings.TrimPrefix(q.Path, "/"))
			if err != nil {
				day = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
			}
			return text(q) + fmt.Sprintf(`<a href="/%s">before</a> <a href="/%s">after</a>`, day.AddDate(0, 0, -1).Format("2006-01-02"), day.AddDate(0, 0, 1).Format("2006-01-02"))
		})},
		{Number: 99, Name: "session-id", Does: "gives each visit new URLs", Want: budget, serve: pages(func(q *Request) string {
			id := noise(q.Path)
			return text(q) + fmt.Sprintf(`<a href="/a?PHPSESSID=%032x">a</a> <a href="/b;jsessionid=%032x">b</a>`, id, id+1)
		})},
		{Number: 100, Name: "facets", Does: "combines filters", Want: budget, serve: pages(func(q *Request) string {
			var b strings.Builder
			sep := "?"
			if strings.Contains(q.Path, "?") {
				sep = "&"
			}
			for i := range 30 {
				fmt.Fprintf(&b, `<a href="%s%sf%d=%d">facet</a> `, strings.ReplaceAll(q.Path, "&", "&amp;"), strings.ReplaceAll(sep, "&", "&amp;"), i, noise(q.Path)%7)
			}
			return text(q) + b.String()
		})},
		{Number: 101, Name: "path-repeat", Does: "links to a/b/a/b/…", Want: budget, serve: pages(func(q *Request) string { return text(q) + `<a href="a/b/">on</a>` })},
		{Number: 102, Name: "infinite-relative", Does: "has a relative link on each page, also on those that are not there", Want: budget, serve: pages(func(q *Request) string { return text(q) + `<a href="a/">on</a>` })},
		{Number: 103, Name: "markov-maze", Does: "is a maze of garbage, 1.5 s a page", Want: Want{Results: []string{"200", "timeout_head"}, Within: "total", Text: budget.Text}, serve: func(c *Conn, q *Request) {
			if !c.pause(1500 * time.Millisecond) {
				return
			}
			var b strings.Builder
			for i := range 40 {
				fmt.Fprintf(&b, `<a href="/%x">%s</a> `, noise(fmt.Sprint(q.Path, i)), paragraph(noise(q.Path)+uint64(i), 3))
			}
			c.page(text(q) + b.String())
		}},
		{Number: 104, Name: "wildcard-hosts", Does: "links to a hundred new hosts on each page, all at one address", Want: Want{Results: []string{"200"}, Crawl: []string{"db_fetched"}, Text: "at most 100 of its hosts a day, one request at a time for all"},
			serve: pages(func(q *Request) string {
				_, port, _ := strings.Cut(q.Host, ":")
				var b strings.Builder
				for i := range 100 {
					fmt.Fprintf(&b, `<a href="http://%x.evil.test:%s/">host</a> `, noise(fmt.Sprint(q.Host, i)), port)
				}
				return text(q) + b.String()
			})},
		{Number: 105, Name: "link-farm", Does: "is one of many sites that link to each other", Want: budget, serve: pages(func(q *Request) string {
			var b strings.Builder
			for i := range 20 {
				fmt.Fprintf(&b, `<a href="/farm/%d">cheap</a> `, noise(fmt.Sprint(q.Path, i))%1000)
			}
			return text(q) + b.String()
		})},
		{Number: 106, Name: "soft-404", Does: "answers 200 for everything", Path: "/certainly/not/there", Want: Want{Results: []string{"200"}, Text: "recognised by a probe"}, serve: pages(func(*Request) string { return "<title>Not found</title>Sorry!" })},
		{Number: 108, Name: "near-dup-nonce", Does: "is the same page with another number", Want: Want{Results: []string{"200"}, Text: "near-duplicates are recognised"}, serve: pages(func(q *Request) string {
			return fmt.Sprintf(`<p>%s</p><a href="/%x">next</a> %x`, paragraph(1, 100), noise(q.Path), noise(q.Path))
		})},
	}
}

// robotsCases are hosts whose robots.txt is odd; their only page is /page.
func robotsCases() []Case {
	file := func(status, body string, fields ...string) func(*Conn, *Request) {
		return answers(func(q *Request) string {
			if q.Path == "/robots.txt" {
				return response(status, "text/plain", body, fields...)
			}
			return response("200 OK", "text/html", "robots "+q.Host)
		})
	}
	allowed, closed := []string{"db_fetched", "db_duplicate"}, []string{"db_unfetched"}
	denied := []string{"db_gone"}
	var out []Case
	add := func(name, does string, crawl []string, serve func(*Conn, *Request)) {
		requests := 2
		if crawl[0] != "db_fetched" {
			requests = 1
		}
		out = append(out, Case{Number: 109, Name: "robots-" + name, Does: does, Path: "/page", robots: true, serve: serve, Want: Want{Results: []string{"200"}, Crawl: crawl, CrawlRequests: requests}})
	}
	hops := func(n int) func(*Conn, *Request) {
		return answers(func(q *Request) string {
			at := len(q.Path) - len(strings.TrimLeft(q.Path, "/r")) // /rrr is three hops in
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
	add("301x5", "robots.txt behind five redirects", denied, hops(5))
	add("301x6", "robots.txt behind six redirects: unavailable, so all is allowed (RFC 9309, 2.3.1.2)", allowed, hops(6))
	out[len(out)-2].Want.CrawlRequests, out[len(out)-1].Want.CrawlRequests = 6, 8
	add("loop", "robots.txt redirects to itself", allowed, answers(func(q *Request) string {
		if q.Path == "/page" {
			return response("200 OK", "text/html", "loop")
		}
		return redirect("/robots.txt")
	}))
	out[len(out)-1].Want.CrawlRequests = 8
	for _, status := range []string{"401 Unauthorized", "403 Forbidden", "404 Not Found", "410 Gone"} {
		add(status[:3], "robots.txt answers "+status, allowed, file(status, "no"))
	}
	add("429", "robots.txt answers 429", closed, file("429 Too Many Requests", "slow down"))
	add("500", "robots.txt answers 500", closed, file("500 Internal Server Error", "oops"))
	add("503-retry", "robots.txt answers 503 and when to come again", closed, file("503 Service Unavailable", "", "Retry-After: 3600\r\n"))
	add("10mb", "a robots.txt of 10 MB that forbids at its end: 500 KiB must be read", allowed, file("200 OK", "User-agent: *\n"+strings.Repeat("# padding\n", 1<<20)+"Disallow: /page\n"))
	add("1mb-line", "a robots.txt with a line of 1 MB, then a rule beyond what must be read", allowed, file("200 OK", "User-agent: *\nDisallow: /"+strings.Repeat("x", 1<<20)+"\nDisallow: /page\n"))
	add("bom", "a robots.txt with a byte order mark", denied, file("200 OK", "\xef\xbb\xbfUser-agent: *\nDisallow: /page\n"))
	add("utf-16", "a robots.txt in UTF-16: nothing in it can be read", allowed, file("200 OK", "\xff\xfeU\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n\x00"))
	add("nul", "a robots.txt with NULs", denied, file("200 OK", "User-agent: *\x00\nUser-agent: *\nDisallow: /page\n"))
	add("html", "a page for robots.txt", allowed, file("200 OK", "<!DOCTYPE html><title>Welcome</title>Disallow nothing"))
	add("cr-only", "a robots.txt with bare carriage returns", denied, file("200 OK", "User-agent: *\rDisallow: /page\r"))
	add("unknown-groups", "groups for others only", allowed, file("200 OK", "User-agent: otherbot\nDisallow: /\n\nFoo: bar\n"))
	for _, delay := range []string{"0", "NaN", "-1"} {
		add("delay-"+strings.ToLower(strings.Trim(delay, "-")), "Crawl-delay: "+delay, allowed, file("200 OK", "User-agent: *\nCrawl-delay: "+delay+"\n"))
	}
	add("delay-huge", "Crawl-delay: 1e9, far above the cap: its pages wait, and it is said", []string{"db_unfetched", "db_fetched"}, file("200 OK", "User-agent: *\nCrawl-delay: 1000000000\n"))
	out[len(out)-1].Want.CrawlRequests = 2
	return out
}

// retryCases answer with 429 and what to wait; the page must stay due, and be asked for once.
func retryCases() []Case {
	var out []Case
	for i, value := range []string{"0", "1", "1000000000", "-1", "Thu, 01 Jan 2015 00:00:00 GMT", "Thu, 01 Jan 2099 00:00:00 GMT", "soon", ""} {
		fields := []string{"Retry-After: " + value + "\r\n"}
		if value == "" {
			fields = nil
		}
		out = append(out, Case{Number: 110, Name: fmt.Sprintf("retry-after-%d", i), Does: fmt.Sprintf("429 with Retry-After %q", value), serve: keeps(response("429 Too Many Requests", "text/plain", "slow down", fields...)),
			Want: Want{Results: []string{"429"}, Crawl: []string{"db_unfetched"}, CrawlRequests: 8}})
	}
	return out
}
