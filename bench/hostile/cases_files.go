// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"slices"
	"strings"
)

// htmlCases are pages that break parsers. Each must be read in linear time and bounded memory, and must leave the
// parser in order.
func htmlCases() []Case {
	return slices.Concat(elementCases(), unclosedCases(), floodCases(), charsetCases(), textCases())
}

const mib = 1 << 20

// htmlCase serves what body returns.
func htmlCase(name, does string, body func() string) Case {
	return typedCase(name, does, "text/html", body)
}

// typedCase is htmlCase with a Content-Type.
func typedCase(name, does, mediaType string, body func() string) Case {
	return Case{
		Number: 111, Name: "html-" + name, Does: does,
		serve: func(c *conn, _ *request) { c.say(response("200 OK", mediaType, body())) },
		Want: Want{
			Results: []string{"200", "200 length"}, Alloc: 64 * mib,
			Crawl: []string{"db_fetched", "db_duplicate"}, CrawlRequests: 2,
			Text: "parsed in linear time; at most 2,000 links; text is valid UTF-8",
		},
	}
}

// fixed returns a text, again one over and over; both are made when they are served.
func fixed(s string) func() string { return func() string { return s } }
func again(s string, times int) func() string {
	return func() string { return strings.Repeat(s, times) }
}

// around returns again between two texts.
func around(before, s string, times int, after string) func() string {
	return func() string { return before + strings.Repeat(s, times) + after }
}

func elementCases() []Case {
	return []Case{
		htmlCase("nested", "a million nested elements", again("<div>", 700_000)),
		htmlCase("nested-inline", "a million nested inline elements", again("<b><i>", 600_000)),
		htmlCase("attribute-4mib", "an attribute of 4 MiB", around(`<a href="/`, "a", 4*mib-100, `">x</a>`)),
		htmlCase("attributes-million", "an element with nearly a million attributes",
			around("<a ", "b=c ", 900_000, ">x</a>")),
	}
}

func unclosedCases() (out []Case) {
	for _, open := range [][2]string{
		{"comment", "<!--"}, {"script", "<script>"}, {"title", "<title>"}, {"cdata", "<![CDATA["}, {"style", "<style>"},
		{"textarea", "<textarea>"}, {"double-quote", "<a href=\""}, {"single-quote", "<b title='"},
		{"doctype", "<!DOCTYPE "},
	} {
		out = append(out,
			htmlCase("unclosed-"+open[0], "an unclosed "+open[1], around(open[1], "x <b>", 700_000, "")))
	}
	return out
}

func floodCases() []Case {
	return []Case{
		htmlCase("nuls", "NULs everywhere", again("\x00<\x00p\x00>\x00", 500_000)),
		htmlCase("angles", "4 MiB of <", again("<", 4*mib-100)),
		htmlCase("plaintext", "a plaintext element", around("<plaintext>", "<p>x</p>", 400_000, "")),
		htmlCase("entities", "a flood of entities", again("&amp;&lt;&NotEqualTilde;&#x1F4A9;&bogus;", 80_000)),
		htmlCase("svg-math", "svg in math in svg", again("<svg><math><foreignObject><mtext>", 100_000)),
		htmlCase("links-200000", "200,000 links", func() string {
			var b strings.Builder
			for i := range 250 {
				fmt.Fprintf(&b, "<a href=//10.0.0.%d/>x</a>", i)
			}
			return strings.Repeat(b.String(), 800)
		}),
		htmlCase("base-twice", "two bases",
			fixed(`<base href="/a/"><base href="http://10.0.0.1/"><a href="http://10.1.1.1/">x</a>`)),
	}
}

func charsetCases() []Case {
	return []Case{
		htmlCase("utf-7", "UTF-7", fixed("<meta charset=utf-7>+ADw-script+AD4-alert(1)+ADw-/script+AD4-")),
		typedCase("utf-16", "UTF-16 without a mark", "text/html; charset=utf-16le",
			fixed("<\x00p\x00>\x00h\x00i\x00")),
		typedCase("utf-32", "UTF-32", "text/html; charset=utf-32",
			fixed("<\x00\x00\x00p\x00\x00\x00>\x00\x00\x00h\x00\x00\x00")),
		typedCase("bom-conflict", "a mark of UTF-8 and a header of windows-1251", "text/html; charset=windows-1251",
			fixed("\xef\xbb\xbf<p>caf\xc3\xa9")),
		htmlCase("meta-late", "a charset at 2 KiB",
			around("<!--", "x", 2048, "--><meta charset=shift_jis><p>\x83e\x83X\x83g")),
		htmlCase("invalid-utf-8", "bytes that are not UTF-8",
			again("<p>\xff\xfe\x80\xc0\xaf\xed\xa0\x80</p>", 100_000)),
	}
}

func textCases() []Case {
	const xss = `<title><script>alert(1)</script>{{7*7}}</title>` +
		`<a href="javascript:alert(1)" onclick=alert(1)>=cmd|' /C calc'!A0</a><p>"><img src=x onerror=alert(1)>` +
		"\x1b[31m" + `</script><!--`
	zoo := htmlCase("", "scripts in every field that is shown", fixed(xss))
	zoo.Number, zoo.Name, zoo.Want.Text = 112, "xss-zoo", "appears as text everywhere"
	return []Case{
		htmlCase("zalgo", "a letter with ten thousand marks", around("<p>Z", "\u0301", 10_000, "</p>")),
		htmlCase("bidi", "bidi overrides", fixed("<title>\u202egpj.exe\u202c</title><p>\u2066\u2067\u2068x\u2069")),
		htmlCase("token-4mib", "one word of 4 MiB", again("a", 4*mib-100)),
		htmlCase("tables", "tables in tables", again("<table><tr><td>", 250_000)),
		zoo,
	}
}

// fileCases are sitemaps and files that are not what they say.
func fileCases() []Case {
	fetched := Want{
		Results: []string{"200", "200 cut", "200 length"}, Alloc: 48 << 20,
		Crawl: []string{"db_fetched", "db_duplicate", "db_gone"},
	}
	sitemap := func(name, does, body string) Case {
		return Case{
			Number: 113, Name: "sitemap-" + name, Does: does, Path: "/sitemap.xml",
			Want:  fetched,
			serve: keeps(response("200 OK", "application/xml", body)),
		}
	}
	mime := func(name, does, mediaType, body string) Case {
		field := "Content-Type: " + mediaType + "\r\n"
		if mediaType == "" {
			field = ""
		}
		return Case{
			Number: 114, Name: "mime-" + name, Does: does,
			Want:  fetched,
			serve: keeps(fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", field, len(body), body)),
		}
	}
	return []Case{
		{
			Number: 113, Name: "sitemap-gz-bomb", Does: "a sitemap that is a bomb", Path: "/sitemap.xml.gz",
			Want:  Want{Results: fetched.Results, Alloc: fetched.Alloc},
			serve: func(c *conn, _ *request) { c.say(response("200 OK", "application/gzip", bombs()["gzip"])) },
		},
		sitemap(
			"million", "a sitemap of 40,000 entries",
			"<urlset>"+strings.Repeat("<url><loc>http://10.0.0.1/</loc></url>", 40_000)+"</urlset>",
		),
		sitemap(
			"loop", "an index of itself",
			"<sitemapindex><sitemap><loc>/sitemap.xml</loc></sitemap></sitemapindex>",
		),
		sitemap(
			"foreign", "entries of other hosts",
			"<urlset><url><loc>http://10.0.0.1/</loc><lastmod>2099-01-01</lastmod></url></urlset>",
		),
		sitemap(
			"entities", "entities that grow",
			`<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">`+
				`<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><urlset><url><loc>&c;</loc></url></urlset>`,
		),
		sitemap("nested", "deep nesting", strings.Repeat("<a>", 500_000)),
		mime("none", "no Content-Type", "", "<title>x</title><p>typed by its bytes"),
		mime(
			"video", "a video that says it is HTML", "text/html",
			"\x00\x00\x00\x18ftypmp42"+strings.Repeat("\x00\xff", 100_000),
		),
		mime("polyglot", "a GIF that is a script", "image/gif", "GIF89a/*"+strings.Repeat("\x00", 100)+"*/=1;alert(1)"),
		mime("garbage", "a Content-Type that is none", ";;=\x7f/", "<p>x"),
	}
}
