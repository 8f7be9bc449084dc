// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/seine-crawler/seine/engine/parse"
)

// FuzzHTML: for any bytes, header and media type, Page keeps its promises, a second parse gives the same page, and the
// input is not written to.
func FuzzHTML(f *testing.F) {
	files, err := filepath.Glob("testdata/html/*.html")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, "text/html")
		f.Add(body, "application/xhtml+xml; charset=iso-8859-1")
	}
	f.Add([]byte("\xff\xfe<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00x\x00>\x00"), "")
	f.Add([]byte("see https://example.org/a_(b). and (http://x.y/z)"), "text/plain")
	f.Add([]byte("<urlset><url><loc>/x</loc><lastmod>2024-01-01</lastmod></url></urlset>"), "text/xml")
	f.Add([]byte("<feed><entry><title>a<![CDATA[b]]></title><link href='x'/></entry></feed>"), "application/atom+xml")
	f.Add([]byte(`{"items":[{"url":"/x","title":"\ud800"}]}`), "application/feed+json")
	f.Add([]byte("<meta charset=shift_jis>\x83\x65\x83\x58\x83\x67"), "text/html")
	page := mustURL(f, "https://example.org/dir/page.html")
	parsers := parse.New(parse.Options{})
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		before := bytes.Clone(body)
		in := parse.Input{
			URL: page, ContentType: contentType, Body: body, RobotsTag: []string{contentType}, Agent: "bot",
		}
		var p, again parse.Page
		err := parsers.Parse(&in, &p)
		if err != nil && !errors.Is(err, parse.ErrUnsupported) {
			t.Fatal(err)
		}
		parse.CheckPage(t, &p)
		_ = parsers.Parse(&in, &again)
		if p.Signature != again.Signature || p.SimHash != again.SimHash ||
			len(p.Outlinks) != len(again.Outlinks) || p.Title != again.Title {
			t.Error("a second parse gives another page")
		}
		if !bytes.Equal(before, body) {
			t.Error("the input was written to")
		}
	})
}
