// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"errors"
	"testing"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/parse/pdf"
)

// TestPDF: what the process says of a file becomes the page; a file that can't be read is not parsed, as are those of
// types without a parser; a command that can't be run is another fault.
func TestPDF(t *testing.T) {
	read := func(command ...string) (*parse.Page, error) {
		p := new(parse.Page)
		parsers := parse.New(parse.Options{Parsers: map[string]parse.Parser{"application/pdf": parse.PDF(&pdf.Reader{Command: command})}})
		return p, parsers.Parse(&parse.Input{URL: mustURL(t, "https://example.org/dir/a.pdf"), Body: []byte("%PDF-1.7")}, p)
	}
	p, err := read("/bin/sh", "-c", `cat >/dev/null; printf %s '{"Title":" A\u0000 title ","Author":"Ann","Created":"2024-02-29T12:00:00Z","Text":"One two.\nThree.","Links":["b.html"," http://x.example/#f "]}'`)
	if err != nil {
		t.Fatal(err)
	}
	if p.MediaType != "application/pdf" || p.Title != "A title" || p.Facts.Author != "Ann" || p.Facts.Published.Year() != 2024 || string(p.Text) != "One two.\nThree." {
		t.Errorf("type %q, title %q, facts %+v, text %q", p.MediaType, p.Title, p.Facts, p.Text)
	}
	if len(p.Outlinks) != 2 || p.Outlinks[0].URL.String() != "https://example.org/dir/b.html" || p.Outlinks[1].URL.String() != "http://x.example/" {
		t.Errorf("links %+v", p.Outlinks)
	}
	if p, err = read("/bin/sh", "-c", `cat >/dev/null; printf %s '{"Text":"No title here.\nBut text."}'`); err != nil || p.Title != "No title here." {
		t.Errorf("title %q, %v", p.Title, err)
	}
	if _, err = read("/bin/sh", "-c", "exit 2"); !errors.Is(err, parse.ErrUnsupported) || !errors.Is(err, pdf.ErrBroken) {
		t.Errorf("a process that fails: %v", err)
	}
	if _, err = read("/nonexistent"); err == nil || errors.Is(err, parse.ErrUnsupported) {
		t.Errorf("no process: %v", err)
	}
}
