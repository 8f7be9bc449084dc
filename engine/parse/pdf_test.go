// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"errors"
	"testing"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/parse/pdf"
)

// TestPDF: the document that the process returns becomes the page. A file that cannot be read is unsupported, like a
// type without a parser. A command that does not start is another error.
func TestPDF(t *testing.T) {
	read := func(command ...string) (*parse.Page, error) {
		own := map[string]parse.Parser{"Application/PDF": parse.PDF(&pdf.Reader{Command: command})}
		in := parse.Input{URL: mustURL(t, "https://example.org/dir/a.pdf"), Body: []byte("%PDF-1.7")}
		p := new(parse.Page)
		return p, parse.New(parse.Options{Parsers: own}).Parse(&in, p)
	}
	shell := func(script string) (*parse.Page, error) { return read("/bin/sh", "-c", script) }
	p, err := shell(`cat >/dev/null; printf %s '{"Title":" A\u0000 title ","Author":"Ann",` +
		`"Created":"2024-02-29T12:00:00Z","Text":"One two.\nThree.","Links":["b.html"," http://x.example/#f "]}'`)
	if err != nil {
		t.Fatal(err)
	}
	if p.MediaType != "application/pdf" || p.Title != "A title" || string(p.Text) != "One two.\nThree." ||
		p.Facts.Author != "Ann" || p.Facts.Published.Year() != 2024 {
		t.Errorf("type %q, title %q, facts %+v, text %q", p.MediaType, p.Title, p.Facts, p.Text)
	}
	if len(p.Outlinks) != 2 || p.Outlinks[0].URL.String() != "https://example.org/dir/b.html" ||
		p.Outlinks[1].URL.String() != "http://x.example/" {
		t.Errorf("links %+v", p.Outlinks)
	}
	p, err = shell(`cat >/dev/null; printf %s '{"Text":"No title here.\nBut text."}'`)
	if err != nil || p.Title != "No title here." {
		t.Errorf("title %q, %v", p.Title, err)
	}
	if _, err = shell("exit 2"); !errors.Is(err, parse.ErrUnsupported) || !errors.Is(err, pdf.ErrBroken) {
		t.Errorf("a process that fails: %v", err)
	}
	if _, err = read("/nonexistent"); err == nil || errors.Is(err, parse.ErrUnsupported) {
		t.Errorf("no process: %v", err)
	}
}
