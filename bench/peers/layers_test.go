// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/gocolly/colly/v2"
	whatwg "github.com/nlnwa/whatwg-url/url"
	"github.com/valyala/fasthttp"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: one reference of a page resolved against the page's URL, in canonical form and without fragment;
// and a page of HTML turned into the URLs of its links, its title and its visible text. It is done on synthetic pages,
// and on the *.html files of the folder SEINE_PAGES if that is set.
//
// How to run: go run . layers

// reference is a link as written on a page.
type reference struct{ base, ref string }

func syntheticForTest(tb testing.TB) []htmlPage {
	n := 200
	if s := os.Getenv("SEINE_LAYER_PAGES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 1 {
			tb.Fatalf("SEINE_LAYER_PAGES=%q: want a number of pages", s)
		}
	}
	pages, err := syntheticPages(n)
	if err != nil {
		tb.Fatal(err)
	}
	return pages
}

// folderForBench skips the benchmark when no folder is named.
func folderForBench(b *testing.B) []htmlPage {
	folder := os.Getenv("SEINE_PAGES")
	if folder == "" {
		b.Skip("SEINE_PAGES names no folder of pages")
	}
	pages, err := folderPages(folder, 1000)
	if err != nil {
		b.Fatal(err)
	}
	return pages
}

func BenchmarkPeerURL(b *testing.B)        { benchmarkURLs(b, syntheticForTest(b)) }
func BenchmarkPeerURLFolder(b *testing.B)  { benchmarkURLs(b, folderForBench(b)) }
func BenchmarkPeerHTML(b *testing.B)       { benchmarkPages(b, syntheticForTest(b)) }
func BenchmarkPeerHTMLFolder(b *testing.B) { benchmarkPages(b, folderForBench(b)) }

// benchmarkURLs resolves all references of all pages, page by page as a crawler does: the page's own
// URL is parsed once.
func benchmarkURLs(b *testing.B, pages []htmlPage) {
	var refs []reference
	size := 0
	for _, p := range pages {
		for _, ref := range hrefsOf(b, p) {
			refs = append(refs, reference{p.url, ref})
			size += len(ref)
		}
	}
	for _, peer := range urlPeers {
		b.Run(peer.name, func(b *testing.B) {
			b.SetBytes(int64(size / len(refs)))
			b.ReportAllocs()
			resolve := peer.new()
			bad := 0
			for i := 0; b.Loop(); i++ {
				if r := &refs[i%len(refs)]; resolve(r.base, r.ref) == "" {
					bad++
				}
			}
			b.ReportMetric(float64(bad)/float64(b.N), "refused/op")
		})
	}
}

// urlPeers make a function that resolves a reference against a base; the same base comes many times in a row. It
// returns "" for a reference that it refuses.
var urlPeers = []struct {
	name string
	new  func() func(base, ref string) string
}{
	{"seine", func() func(base, ref string) string {
		var last string
		var u urlkey.URL
		var resolver urlkey.Resolver
		return func(base, ref string) string {
			if base != last {
				last = base
				u, _ = urlkey.Parse(base)
			}
			r, err := resolver.Resolve(&u, ref)
			if err != nil {
				return ""
			}
			return r.String()
		}
	}},
	{"net-url", func() func(base, ref string) string {
		var last string
		var u *url.URL
		return func(base, ref string) string {
			if base != last {
				last = base
				u, _ = url.Parse(base)
			}
			r, err := u.Parse(ref)
			if err != nil {
				return ""
			}
			r.Fragment, r.RawFragment = "", ""
			return r.String()
		}
	}},
	{"whatwg-url", func() func(base, ref string) string {
		var last string
		var u *whatwg.Url
		parser := whatwg.NewParser(whatwg.WithPercentEncodeSinglePercentSign())
		return func(base, ref string) string {
			if base != last {
				last = base
				u, _ = parser.Parse(base)
			}
			r, err := u.Parse(ref)
			if err != nil {
				return ""
			}
			return r.Href(true)
		}
	}},
	{"fasthttp-uri", func() func(base, ref string) string {
		var last string
		var from, u fasthttp.URI
		return func(base, ref string) string {
			if base != last {
				last = base
				_ = from.Parse(nil, []byte(base))
			}
			from.CopyTo(&u)
			u.Update(ref)
			u.SetHash("")
			return string(u.FullURI())
		}
	}},
}

// parsed is what must be found in a page.
type parsed struct {
	links []string // absolute, without fragment
	title string
	text  string
}

// benchmarkPages parses all pages in each turn.
func benchmarkPages(b *testing.B, pages []htmlPage) {
	size := 0
	for _, p := range pages {
		size += len(p.body)
	}
	for _, peer := range pagePeers {
		b.Run(peer.name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			do := peer.new()
			links, text := 0, 0
			for b.Loop() {
				for i := range pages {
					p, err := do(&pages[i])
					if err != nil {
						b.Fatalf("%s: %v", pages[i].url, err)
					}
					links += len(p.links)
					text += len(p.text)
				}
			}
			n := float64(b.N * len(pages))
			b.ReportMetric(float64(b.Elapsed().Microseconds())/n, "µs/page")
			b.ReportMetric(float64(links)/n, "links/page")
			b.ReportMetric(float64(text)/n, "text-B/page")
		})
	}
}

var pagePeers = []struct {
	name string
	new  func() func(*htmlPage) (parsed, error)
}{
	{"seine", newSeinePage},
	{"goquery", func() func(*htmlPage) (parsed, error) { return goqueryPage }},
	{"x-net-html", func() func(*htmlPage) (parsed, error) { return treePage }},
	{"x-net-tokenizer", func() func(*htmlPage) (parsed, error) { return tokenizerPage }},
	{"colly-like", func() func(*htmlPage) (parsed, error) { return collyPage }},
}

// newSeinePage does more than the others: charset, language, robots directives, a signature.
func newSeinePage() func(*htmlPage) (parsed, error) {
	parsers := parse.New(parse.Options{})
	var page parse.Page
	return func(p *htmlPage) (parsed, error) {
		u, err := urlkey.Parse(p.url)
		if err != nil {
			return parsed{}, err
		}
		if err := parsers.Parse(&parse.Input{URL: u, ContentType: "text/html", Body: p.body}, &page); err != nil {
			return parsed{}, err
		}
		r := parsed{title: page.Title, text: string(page.Text)}
		for _, l := range page.Outlinks {
			r.links = append(r.links, l.URL.String())
		}
		return r, nil
	}
}

func goqueryPage(p *htmlPage) (r parsed, err error) {
	base, err := url.Parse(p.url)
	if err != nil {
		return r, err
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(p.body))
	if err != nil {
		return r, err
	}
	r.title = doc.Find("title").First().Text()
	doc.Find("a[href]").Each(func(_ int, s *goquery.Selection) {
		r.addLink(base, s.AttrOr("href", ""))
	})
	doc.Find("script, style, noscript, template").Remove()
	r.text = strings.Join(strings.Fields(doc.Find("body").Text()), " ")
	return r, nil
}

func (r *parsed) addLink(base *url.URL, ref string) {
	if u, err := base.Parse(ref); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		u.Fragment, u.RawFragment = "", ""
		r.links = append(r.links, u.String())
	}
}

func treePage(p *htmlPage) (r parsed, err error) {
	base, err := url.Parse(p.url)
	if err != nil {
		return r, err
	}
	root, err := html.Parse(bytes.NewReader(p.body))
	if err != nil {
		return r, err
	}
	var text strings.Builder
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			text.WriteString(n.Data)
			text.WriteByte(' ')
		case n.Type == html.ElementNode:
			switch n.DataAtom {
			case atom.Script, atom.Style, atom.Noscript, atom.Template:
				return
			case atom.Title:
				if n.FirstChild != nil && r.title == "" {
					r.title = n.FirstChild.Data
				}
				return
			case atom.A:
				if ref, ok := attribute(n.Attr, "href"); ok {
					r.addLink(base, ref)
				}
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(root)
	r.text = strings.Join(strings.Fields(text.String()), " ")
	return r, nil
}

func attribute(attrs []html.Attribute, name string) (string, bool) {
	for _, a := range attrs {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// tokenizerPage builds no tree: people write this when the tree is too slow.
func tokenizerPage(p *htmlPage) (r parsed, err error) {
	base, err := url.Parse(p.url)
	if err != nil {
		return r, err
	}
	var text strings.Builder
	var skip, title bool
	for z := html.NewTokenizer(bytes.NewReader(p.body)); ; {
		switch z.Next() {
		case html.ErrorToken:
			r.text = strings.Join(strings.Fields(text.String()), " ")
			return r, nil
		case html.TextToken:
			switch {
			case title:
				r.title = string(z.Text())
				title = false
			case !skip:
				text.Write(z.Text())
				text.WriteByte(' ')
			}
		case html.EndTagToken:
			skip, title = false, false
		case html.StartTagToken:
			name, more := z.TagName()
			switch atom.Lookup(name) {
			case atom.Script, atom.Style, atom.Noscript:
				skip = true
			case atom.Title:
				title = r.title == ""
			case atom.A:
				for more {
					var key, value []byte
					key, value, more = z.TagAttr()
					if string(key) == "href" {
						r.addLink(base, string(value))
						break
					}
				}
			}
		}
	}
}

// collyPage does what colly does with a response when three OnHTML callbacks are set.
func collyPage(p *htmlPage) (r parsed, err error) {
	u, err := url.Parse(p.url)
	if err != nil {
		return r, err
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewBuffer(p.body))
	if err != nil {
		return r, err
	}
	doc.Find("base[href]")
	resp := &colly.Response{Request: &colly.Request{URL: u}, Body: p.body}
	onHTML := func(selector string, do func(e *colly.HTMLElement)) {
		at := 0
		doc.Find(selector).Each(func(_ int, s *goquery.Selection) {
			for _, n := range s.Nodes {
				do(colly.NewHTMLElementFromSelectionNode(resp, s, n, at))
				at++
			}
		})
	}
	onHTML("title", func(e *colly.HTMLElement) { r.title = e.Text })
	onHTML("a[href]", func(e *colly.HTMLElement) {
		if link := e.Request.AbsoluteURL(e.Attr("href")); link != "" {
			r.links = append(r.links, link)
		}
	})
	onHTML("body", func(e *colly.HTMLElement) { r.text = strings.Join(strings.Fields(e.Text), " ") })
	return r, nil
}

// hrefsOf returns the references of a page as they are written.
func hrefsOf(tb testing.TB, p htmlPage) (refs []string) {
	tb.Helper()
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(p.body))
	if err != nil {
		tb.Fatal(err)
	}
	doc.Find("a[href]").Each(func(_ int, s *goquery.Selection) { refs = append(refs, s.AttrOr("href", "")) })
	return refs
}

// TestPeersAgree: all parsers do the same work, so they find the same on pages without oddities.
func TestPeersAgree(t *testing.T) {
	for _, p := range syntheticForTest(t) {
		var want map[string]bool
		var title string
		for _, peer := range pagePeers {
			got, err := peer.new()(&p)
			if err != nil {
				t.Fatalf("%s: %s: %v", peer.name, p.url, err)
			}
			links := map[string]bool{}
			for _, l := range got.links {
				links[l] = true
			}
			if want == nil {
				want, title = links, got.title
				continue
			}
			if !maps.Equal(links, want) {
				t.Fatalf(
					"%s: %s: links %q, want %q", peer.name, p.url, slices.Sorted(maps.Keys(links)),
					slices.Sorted(maps.Keys(want)),
				)
			}
			// seine cuts the site's name off, if enough is left.
			got.title = strings.TrimSpace(got.title)
			if own, _, _ := strings.Cut(got.title, " | "); got.title != title && own != title {
				t.Errorf("%s: %s: title %q, want %q", peer.name, p.url, got.title, title)
			}
		}
		for _, ref := range hrefsOf(t, p) {
			for _, peer := range urlPeers {
				if got := peer.new()(p.url, ref); !want[got] {
					t.Fatalf("%s: %q on %s is %q, which is no link of the page", peer.name, ref, p.url, got)
				}
			}
		}
	}
}
