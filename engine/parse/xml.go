// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/xml"
)

// parseXML is the Parser for XML. The root element shows whether it is a sitemap, a sitemap index or a feed. All three
// lead to pages but are not pages: their links are read, and they are not indexed. Other XML is not parsed.
func parseXML(in *Input, page *Page) error {
	w := xmlWalk{page: page, fields: map[string]string{}}
	if isXMLSitemap(in.Body) && (in.More != nil || len(in.Body) > sitemapPart) {
		return w.parts(in)
	}
	page.Truncated = in.More != nil
	return w.run(in)
}

// parseGzip is the Parser for gzip files. On the web, gzip files of XML, or of nothing but URLs, are sitemaps. Others
// are not parsed.
func parseGzip(in *Input, page *Page) error {
	z, err := gzip.NewReader(in.all())
	if err != nil {
		return fmt.Errorf("%w: %q", ErrUnsupported, page.MediaType)
	}
	head := make([]byte, rootSearched)
	n, _ := io.ReadFull(z, head)
	head = head[:n]
	isXML := bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"), []byte("<"))
	if !isXML && !isTextSitemap(head, len(head) < rootSearched) {
		return fmt.Errorf("%w: %q", ErrUnsupported, page.MediaType)
	}
	inner := *in
	inner.Body, err = io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(head), z), sitemapPart))
	inner.ContentType, inner.More = typeXML, nil
	if err == nil && len(inner.Body) == sitemapPart {
		inner.More = z
	}
	inner.Truncated = in.Truncated || err != nil || inner.More != nil
	damaged := err != nil
	switch {
	case isXML:
		err = parseXML(&inner, page)
	case isTextSitemap(inner.Body, !inner.Truncated):
		inner.ContentType = typePlain
		err = parsePlain(&inner, page)
	default:
		return fmt.Errorf("%w: %q", ErrUnsupported, page.MediaType)
	}
	page.Truncated = page.Truncated || damaged
	return err
}

// IsSitemap reports whether what a body begins with is a sitemap or a sitemap index, a gzip file of one, or a sitemap
// in plain text.
func IsSitemap(start []byte) bool {
	start = unzipped(start)
	return isXMLSitemap(start) || isTextSitemap(start, false)
}

// isTextSitemap reports whether a text is a sitemap in plain text. Unless it is whole, its last line may be a part.
func isTextSitemap(text []byte, whole bool) bool {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !whole {
		text = wholeLines(text)
	}
	return isURLList(text)
}

// unzipped is what a body begins with; of a gzip file, what its content does.
func unzipped(start []byte) []byte {
	if !isGzip(start) {
		return start
	}
	z, err := gzip.NewReader(bytes.NewReader(start))
	if err != nil {
		return nil
	}
	head := make([]byte, rootSearched)
	n, _ := io.ReadFull(z, head) // it may be a part of the file
	return head[:n]
}

func isXMLSitemap(start []byte) bool {
	root := string(rootOf(start))
	return root == "urlset" || root == "sitemapindex"
}

// decodeXML is decode with the charset of the XML declaration.
func decodeXML(in *Input) decoded {
	own := *in
	if charsetParameter(in.ContentType) == "" {
		head := in.Body[:min(len(in.Body), prescanned)]
		if bytes.HasPrefix(head, []byte("<?xml")) {
			if end := bytes.Index(head, []byte("?>")); end > 0 {
				head = head[:end]
			}
			if _, rest, ok := bytes.Cut(head, []byte("encoding")); ok {
				rest = bytes.TrimLeft(rest, " \t\r\n=")
				if len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'') {
					label, _, _ := bytes.Cut(rest[1:], rest[:1])
					own.ContentType = typeXML + ";charset=" + readable(string(label))
				}
			}
		}
	}
	return decode(nil, &own, false)
}

// readable is the label of a declaration that was read as ASCII: one that says UTF-16, as programs write that made the
// text in memory first, is wrong. HTML has the same rule.
func readable(label string) string {
	switch canonicalLabel(label) {
	case "utf-16le", "utf-16be":
		return charsetUTF8
	}
	return label
}

// xmlWalk is one pass over the elements of an XML document.
type xmlWalk struct {
	page  *Page
	lexer *xml.Lexer

	handle  func(*xmlWalk, string) // handles an element's end, by the root's kind
	text    []byte                 // of the current element
	attrs   []attribute            // of the element that began last
	fields  map[string]string      // of the current entry
	inEntry bool
	feed    bool   // the root is one's
	whole   string // the element of a feed, "" outside of one, whose text is that of all elements in it
	markup  bool   // the text of the title is HTML
}

// maxField bounds the text of one element of an entry, in bytes.
const maxField = 16 << 10

var errNoRoot = errors.New("no root element")

// parts is run for a long sitemap. It parses it in parts, which end with an entry, so that it need not be in memory as
// a whole. Without such an end in a part, as in UTF-16, the rest is not read.
func (w *xmlWalk) parts(in *Input) error {
	from := &io.LimitedReader{R: in.all(), N: MaxSitemapBytes + 1}
	part := *in
	buf, held := make([]byte, sitemapPart), 0
	for {
		var err error
		for err == nil && held < len(buf) {
			var n int
			n, err = from.Read(buf[held:])
			held += n
		}
		whole := err == io.EOF && from.N > 0
		text := buf[:held]
		if !whole {
			text = text[:entriesEnd(text)]
		}
		part.Body, part.Truncated = text, !whole
		if failed := w.run(&part); failed != nil || whole {
			return failed
		}
		if err != nil || len(text) == 0 || w.page.Truncated {
			w.page.Truncated = true
			return nil
		}
		part.ContentType = typeXML + ";charset=" + w.page.Charset
		held = copy(buf, buf[len(text):held])
	}
}

// entriesEnd returns the end of the last entry in a part of a sitemap, 0 if there is none.
func entriesEnd(text []byte) (end int) {
	for _, tag := range [...]string{"url>", "sitemap>"} { // some have a prefix
		if at := bytes.LastIndex(text, []byte(tag)); at >= 0 {
			end = max(end, at+len(tag))
		}
	}
	return end
}

// run walks over a document, or a part of it.
func (w *xmlWalk) run(in *Input) error {
	d := decodeXML(in)
	w.page.Charset, w.page.Truncated = d.charset, w.page.Truncated || d.cut
	n := len(d.text)
	src := append(d.text[:n:n], 0)[:n] // a copy that the lexer may write to, with room for its end mark
	w.lexer = xml.NewLexer(parse.NewInputBytes(src))
	for {
		kind, data := w.lexer.Next()
		switch kind {
		case xml.ErrorToken:
			if err := w.lexer.Err(); err != io.EOF {
				w.page.Truncated = true // keep what was read before the error
			}
			if w.handle == nil {
				return fmt.Errorf("%w: XML has %w", ErrUnsupported, errNoRoot)
			}
			return nil
		case xml.StartTagToken:
			name := localName(w.lexer.Text())
			closed := w.readAttributes()
			if err := w.start(name); err != nil {
				return err
			}
			if closed {
				w.end(name)
			}
		case xml.EndTagToken:
			w.end(localName(w.lexer.Text()))
		case xml.TextToken:
			w.add(resolved(string(data[:min(len(data), maxField)])))
		case xml.CDATAToken:
			w.add(string(w.lexer.Text()))
		}
	}
}

func (w *xmlWalk) add(s string) {
	w.text = append(w.text, s[:min(len(s), max(maxField-len(w.text), 0))]...)
}

// readAttributes reads the rest of a start tag. closed reports an empty element ("<a/>").
func (w *xmlWalk) readAttributes() (closed bool) {
	w.attrs = w.attrs[:0]
	for {
		switch kind, _ := w.lexer.Next(); kind {
		case xml.AttributeToken:
			if len(w.attrs) < maxAttributes {
				value := w.lexer.AttrVal()
				if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') {
					value = value[1 : n-1]
				}
				w.attrs = append(w.attrs, attribute{w.lexer.Text(), value})
			}
		case xml.StartTagCloseVoidToken:
			return true
		default:
			return false
		}
	}
}

func (w *xmlWalk) attr(name string) string {
	for _, a := range w.attrs {
		if string(a.name) == name {
			return resolved(string(a.value))
		}
	}
	return ""
}

// resolved is a text with its references resolved, those of HTML too. In XML each ends with a semicolon: "&section=2"
// is what a program wrote that does not escape its URLs, and no section sign.
func resolved(s string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(s, '&')
		if at < 0 {
			break
		}
		n := 1
		for n < len(s)-at && n < maxCharacterReference && (isAlnum(s[at+n]) || s[at+n] == '#') {
			n++
		}
		b.WriteString(s[:at])
		if n < len(s)-at && s[at+n] == ';' {
			b.WriteString(html.UnescapeString(s[at : at+n+1]))
			n++
		} else {
			b.WriteString(s[at : at+n])
		}
		s = s[at+n:]
	}
	b.WriteString(s)
	return b.String()
}

// end ends an element.
func (w *xmlWalk) end(name string) {
	if w.whole != "" && w.whole != name && !isEntry(name) {
		return
	}
	w.whole = ""
	if w.handle != nil {
		w.handle(w, name)
	}
	w.text = w.text[:0]
}

// start begins an element. The first is the root.
func (w *xmlWalk) start(name string) error {
	if w.whole != "" && !isEntry(name) {
		return nil
	}
	w.text, w.whole = w.text[:0], ""
	if w.handle != nil {
		if w.feed && feedWhole(name) {
			w.whole = name
			w.markup = w.attr("type") == "html" || w.attr("type") == "text/html"
		}
		switch name {
		case "item", "entry", "url", "sitemap":
			clear(w.fields) // drop the fields of the feed itself
			w.inEntry = true
		case "link":
			w.atomLink()
		case "guid":
			if w.attr("isPermaLink") != "false" {
				w.fields["permalink"] = "yes"
			}
		}
		return nil
	}
	switch name {
	case "urlset", "sitemapindex":
		w.handle = (*xmlWalk).sitemapEnd
		w.page.limit = MaxSitemapLinks
	case "rss", "RDF", "feed":
		w.handle, w.feed = (*xmlWalk).feedEnd, true
	default:
		return fmt.Errorf("%w: XML has root element %.40q", ErrUnsupported, name)
	}
	w.page.Robots.NoIndex = true
	if base := w.attr("xml:base"); base != "" {
		if u, err := w.page.URL.Resolve(base); err == nil {
			w.page.Base = u
		}
	}
	return nil
}

// localName returns an element's name without prefix. It keeps the prefixes whose elements have the same local names
// with another meaning.
func localName(name []byte) string {
	if i := bytes.IndexByte(name, ':'); i > 0 {
		switch prefix := string(name[:i]); prefix {
		case "image", "video", "news", "media", "itunes", "xhtml":
			return prefix + ":" + string(name[i+1:])
		}
		name = name[i+1:]
	}
	return string(name)
}

// field notes the text of an element. The first element of a name in an entry counts.
func (w *xmlWalk) field(name string) {
	if _, known := w.fields[name]; !known {
		w.fields[name] = strings.TrimSpace(string(w.text))
	}
}
