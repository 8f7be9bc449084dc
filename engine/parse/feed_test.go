// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage/urlkey"
)

func parsed(t *testing.T, contentType, body string) (*parse.Page, error) {
	t.Helper()
	u, err := urlkey.Parse("http://a.example/dir/file.xml")
	if err != nil {
		t.Fatal(err)
	}
	var page parse.Page
	err = parse.New(parse.Options{}).Parse(&parse.Input{URL: u, ContentType: contentType, Body: []byte(body)}, &page)
	return &page, err
}

func linksOf(p *parse.Page) string {
	var b strings.Builder
	for _, l := range p.Outlinks {
		fmt.Fprintf(&b, "%s %s %q", l.Kind, l.URL, l.Anchor)
		if l.Modified != 0 {
			fmt.Fprint(&b, " ", time.Unix(l.Modified, 0).UTC().Format(time.RFC3339))
		}
		if l.Every != 0 {
			fmt.Fprint(&b, " every ", l.Every)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestFeedsAndSitemaps: their entries are links, and they are not indexed.
func TestFeedsAndSitemaps(t *testing.T) {
	sitemap := `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="x">
<url><loc> http://a.example/?a=1&amp;b=2 </loc><lastmod>2024-05-06</lastmod><changefreq>daily</changefreq>
<image:image><image:loc>http://a.example/i.png</image:loc></image:image></url>
<url><lastmod>2024-05-06T10:00:00+02:00</lastmod><loc><![CDATA[http://a.example/c]]></loc></url>
<url><loc/></url><url><loc>http://a.example/d`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(sitemap))
	z.Close()
	want := "sitemap http://a.example/?a=1&b=2 \"\" 2024-05-06T00:00:00Z every 86400\n" +
		"sitemap http://a.example/c \"\" 2024-05-06T08:00:00Z\n"
	for _, c := range []struct{ name, contentType, body, title, links string }{
		{"sitemap", "text/xml", sitemap, "", want},
		{"dates of sitemaps", "text/xml", "<urlset>" +
			`<url><loc>/1</loc><lastmod>2024-05-01T10:00:00+0000</lastmod></url>` +
			`<url><loc>/2</loc><lastmod>2024-05-01T12:00:00.250+0200</lastmod></url>` +
			`<url><loc>/3</loc><lastmod>2024-05-01T10:00:00.5Z</lastmod></url>` +
			`<url><loc>/4</loc><lastmod>2024-05-01T06:00-0400</lastmod></url>` +
			`<url><loc>/5</loc><lastmod>2024-05-01T10:00:00+00</lastmod></url></urlset>`, "",
			"sitemap http://a.example/1 \"\" 2024-05-01T10:00:00Z\n" +
				"sitemap http://a.example/2 \"\" 2024-05-01T10:00:00Z\n" +
				"sitemap http://a.example/3 \"\" 2024-05-01T10:00:00Z\n" +
				"sitemap http://a.example/4 \"\" 2024-05-01T10:00:00Z\nsitemap http://a.example/5 \"\"\n"},
		{"sitemap in gzip", "application/x-gzip", zipped.String(), "", want},
		{"sitemap in gzip, declared as text", "text/plain", zipped.String(), "", want},
		{"sitemap in gzip, declared as XML", "application/xml", zipped.String(), "", want},
		{"sitemap in gzip, declared as RSS", "application/rss+xml", zipped.String(), "", want},
		{"sitemap in gzip as content coding, declared as gzip", "application/x-gzip", sitemap, "", want},
		{"sitemap declared as HTML", "text/html; charset=utf-8", sitemap, "", want},
		{"sitemap declared as text", "text/plain", sitemap, "", want},
		{"sitemap declared by S3", "binary/octet-stream", sitemap, "", want},
		{"RSS declared as HTML", "text/html", "\xef\xbb\xbf<?xml version='1.0'?>\n<!-- <html> -->\n" +
			"<?xml-stylesheet href='x'?><rss><item><link>/1</link></item></rss>", "", "feed http://a.example/1 \"\"\n"},
		{"RSS by an older name", "application/x-rss+xml", "<!DOCTYPE rss [<!ENTITY nbsp '&#160;'>]>" +
			"<rss><item><link>/1</link></item></rss>", "", "feed http://a.example/1 \"\"\n"},
		{"URLs that are not escaped", "text/xml", "<urlset><url><loc>/?a=1&section=2&copy=3&lt=4</loc></url>" +
			"<url><loc>/?a&amp;reg=1&#38;b&eacute;&x;&</loc></url></urlset>", "",
			"sitemap http://a.example/?a=1&section=2&copy=3&lt=4 \"\"\n" +
				"sitemap http://a.example/?a&reg=1&b%C3%A9&x;& \"\"\n"},
		{"attributes that are not escaped", "application/atom+xml", "<feed><entry><link href='/?a=1&section=2'/>" +
			"<title>a &lt b &copy; c</title></entry></feed>", "",
			"feed http://a.example/?a=1&section=2 \"a &lt b © c\"\n"},
		{"changefreq in capitals", "text/xml",
			"<urlset><url><loc>/1</loc><changefreq>Daily</changefreq></url></urlset>", "",
			"sitemap http://a.example/1 \"\" every 86400\n"},
		{"sitemap that says UTF-16 and is ASCII", "text/xml", "<?xml version='1.0' encoding='utf-16'?>" +
			"<urlset><url><loc>/1</loc></url></urlset>", "", "sitemap http://a.example/1 \"\"\n"},
		{"sitemap without type and declaration", "", "<urlset><url><loc>/1</loc></url></urlset>", "",
			"sitemap http://a.example/1 \"\"\n"},
		{"RSS with HTML in it", "text/xml", "<rss><channel><description><![CDATA[<html><a href=/no>]]></description>" +
			"<item><link>/1</link></item></channel></rss>", "", "feed http://a.example/1 \"\"\n"},
		{"RSS with HTML in it, without type", "", "<?xml version='1.0'?><rss><channel>" +
			"<title><![CDATA[<html>]]></title><item><link>/1</link></item></channel></rss>", "<html>",
			"feed http://a.example/1 \"\"\n"},
		{"sitemap in plain text", "text/plain", "\xef\xbb\xbfhttp://a.example/1\r\n\r\n HTTPS://b.example/2?x=(1) \n" +
			"http://a.example/1\n", "http://a.example/1",
			"sitemap http://a.example/1 \"\"\nsitemap https://b.example/2?x=(1) \"\"\n"},
		{"index", "application/xml", `<sm:sitemapindex xmlns:sm="x">` +
			`<sm:sitemap><sm:loc>http://b.example/s.xml.gz</sm:loc></sm:sitemap></sm:sitemapindex>`, "",
			"sitemap http://b.example/s.xml.gz \"\"\n"},
		{"charset", "text/xml", "<?xml version='1.0' encoding='windows-1251'?>" +
			"<rss><channel><title>\xcd\xee\xe2\xee\xf1\xf2\xe8</title></channel></rss>", "Новости", ""},
		{"RSS 2.0", "application/rss+xml", `<rss version="2.0"><channel><title>All  the
news</title><link>http://a.example/</link><image><title>logo</title></image>
<item><title>One &amp; two</title><link>/1</link><pubDate>Mon, 06 May 2024 10:00:00 GMT</pubDate></item>
<item><guid>http://a.example/2</guid><title>Two</title></item>
<item><guid isPermaLink="false">tag:3</guid><title>Three</title></item></channel></rss>`, "All the news",
			"feed http://a.example/1 \"One & two\" 2024-05-06T10:00:00Z\nfeed http://a.example/2 \"Two\"\n"},
		{"dates of RSS", "application/rss+xml", `<rss><item><link>/1</link>` +
			`<pubDate>6 May 2024 10:00:00 GMT</pubDate></item>` +
			`<item><link>/2</link><pubDate>Mon, 06 May 2024 10:00 GMT</pubDate></item>` +
			`<item><link>/3</link><pubDate>Mon, 06 May 24 12:00:00 +0200</pubDate></item>` +
			`<item><link>/4</link><pubDate>Mon, 06 May 2024 05:00 EST</pubDate></item>` +
			`<item><link>/5</link><pubDate>today</pubDate></item>` +
			`<item><link>/6</link><pubDate>2024-05-06T12:00:00+02:00</pubDate></item>` +
			`<item><link>/7</link><dc:date>Mon, 06 May 2024 10:00:00 GMT</dc:date></item></rss>`, "",
			"feed http://a.example/1 \"\" 2024-05-06T10:00:00Z\nfeed http://a.example/2 \"\" 2024-05-06T10:00:00Z\n" +
				"feed http://a.example/3 \"\" 2024-05-06T10:00:00Z\n" +
				"feed http://a.example/4 \"\" 2024-05-06T10:00:00Z\nfeed http://a.example/5 \"\"\n" +
				"feed http://a.example/6 \"\" 2024-05-06T10:00:00Z\n" +
				"feed http://a.example/7 \"\" 2024-05-06T10:00:00Z\n"},
		{"RSS 1.0", "application/rdf+xml", `<rdf:RDF xmlns:rdf="x"><channel rdf:about="y"><title>Old</title>` +
			`<link>http://a.example/</link></channel><item><title>T</title><link>http://a.example/t</link>` +
			`<dc:date>2001-02-03T04:05Z</dc:date></item></rdf:RDF>`, "Old",
			"feed http://a.example/t \"T\" 2001-02-03T04:05:00Z\n"},
		{"Atom", "application/atom+xml", `<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://c.example/x/">
<title>A</title><link rel="self" href="f.xml"/><link href="http://c.example/"/>
<entry><title type="html">E</title><link rel="enclosure" href="e.mp3"/><link rel="alternate" href="e.html"/>
<updated>2024-05-06T10:00:00Z</updated></entry></feed>`, "A",
			"feed http://c.example/x/e.html \"E\" 2024-05-06T10:00:00Z\n"},
		{"titles of Atom", "application/atom+xml", `<feed xmlns="http://www.w3.org/2005/Atom"><title type="html">` +
			`A &amp;amp;lt; B</title><entry><source><title>Other</title><link href="/other"/></source>` +
			`<title type="html">It&amp;#8217;s &lt;b&gt;new&lt;/b&gt;: 1 &lt; 2 &amp;amp; 3 &lt;i no end</title>` +
			`<link href="/1"/></entry><entry><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">` +
			`Less: <em>&lt;</em></div></title><link href="/2"/></entry>` +
			`<entry><title>&lt;b&gt;</title><link href="/3"/><source/></entry>` +
			`<entry><link href="/4"/><source></entry><entry><link href="/5"/></entry></feed>`, "A &lt; B",
			"feed http://a.example/1 \"It’s new: 1 < 2 & 3\"\nfeed http://a.example/2 \"Less: <\"\n" +
				"feed http://a.example/3 \"<b>\"\nfeed http://a.example/4 \"\"\nfeed http://a.example/5 \"\"\n"},
		{"JSON with a mark", "application/feed+json", "\xef\xbb\xbf{\"title\":\"J\"}", "J", ""},
		{"JSON", "application/feed+json", `{"version":"https://jsonfeed.org/version/1.1","title":"J",` +
			`"items":[{"url":"/j","title":"K","date_modified":"2024-05-06","date_published":"2024-05-05"},` +
			`{"url":"/l","date_published":"2024-05-04"}],"next_url":"/next"}`, "J",
			"feed http://a.example/j \"K\" 2024-05-06T00:00:00Z\nfeed http://a.example/l \"\" 2024-05-04T00:00:00Z\n" +
				"next http://a.example/next \"\"\n"},
	} {
		p, err := parsed(t, c.contentType, c.body)
		if err != nil || p.Title != c.title || !p.Robots.NoIndex {
			t.Errorf("%s: title %q, noindex %t, %v", c.name, p.Title, p.Robots.NoIndex, err)
		}
		if got := linksOf(p); got != c.links {
			t.Errorf("%s: links\n%swant\n%s", c.name, got, c.links)
		}
	}
	for name, c := range map[string][2]string{
		"other XML":  {"text/xml", "<book><url><loc>http://a.example/x</loc></url></book>"},
		"nothing":    {"text/xml", ""},
		"an archive": {"application/gzip", "\x1f\x8b\x08"},
		"a picture":  {"image/svg+xml", "<svg><url><loc>http://a.example/x</loc></url></svg>"},
		"JSON":       {"application/feed+json", "[1,2"},
	} {
		if p, err := parsed(t, c[0], c[1]); !errors.Is(err, parse.ErrUnsupported) || len(p.Outlinks) > 0 {
			t.Errorf("%s: %d links, %v", name, len(p.Outlinks), err)
		}
	}
}

// TestJSONFeedOfStranger: a JSON feed takes little memory, whatever a server sends, and what was read before a fault
// counts.
func TestJSONFeedOfStranger(t *testing.T) {
	for name, c := range map[string]struct {
		body, links string
		truncated   bool
	}{
		"cut": {`{"items":[{"url":"/1"},{"url":"/2"},{"url":"/3`,
			"feed http://a.example/1 \"\"\nfeed http://a.example/2 \"\"\n", true},
		"other types": {`{"title":1,"next_url":{},"items":["x",null,{"url":"/1","title":[]},{"url":2}]}`,
			"feed http://a.example/1 \"\"\n", false},
		"no items": {`{"items":null,"x":[[{"items":[{"url":"/no"}]}]],"next_url":"/2"}`,
			"next http://a.example/2 \"\"\n", false},
	} {
		p, err := parsed(t, "application/feed+json", c.body)
		if got := linksOf(p); err != nil || got != c.links || p.Truncated != c.truncated || !p.Robots.NoIndex {
			t.Errorf("%s: truncated %t, noindex %t, %v, links\n%swant\n%s",
				name, p.Truncated, p.Robots.NoIndex, err, got, c.links)
		}
	}
	body := `{"items":[{"url":"/1"}` + strings.Repeat(",{}", 1<<20) + `]}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := parsed(t, "application/feed+json", body)
	if err != nil || len(p.Outlinks) != 1 || !p.Truncated {
		t.Errorf("%d links, truncated %t, %v", len(p.Outlinks), p.Truncated, err)
	}
	runtime.ReadMemStats(&after)
	if most := uint64(8 * len(body)); after.TotalAlloc-before.TotalAlloc > most {
		t.Errorf("%d bytes of items took %d", len(body), after.TotalAlloc-before.TotalAlloc)
	}
}

// TestLargeSitemap: a sitemap gives MaxSitemapLinks links, no more.
func TestLargeSitemap(t *testing.T) {
	var b strings.Builder
	b.WriteString("<urlset>")
	for i := range parse.MaxSitemapLinks + 10 {
		fmt.Fprintf(&b, "<url><loc>http://a.example/page-%d</loc></url>", i)
	}
	b.WriteString("</urlset>")
	p, err := parsed(t, "text/xml", b.String())
	if err != nil || len(p.Outlinks) != parse.MaxSitemapLinks || p.LinksDropped != 10 || !p.Truncated {
		t.Errorf("%d links, %d dropped, truncated %t, %v", len(p.Outlinks), p.LinksDropped, p.Truncated, err)
	}
}

// TestTextSitemap: a text of nothing but URLs is a sitemap, as long as one in XML may be. Other texts are pages,
// whatever URLs they have.
func TestTextSitemap(t *testing.T) {
	const urls, cut = 30_000, 1 << 20
	var b strings.Builder
	for i := range urls {
		fmt.Fprintf(&b, "http://a.example/a-directory-with-a-long-name/page-%d\n", i)
	}
	text := strings.TrimSuffix(b.String(), "\n")
	before := strings.Count(text[:cut], "\n")
	for name, c := range map[string]struct {
		body, more string
		truncated  bool
		links      int
	}{
		"at once":        {text, "", false, urls},
		"in two":         {text[:cut], text[cut:], false, urls},
		"cut":            {text[:cut], "", true, before},
		"with a word":    {text + "\nend", "", false, parse.MaxLinks},
		"gzip":           {zipped(text), "", false, urls},
		"gzip in two":    {zipped(text)[:9<<10], zipped(text)[9<<10:], false, urls},
		"two URLs, gzip": {zipped("http://a.example/1\nhttp://a.example/2"), "", false, 2},
	} {
		u, _ := urlkey.Parse("http://a.example/sitemap.txt")
		in := &parse.Input{URL: u, ContentType: "text/plain", Body: []byte(c.body), Truncated: c.truncated}
		if c.more != "" {
			in.More = strings.NewReader(c.more)
		}
		var p parse.Page
		err := parse.New(parse.Options{}).Parse(in, &p)
		isList := name != "with a word"
		if err != nil || len(p.Outlinks) != c.links || p.Robots.NoIndex != isList || p.Truncated == isList {
			t.Errorf("%s: %d links, want %d; noindex %t, truncated %t, %v",
				name, len(p.Outlinks), c.links, p.Robots.NoIndex, p.Truncated, err)
		}
		if got := parse.IsSitemap([]byte(c.body[:min(8<<10, len(c.body))])); !got && len(c.body) > 8<<10 {
			t.Errorf("%s: its start is none of a sitemap", name)
		}
	}
	for _, body := range []string{"", "\n\n", "http://a.example/1\n", "see\nhttp://a.example/\nhttp://b.example/\n",
		"http://a.example/1 one\nhttp://a.example/2 two\n", "ftp://a.example/\nftp://b.example/\n"} {
		if p, err := parsed(t, "text/plain", body); err != nil || p.Robots.NoIndex || parse.IsSitemap([]byte(body)) {
			t.Errorf("%q: noindex %t, %v", body, p.Robots.NoIndex, err)
		}
	}
}

// TestTextSitemapCut: the URL at which the first part of a long sitemap ends is whole, also if it ends in a character.
func TestTextSitemapCut(t *testing.T) {
	const part = 8 << 20 // of the text of a gzip file
	var urls []string
	var b strings.Builder
	for i := 0; b.Len() <= part; i++ {
		fmt.Fprintf(&b, "http://a.example/%d/%s\n", i, strings.Repeat("a", 300)+strings.Repeat("é", 40))
		urls = append(urls, fmt.Sprintf("http://a.example/%d/%s%s", i, strings.Repeat("a", 300),
			strings.Repeat("%C3%A9", 40)))
	}
	long := b.String() + "http://a.example/end"
	for utf8.RuneStart(long[part]) {
		long = "\n" + long
	}
	for _, c := range []struct {
		body, more string
		want       []string
	}{
		{"http://a.example/1\nhttp://a.example/2\nhttp://a.example/\xc3", "\xa9\nhttp://a.example/4", []string{
			"http://a.example/1", "http://a.example/2", "http://a.example/%C3%A9", "http://a.example/4",
		}},
		{zipped(long), "", append(urls, "http://a.example/end")},
	} {
		u, _ := urlkey.Parse("http://a.example/sitemap.txt")
		in := &parse.Input{URL: u, ContentType: "text/plain", Body: []byte(c.body)}
		if c.more != "" {
			in.More = strings.NewReader(c.more)
		}
		var p parse.Page
		err := parse.New(parse.Options{}).Parse(in, &p)
		if err != nil || p.Truncated || len(p.Outlinks) != len(c.want) {
			t.Fatalf("%d links, want %d; truncated %t, %v", len(p.Outlinks), len(c.want), p.Truncated, err)
		}
		for i, l := range p.Outlinks {
			if l.URL.String() != c.want[i] {
				t.Errorf("link %d is %s, want %s", i, l.URL, c.want[i])
			}
		}
	}
}

// zipped is a text as a gzip file.
func zipped(text string) string {
	var b strings.Builder
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

// TestLongSitemap: a sitemap may be as long as sitemaps.org permits, plain or in gzip, at once or with what follows
// Input.Body. Of one that is longer, or damaged, the whole entries count.
func TestLongSitemap(t *testing.T) {
	long := func(bytes int) (text string, entries int) {
		var b strings.Builder
		b.WriteString("<?xml version='1.0'?>\n<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\n")
		filler := strings.Repeat("é", 1000)
		for ; b.Len() < bytes; entries++ {
			fmt.Fprintf(&b, "<url><loc>http://a.example/page-%d</loc><!-- %s --></url>\n", entries, filler)
		}
		return b.String() + "</urlset>", entries
	}
	text, entries := long(20 << 20)
	over, most := long(60 << 20)
	zipped := zipped(text)
	for name, c := range map[string]struct {
		mediaType, body, more string
		least, most           int
		truncated             bool
	}{
		"at once":               {"text/xml", text, "", entries, entries, false},
		"in two":                {"text/xml", text[:8<<20], text[8<<20:], entries, entries, false},
		"gzip":                  {"application/gzip", zipped, "", entries, entries, false},
		"gzip in two":           {"text/xml", zipped[:100], zipped[100:], entries, entries, false},
		"cut gzip":              {"text/xml", zipped[:len(zipped)*3/4], "", entries / 2, entries - 1, true},
		"longer than it may be": {"text/xml", over, "", most / 2, most - 1, true},
	} {
		u, _ := urlkey.Parse("http://a.example/sitemap.xml")
		in := &parse.Input{URL: u, ContentType: c.mediaType, Body: []byte(c.body)}
		if c.more != "" {
			in.More = strings.NewReader(c.more)
		}
		var p parse.Page
		err := parse.New(parse.Options{}).Parse(in, &p)
		n := len(p.Outlinks)
		if err != nil || n < c.least || n > c.most || p.Truncated != c.truncated {
			t.Errorf("%s: %d of %d links, truncated %t, %v", name, n, entries, p.Truncated, err)
			continue
		}
		if last := p.Outlinks[n-1].URL.String(); last != fmt.Sprintf("http://a.example/page-%d", n-1) {
			t.Errorf("%s: the last of %d links is %s", name, n, last)
		}
	}
}
