// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tdparse "github.com/tdewolff/parse/v2"
	tdhtml "github.com/tdewolff/parse/v2/html"
	"golang.org/x/net/html"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// What is measured: bytes of HTML per second. seine makes a whole page of them: charset, title, text, main content,
// headings, links resolved and made canonical, language, robots, signature and simhash. The floors stop earlier: the
// lexer that seine is built on and x/net/html's tokenizer only cut the page into tags, attributes and text (attributes
// are visited, since seine must); x/net/html's tree builds the document and nothing from it. "simweb" is 400 generated
// pages of 12 KB; "docs" is the *.html below $SEINE_PAGES, up to 16 MB, and absent without it. On simweb all
// implementations must find the same links before they are measured. How to run:
//
//	SEINE_PAGES=/usr/share/doc go test -run '^$' -bench HTML ./bench/measure

// docsMaxBytes bounds how much of $SEINE_PAGES is read.
const docsMaxBytes = 16 << 20

// docsPages reads the pages below $SEINE_PAGES; none if it is not set.
func docsPages(b *testing.B) (pages []page) {
	root := os.Getenv("SEINE_PAGES")
	if root == "" {
		return nil
	}
	total := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || total > docsMaxBytes || d.IsDir() || !strings.HasSuffix(path, ".html") {
			return nil // a folder that can't be read is left out
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) == 0 {
			return nil
		}
		u, err := urlkey.Parse("https://docs.example.org/" + strings.TrimPrefix(filepath.ToSlash(path), "/"))
		if err != nil {
			return nil
		}
		pages = append(pages, page{u, text})
		total += len(text)
		return nil
	})
	if err != nil || len(pages) == 0 {
		b.Fatalf("SEINE_PAGES=%s: %d pages, %v", root, len(pages), err)
	}
	return pages
}

// lexLinks counts the href of a elements with tdewolff's lexer.
func lexLinks(text []byte) (links int) {
	l := tdhtml.NewLexer(tdparse.NewInputBytes(text))
	inA := false
	for {
		kind, _ := l.Next()
		switch kind {
		case tdhtml.ErrorToken:
			return links
		case tdhtml.StartTagToken:
			name := l.Text()
			inA = len(name) == 1 && name[0]|0x20 == 'a'
		case tdhtml.AttributeToken:
			if inA && len(l.AttrKey()) == 4 && bytes.EqualFold(l.AttrKey(), []byte("href")) {
				links++
			}
		}
	}
}

// tokenLinks counts the same with x/net/html's tokenizer.
func tokenLinks(text []byte) (links int) {
	z := html.NewTokenizer(bytes.NewReader(text))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return links
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		name, more := z.TagName()
		isA := string(name) == "a"
		for more {
			var key []byte
			if key, _, more = z.TagAttr(); isA && string(key) == "href" {
				links++
			}
		}
	}
}

// treeLinks counts the same in x/net/html's tree.
func treeLinks(text []byte) (links int) {
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		return -1
	}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode || n.Data != "a" {
			continue
		}
		for _, a := range n.Attr {
			if a.Key == "href" {
				links++
			}
		}
	}
	return links
}

// ourLinks parses pages with seine's parser.
type ourLinks struct {
	parsers *parse.Parsers
	in      parse.Input
	page    parse.Page
}

func (o *ourLinks) parse(b *testing.B, p *page) {
	o.in.URL, o.in.Body = p.url, p.text
	if err := o.parsers.Parse(&o.in, &o.page); err != nil {
		b.Fatalf("%s: %v", p.url, err)
	}
}

func newOurs() *ourLinks {
	return &ourLinks{parsers: parse.New(parse.Options{}), in: parse.Input{ContentType: "text/html; charset=utf-8"}}
}

// sameTargets checks that seine's links of a page have the targets of its href attributes.
func sameTargets(b *testing.B, o *ourLinks, p *page) {
	want := map[urlkey.URL]bool{}
	for _, ref := range hrefs(p.text) {
		if u, err := p.url.Resolve(ref); err == nil && u != p.url {
			want[u] = true
		}
	}
	got := map[urlkey.URL]bool{}
	for _, l := range o.page.Outlinks {
		if l.URL != p.url {
			got[l.URL] = true
		}
		if !want[l.URL] && l.URL != p.url {
			b.Fatalf("%s: no link leads to %s", p.url, l.URL)
		}
	}
	if len(got) != len(want) {
		b.Fatalf("%s: links to %d pages, want %d", p.url, len(got), len(want))
	}
}

func BenchmarkHTML(b *testing.B) {
	b.Run("simweb", func(b *testing.B) {
		pages, o, links := simPages(), newOurs(), 0
		for i := range pages {
			o.parse(b, &pages[i])
			sameTargets(b, o, &pages[i])
			n := tokenLinks(pages[i].text)
			links += n
			if tree := treeLinks(pages[i].text); tree != n {
				b.Fatalf("%s: %d links by tokens, %d by the tree", pages[i].url, n, tree)
			}
			if lex := lexLinks(lexable(nil, pages[i].text)); lex != n {
				b.Fatalf("%s: %d links by tokens, %d by the lexer", pages[i].url, n, lex)
			}
		}
		if links < 40*len(pages) {
			b.Fatalf("%d links on %d pages", links, len(pages))
		}
		benchmarkHTML(b, pages)
	})
	if pages := docsPages(b); pages != nil {
		b.Run("docs", func(b *testing.B) { benchmarkHTML(b, pages) })
	}
}

// lexable copies a page into a buffer with room for the zero byte that the lexer puts behind it.
func lexable(buf, text []byte) []byte {
	return append(append(buf[:0], text...), 0)[:len(text)]
}

func benchmarkHTML(b *testing.B, pages []page) {
	run := func(name string, fn func(p *page) int) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(totalBytes(pages)))
			b.ReportAllocs()
			links := 0
			for b.Loop() {
				links = 0
				for i := range pages {
					links += fn(&pages[i])
				}
			}
			if links < len(pages) {
				b.Fatalf("%d links on %d pages", links, len(pages))
			}
			per(b, len(pages), "page")
			b.ReportMetric(float64(links)/float64(len(pages)), "links/page")
		})
	}
	o := newOurs()
	run("seine", func(p *page) int {
		o.parse(b, p)
		return len(o.page.Outlinks)
	})
	var buf []byte
	run("floor-lexer", func(p *page) int {
		buf = lexable(buf, p.text)
		return lexLinks(buf)
	})
	run("floor-nethtml-tokenizer", func(p *page) int { return tokenLinks(p.text) })
	run("floor-nethtml-tree", func(p *page) int { return treeLinks(p.text) })
}
