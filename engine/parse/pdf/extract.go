// SPDX-License-Identifier: Apache-2.0

package pdf

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	lib "github.com/ledongthuc/pdf"
)

// Bounds of one file.
const (
	maxPages   = 10_000
	maxDepth   = 32 // levels of the page tree
	maxForms   = 4  // levels of nested form XObjects
	maxLinks   = 2_000
	maxText    = 1 << 20 // bytes, and of all links together
	maxStrings = 4 << 10 // bytes of a title, author, subject, keywords or link
)

// Document is the content of a PDF file. All strings are valid UTF-8.
type Document struct {
	Title, Author, Subject, Keywords string    // from the file's Info dictionary; "" when absent; at most 4 KiB each
	Created, Modified                time.Time // from the Info dictionary, in UTC; zero when absent
	Text                             string    // one line per paragraph, a new line per page; at most about 1 MiB
	Links                            []string  // URI actions of annotations, as written, at most 2,000 and 1 MiB
	Pages                            int       // number of pages read
	Truncated                        bool      // the file has more than was read
	Error                            string    // why nothing, or not all, could be read; "" if nothing is wrong
}

// Extract reads a file. It never fails: Document.Error says what went wrong. It changes body, and does not keep it.
//
// A malicious file can make the library that Extract calls take any amount of memory and time. Call it only in a
// process that is bounded in both, as Serve's is. It may be called concurrently, for different bodies.
func Extract(body []byte) (d Document) {
	defer func() {
		if x := recover(); x != nil {
			d.Error = fmt.Sprintf("broken: %.200v", x)
		}
	}()
	at := bytes.Index(body[:min(len(body), 1024)], []byte("%PDF-"))
	if at < 0 {
		d.Error = "no PDF header in the first 1,024 bytes"
		return d
	}
	body = body[at:]
	if len(body) > 8 { // the library refuses later versions, but what it reads is unchanged since 1.7
		copy(body[5:], "1.7\n")
	}
	if end := bytes.LastIndex(body, []byte("%%EOF")); end >= 0 {
		body = body[:end+len("%%EOF")]
	}
	r, err := lib.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		d.Error = err.Error()
		return d
	}
	d.info(r.Trailer().Key("Info"))
	x := extraction{d: &d}
	x.tree(r.Trailer().Key("Root").Key("Pages"), 0)
	d.Text = string(x.out)
	return d
}

// info reads the file's Info dictionary.
func (d *Document) info(info lib.Value) {
	defer func() { _ = recover() }() // the text is readable even if the dictionary is broken
	text := func(key string) string {
		s, isUTF8 := strings.CutPrefix(info.Key(key).RawString(), "\ufeff") // since PDF 2.0
		if !isUTF8 {
			s = info.Key(key).Text()
		}
		s = strings.ToValidUTF8(s, "\ufffd")
		s = strings.ToValidUTF8(s[:min(len(s), maxStrings)], "") // without a part of a character at the end
		return strings.TrimSpace(s)
	}
	d.Title, d.Author, d.Subject, d.Keywords = text("Title"), text("Author"), text("Subject"), text("Keywords")
	d.Created, d.Modified = date(text("CreationDate")), date(text("ModDate"))
}

var dateLayouts = [...]string{
	"20060102150405-0700", "20060102150405-07", "20060102150405", "200601021504", "20060102", "200601", "2006",
}

// date parses "D:20240229123000+01'00'". Everything after the year may be missing, and Z stands for UTC, also with an
// offset of nothing behind it ("Z00'00'", as macOS writes). The zero time means no date.
func date(s string) time.Time {
	s, _, _ = strings.Cut(strings.ReplaceAll(strings.TrimPrefix(s, "D:"), "'", ""), "Z")
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// extraction is the state while the pages of one file are read.
type extraction struct {
	d      *Document
	out    []byte
	linked int // bytes of links
}

func (x *extraction) full() bool { return len(x.out) >= maxText || x.d.Pages >= maxPages }

// tree reads the pages below a node, in order.
func (x *extraction) tree(node lib.Value, depth int) {
	if depth > maxDepth {
		x.d.Truncated = true
		return
	}
	if node.Key("Kids").Kind() != lib.Array {
		if node.Kind() == lib.Dict {
			x.page(node)
		}
		return
	}
	kids := node.Key("Kids")
	for i := range kids.Len() {
		if x.full() {
			x.d.Truncated = true
			return
		}
		x.tree(kids.Index(i), depth+1)
	}
}

// page reads one page. An error in the page ends the page, not the file.
func (x *extraction) page(v lib.Value) {
	x.d.Pages++
	defer func() {
		if e := recover(); e != nil {
			x.d.Truncated, x.d.Error = true, fmt.Sprintf("page %d: %.200v", x.d.Pages, e)
		}
	}()
	x.links(v.Key("Annots"))
	if len(x.out) > 0 {
		x.out = append(x.out, '\n')
	}
	c := canvas{x: x, fonts: map[string]*font{}}
	c.draw(v.Key("Contents"), lib.Page{V: v}.Resources(), 0)
}

func (x *extraction) links(annotations lib.Value) {
	for i := range annotations.Len() {
		a := annotations.Index(i).Key("A")
		uri := a.Key("URI").RawString()
		if a.Key("S").Name() != "URI" || uri == "" {
			continue
		}
		if x.linked+len(uri) > maxText || len(x.d.Links) == maxLinks || len(uri) > maxStrings {
			x.d.Truncated = true
			continue
		}
		x.linked += len(uri)
		x.d.Links = append(x.d.Links, strings.ToValidUTF8(uri, "\ufffd"))
	}
}
