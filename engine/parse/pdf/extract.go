// SPDX-License-Identifier: Apache-2.0

package pdf

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	lib "github.com/ledongthuc/pdf"
)

// Bounds of what is read from one file.
const (
	maxPages   = 10_000
	maxDepth   = 32 // of the tree of pages
	maxForms   = 4  // of drawings in drawings
	maxLinks   = 2_000
	maxText    = 1 << 20 // bytes
	maxStrings = 4 << 10 // bytes of a title, an author, a link
)

// Document is what is read from a PDF file. Strings are valid UTF-8.
type Document struct {
	Title, Author, Subject, Keywords string
	Created, Modified                time.Time // zero where the file does not say
	Text                             string    // lines of a paragraph are joined; paragraphs stand on lines of their own
	Links                            []string  // addresses, as written
	Pages                            int
	Truncated                        bool   // there was more than is read
	Error                            string // why nothing, or no more, could be read
}

// Extract reads a file. It changes body. The library that it calls may take any amount of memory and time for a file
// that was made for that: only a process that is bounded in both should call it, as Serve's is.
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
	if len(body) > 8 { // what the library reads of files of later versions is as it was in 1.7
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

// info reads what the file says of itself.
func (d *Document) info(info lib.Value) {
	defer func() { _ = recover() }() // a broken dictionary is no reason not to read the text
	text := func(key string) string {
		s := strings.ToValidUTF8(info.Key(key).Text(), "\ufffd")
		return strings.TrimSpace(s[:min(len(s), maxStrings)])
	}
	d.Title, d.Author, d.Subject, d.Keywords = text("Title"), text("Author"), text("Subject"), text("Keywords")
	d.Created, d.Modified = date(text("CreationDate")), date(text("ModDate"))
}

// date reads "D:20240229123000+01'00'", of which all behind the year may be missing.
func date(s string) time.Time {
	s = strings.TrimSuffix(strings.ReplaceAll(strings.TrimPrefix(s, "D:"), "'", ""), "Z")
	for _, layout := range [...]string{"20060102150405-0700", "20060102150405-07", "20060102150405", "200601021504", "20060102", "200601", "2006"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// extraction is the reading of one file's pages.
type extraction struct {
	d   *Document
	out []byte
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

// page reads one page. What is broken in it ends it, not the file.
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
		if len(x.d.Links) == maxLinks || len(uri) > maxStrings {
			x.d.Truncated = true
			continue
		}
		x.d.Links = append(x.d.Links, strings.ToValidUTF8(uri, "\ufffd"))
	}
}
