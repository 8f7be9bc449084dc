// SPDX-License-Identifier: Apache-2.0

package pdf_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seine-crawler/seine/engine/parse/pdf"
)

// TestMain makes the test binary usable as the Command of a Reader.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "read-pdf" {
		if err := pdf.Serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func reader(t testing.TB) *pdf.Reader {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &pdf.Reader{Command: []string{self, "read-pdf"}, Timeout: 3 * time.Second}
}

// file returns a PDF file of objects, numbered from 1, with table and trailer. TABLE in the trailer becomes the table's
// offset.
func file(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	table := b.Len()
	trailer = strings.ReplaceAll(trailer, "TABLE", fmt.Sprint(table))
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d /Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, trailer, table)
	return b.Bytes()
}

func stream(dict, data string) string {
	return fmt.Sprintf("<<%s /Length %d>>\nstream\n%s\nendstream", dict, len(data), data)
}

func deflate(parts ...io.Reader) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	if _, err := io.Copy(z, io.MultiReader(parts...)); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// page returns a file of one page with a font F whose letters are all half as wide as high.
func page(content, more string, objects ...string) []byte {
	widths := strings.Repeat("500 ", 256)
	all := append([]string{
		"<</Type /Catalog /Pages 2 0 R>>",
		"<</Type /Pages /Kids [3 0 R] /Count 1 /Resources <</Font <</F 4 0 R>> /XObject <</X 6 0 R>>>>>>",
		"<</Type /Page /Parent 2 0 R /Contents 5 0 R " + more + ">>",
		"<</Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding " +
			"/FirstChar 0 /LastChar 255 /Widths [" + widths + "]>>",
		content}, objects...)
	return file("", all...)
}

// TestText: words, lines and paragraphs are found by their places on the page.
func TestText(t *testing.T) {
	for _, c := range []struct{ name, content, want string }{
		{"one string", "BT /F 10 Tf 100 700 Td (Hello world) Tj ET", "Hello world"},
		{"a word in pieces", "BT /F 10 Tf 100 700 Td [(Hel) 20 (lo) -250 (world)] TJ ET", "Hello world"},
		{"moved on the line", "BT /F 10 Tf 100 700 Td (Hello) Tj 30 0 Td (world) Tj 25 0 Td (s) Tj ET", "Hello worlds"},
		{"lines and paragraphs",
			"BT /F 10 Tf 12 TL 100 700 Td (one) Tj T* (two) Tj (three) ' 0 -40 Td (four) Tj ET", "one two three\nfour"},
		{"a hyphenated word",
			"BT /F 10 Tf 12 TL 100 700 Td (exam-) Tj T* (ple, semi-) Tj T* (Final) Tj ET", "example, semi- Final"},
		{"matrix",
			"BT /F 1 Tf 10 0 0 10 100 700 Tm (a) Tj 10 0 0 10 105 700 Tm (b) Tj 10 0 0 10 130 700 Tm (c) Tj ET",
			"ab c"},
		{"a form", "/X Do BT /F 10 Tf 0 300 Td (after) Tj ET", "inside\nafter"},
		{"escapes", `BT /F 10 Tf 0 0 Td (\(f\374r\)) Tj <41 42> Tj ET`, "(für)AB"},
		{"nothing", "0 0 m 10 10 l S", ""},
	} {
		form := stream("/Type /XObject /Subtype /Form", "BT /F 10 Tf 0 700 Td (inside) Tj ET")
		d := pdf.Extract(page(stream("", c.content), "", form))
		if d.Text != c.want || d.Error != "" {
			t.Errorf("%s: %q, error %q; want %q", c.name, d.Text, d.Error, c.want)
		}
	}
}

// TestDocument reads a whole file in a process: metadata, pages in order, links.
func TestDocument(t *testing.T) {
	body := file("/Info 7 0 R",
		"<</Type /Catalog /Pages 2 0 R>>",
		"<</Type /Pages /Kids [3 0 R 4 0 R] /Count 2 /Resources <</Font <</F 5 0 R>>>>>>",
		"<</Type /Page /Parent 2 0 R /Contents [6 0 R 8 0 R] /Annots ["+
			"<</Subtype /Link /A <</S /URI /URI (http://example.com/a)>>>> <</Subtype /Link /Dest [3 0 R]>>]>>",
		"<</Type /Page /Parent 2 0 R /Contents 8 0 R>>",
		"<</Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding>>",
		stream("/Filter /FlateDecode", deflate(strings.NewReader("BT /F 12 Tf 72 720 Td (First page.) Tj ET"))),
		"<</Title (The \\(short\\) title) /Author <FEFF004A00F600720067> /CreationDate (D:20240229123000+01'00')>>",
		stream("", "BT /F 12 Tf 72 600 Td (More.) Tj ET"))
	d, err := reader(t).Read(context.Background(), body)
	if err != nil {
		t.Fatal(err)
	}
	created := time.Date(2024, 2, 29, 11, 30, 0, 0, time.UTC)
	if d.Title != "The (short) title" || d.Author != "Jörg" || !d.Created.Equal(created) || !d.Modified.IsZero() {
		t.Errorf("title %q, author %q, created %v, modified %v", d.Title, d.Author, d.Created, d.Modified)
	}
	if d.Text != "First page.\nMore.\nMore." || d.Pages != 2 || d.Truncated {
		t.Errorf("%d pages, text %q, truncated %v", d.Pages, d.Text, d.Truncated)
	}
	if len(d.Links) != 1 || d.Links[0] != "http://example.com/a" {
		t.Errorf("links %q", d.Links)
	}
}

// TestHostile: files that need all memory or never end, and broken files, end their process and do no other harm.
func TestHostile(t *testing.T) {
	const catalog = "<</Type /Catalog /Pages 2 0 R>>"
	many := func(s string, n int) io.Reader { return io.LimitReader(&again{s: s}, int64(len(s)*n)) }
	gigabytes := deflate(strings.NewReader("("), many(strings.Repeat("a", 1<<20), 3<<10))
	small := file("", "<</Type /Catalog>>")
	own := stream("/Type /XObject /Subtype /Form /Resources <</XObject <</X 6 0 R>>>>", strings.Repeat("/X Do ", 1000))
	for name, body := range map[string][]byte{
		"no PDF":                  []byte("<html>"),
		"empty":                   nil,
		"cut":                     page(stream("", "BT (x) Tj ET"), "")[:200],
		"a table before itself":   file("/Prev TABLE", catalog, "<</Type /Pages /Kids []>>"),
		"a string of gigabytes":   page(stream("/Filter /FlateDecode", gigabytes), ""),
		"a table of billions":     bytes.Replace(small, []byte("0 2\n"), []byte("4000000000 2\n"), 1),
		"pages within themselves": file("", catalog, "<</Type /Pages /Kids [2 0 R 2 0 R]>>"),
		"parents without end": file("", catalog, "<</Type /Pages /Parent 2 0 R /Kids [3 0 R]>>",
			"<</Type /Page /Parent 2 0 R /Contents 4 0 R>>", stream("", "")),
		"a form in itself": page(stream("", "/X Do"), "", own),
		"arrays in arrays": page(stream("", strings.Repeat("[", 1<<20)), ""),
	} {
		r := reader(t)
		r.Timeout = time.Second
		d, err := r.Read(context.Background(), body)
		if err != nil && !errors.Is(err, pdf.ErrBroken) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && d.Error == "" && !d.Truncated && d.Text != "" {
			t.Errorf("%s: read without an error: %+v", name, d)
		}
	}
}

// again is a reader that repeats a string without end.
type again struct {
	s  string
	at int
}

func (a *again) Read(b []byte) (int, error) {
	n := copy(b, a.s[a.at:])
	a.at = (a.at + n) % len(a.s)
	return n, nil
}

// TestCommand: without a Command, or with one that does not start, the error is not ErrBroken.
func TestCommand(t *testing.T) {
	for _, r := range []*pdf.Reader{{}, {Command: []string{"/nonexistent/program"}}} {
		if _, err := r.Read(context.Background(), []byte("%PDF-1.4")); err == nil || errors.Is(err, pdf.ErrBroken) {
			t.Errorf("%q: %v", r.Command, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := reader(t).Read(ctx, page(stream("", ""), "")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(page(stream("", "BT /F 10 Tf 100 700 Td [(Hel) 20 (lo) -250 (world)] TJ ET"), ""))
	deflated := deflate(strings.NewReader("BT /F 12 Tf 72 720 Td (x) Tj ET"))
	f.Add(page(stream("/Filter /FlateDecode", deflated), "/Annots [<</A <</S /URI /URI (x)>>>>]"))
	r := reader(f)
	r.Timeout = time.Second
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := r.Read(context.Background(), body)
		if err != nil {
			if !errors.Is(err, pdf.ErrBroken) {
				t.Error(err)
			}
			return
		}
		for _, s := range append(d.Links, d.Title, d.Author, d.Subject, d.Keywords, d.Text) {
			if !utf8.ValidString(s) || len(s) > 2<<20 {
				t.Errorf("a string of %d bytes, valid %v", len(s), utf8.ValidString(s))
			}
		}
	})
}

// TestLongLinks: a file with as many and as long links as there may be is read, as far as they are kept.
func TestLongLinks(t *testing.T) {
	link := "<</Subtype /Link /A <</S /URI /URI (http://a.example/?" + strings.Repeat("&a", 2000) + ")>>>>"
	text := stream("", "BT /F 10 Tf 100 700 Td (Hello) Tj ET")
	for n, whole := range map[int]bool{200: true, 2000: false} {
		d, err := reader(t).Read(context.Background(), page(text, "/Annots ["+strings.Repeat(link, n)+"]"))
		if err != nil {
			t.Fatalf("%d links: %v", n, err)
		}
		if d.Text != "Hello" || len(d.Links) < 200 || d.Truncated == whole {
			t.Errorf("%d of %d links, text %q, truncated %t", len(d.Links), n, d.Text, d.Truncated)
		}
	}
}

// TestMarkOfUTF8: texts in UTF-8, as PDF 2.0 permits, are read as such.
func TestMarkOfUTF8(t *testing.T) {
	d := pdf.Extract(file("/Info 3 0 R", "<</Type /Catalog /Pages 2 0 R>>", "<</Type /Pages /Kids [] /Count 0>>",
		"<</Title <EFBBBF4AC3B67267> /Author <EFBBBFFF61> /Subject (J\\366rg)>>"))
	if d.Title != "Jörg" || d.Author != "\ufffda" || d.Subject != "Jörg" {
		t.Errorf("%q, %q, %q", d.Title, d.Author, d.Subject)
	}
}

// TestDates: a date is in UTC, whichever way its zone is written, or without one.
func TestDates(t *testing.T) {
	for zone, hour := range map[string]int{
		"": 12, "Z": 12, "Z00'00'": 12, "Z00'00": 12, "+00'00'": 12, "+01'00'": 11, "-05'30": 18, "+02": 10,
	} {
		d := pdf.Extract(file("/Info 3 0 R", "<</Type /Catalog /Pages 2 0 R>>",
			"<</Type /Pages /Kids [] /Count 0>>", "<</CreationDate (D:20240229123000"+zone+")>>"))
		if d.Created.Day() != 29 || d.Created.Hour() != hour || d.Created.Location() != time.UTC {
			t.Errorf("%q: %v, want %d h", zone, d.Created, hour)
		}
	}
}

// TestLongTitle: a title is cut between characters.
func TestLongTitle(t *testing.T) {
	title := "<FEFF" + strings.Repeat("7DB2", 3000) + ">"
	d := pdf.Extract(file("/Info 3 0 R", "<</Type /Catalog /Pages 2 0 R>>", "<</Type /Pages /Kids [] /Count 0>>",
		"<</Title "+title+">>"))
	if !utf8.ValidString(d.Title) || len(d.Title) < 4000 || strings.Trim(d.Title, "網") != "" {
		t.Errorf("%d bytes, valid %t: %.20q…", len(d.Title), utf8.ValidString(d.Title), d.Title)
	}
}
