// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tdparse "github.com/tdewolff/parse/v2"
	tdhtml "github.com/tdewolff/parse/v2/html"

	"github.com/seine-crawler/seine/engine/parse"
)

// generatedPage is a typical page of documentation: 12 KB, 50 links, 6 KB of text.
func generatedPage() []byte {
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">" +
		"<title>The library — chapter 7</title>\n<link rel=\"stylesheet\" href=\"style.css\">" +
		"<script>var x = 1; if (x < 2) { f(\"</p>\") }</script></head>\n<body><nav><ul>\n")
	for i := range 20 {
		fmt.Fprintf(&b, "<li class=\"toctree-l1\"><a class=\"reference internal\" "+
			"href=\"../chapter/section-%d.html\">Section number %d</a></li>\n", i, i)
	}
	b.WriteString("</ul></nav><main>\n")
	for i := range 30 {
		fmt.Fprintf(&b, "<h2 id=\"s%d\">Heading %d</h2>\n<p>The quick brown fox jumps over the lazy dog, "+
			"again &amp; again, while <a href=\"page-%d.html#anchor\" title=\"see there\">the <em>other</em> page</a> "+
			"explains what <code>fox.jump(%d)</code> returns; nobody reads the rest of such a paragraph, "+
			"but it has to be parsed all the same&nbsp;&mdash; word by word.</p>\n", i, i, i, i)
	}
	b.WriteString("</main></body></html>\n")
	return b.Bytes()
}

func lexOnly(src []byte) int {
	l := tdhtml.NewLexer(tdparse.NewInputBytes(src))
	n := 0
	for {
		kind, data := l.Next()
		if kind == tdhtml.ErrorToken {
			return n
		}
		n += len(data)
	}
}

// benchmarkPages measures Parse and, in the same run, the bare lexer as its floor.
func benchmarkPages(b *testing.B, pages [][]byte) {
	total := 0
	for _, p := range pages {
		total += len(p)
	}
	b.Run("lexer", func(b *testing.B) {
		b.SetBytes(int64(total))
		var buf []byte
		for b.Loop() {
			for _, p := range pages {
				buf = append(append(buf[:0], p...), 0)[:len(p)]
				lexOnly(buf)
			}
		}
	})
	b.Run("page", func(b *testing.B) {
		b.SetBytes(int64(total))
		b.ReportAllocs()
		parsers := parse.New(parse.Options{})
		in := htmlInput(mustURL(b, "https://docs.example.org/library/chapter/page.html"), nil)
		var page parse.Page
		for b.Loop() {
			for _, p := range pages {
				in.Body = p
				if err := parsers.Parse(in, &page); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(len(page.Outlinks)), "links")
	})
}

func BenchmarkGenerated(b *testing.B) { benchmarkPages(b, [][]byte{generatedPage()}) }

// BenchmarkDocs parses the HTML documentation that is installed on the machine, up to 16 MB of it.
func BenchmarkDocs(b *testing.B) {
	var pages [][]byte
	total := 0
	for _, root := range strings.Fields(os.Getenv("SEINE_BENCH_HTML") + " /usr/share/doc") {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || total > 16<<20 || d.IsDir() || !strings.HasSuffix(path, ".html") {
				return nil
			}
			if data, err := os.ReadFile(path); err == nil && len(data) > 0 {
				pages = append(pages, data)
				total += len(data)
			}
			return nil
		})
	}
	if len(pages) == 0 {
		b.Skip("no HTML documentation is installed")
	}
	b.Logf("%d pages, %d bytes", len(pages), total)
	benchmarkPages(b, pages)
}

func BenchmarkPlain(b *testing.B) {
	const line = "This is plain text, line after line, as it is in the archives of lists; " +
		"see https://example.org/page for more.\n"
	body := bytes.Repeat([]byte(line), 200)
	parsers := parse.New(parse.Options{})
	u := mustURL(b, "https://example.org/x.txt")
	in := parse.Input{URL: u, ContentType: "text/plain; charset=utf-8", Body: body}
	var page parse.Page
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if err := parsers.Parse(&in, &page); err != nil {
			b.Fatal(err)
		}
	}
}
