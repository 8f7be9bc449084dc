// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// ErrUnsupported is returned for media types that no parser takes: such pages are stored, not
// parsed.
var ErrUnsupported = errors.New("media type is not parsed")

// Input is what there is to parse.
type Input struct {
	URL         urlkey.URL
	ContentType string   // of the response, "" when absent
	RobotsTag   []string // X-Robots-Tag values
	Agent       string   // product token of the crawler, for directives addressed to it
	Body        []byte   // content-decoded; not written to
	Truncated   bool
}

// Parser reads one kind of media. It fills page, which has been reset and has its media type.
type Parser interface {
	Parse(in *Input, page *Page) error
}

// ParserFunc makes a function a Parser.
type ParserFunc func(in *Input, page *Page) error

// Parse calls f.
func (f ParserFunc) Parse(in *Input, page *Page) error { return f(in, page) }

// Filter changes a page after it was parsed (Nutch: HtmlParseFilter). An error makes the page
// parse_failed.
type Filter interface {
	Filter(in *Input, page *Page) error
}

// Signer computes the exact signature of a page's content.
type Signer interface {
	Sign(in *Input, page *Page) Signature
}

// SignerFunc makes a function a Signer.
type SignerFunc func(in *Input, page *Page) Signature

// Sign calls f.
func (f SignerFunc) Sign(in *Input, page *Page) Signature { return f(in, page) }

// Options of Parsers.
type Options struct {
	// Parsers adds or replaces parsers by media type, such as "application/pdf".
	Parsers map[string]Parser
	Filters []Filter
	Signer  Signer // nil: TextSignature
}

// Parsers chooses a parser by media type. It is safe for concurrent use.
type Parsers struct {
	o  Options
	by map[string]Parser
}

// New returns the parsers for HTML, XHTML and plain text, with the caller's own.
func New(o Options) *Parsers {
	p := &Parsers{o: o, by: map[string]Parser{"text/html": ParserFunc(parseHTML), "application/xhtml+xml": ParserFunc(parseHTML), "text/plain": ParserFunc(parsePlain)}}
	for t, parser := range o.Parsers {
		p.by[strings.ToLower(t)] = parser
	}
	if p.o.Signer == nil {
		p.o.Signer = SignerFunc(TextSignature)
	}
	return p
}

// Parse resets page and fills it. A page of a type without parser has its media type and signature
// and nothing else, and the error is ErrUnsupported.
func (p *Parsers) Parse(in *Input, page *Page) error {
	page.reset(in)
	page.MediaType = mediaType(in)
	page.robotsTags(in)
	parser := p.by[page.MediaType]
	if parser == nil {
		page.Signature = rawSignature(in.Body)
		return fmt.Errorf("%w: %q", ErrUnsupported, page.MediaType)
	}
	if err := parser.Parse(in, page); err != nil {
		return fmt.Errorf("parsing %s: %w", in.URL, err)
	}
	page.Signature = p.o.Signer.Sign(in, page)
	for _, f := range p.o.Filters {
		if err := f.Filter(in, page); err != nil {
			return fmt.Errorf("parsing %s: filter: %w", in.URL, err)
		}
	}
	return nil
}

// TextSignature is xxh3-128 over title and text, so that pages that differ in markup alone are
// equal; pages of hardly any text are compared by their bytes.
func TextSignature(in *Input, page *Page) Signature {
	if len(page.Text) < shortText {
		return rawSignature(in.Body)
	}
	h := xxh3.New()
	h.WriteString(page.Title)
	h.Write([]byte{0})
	h.Write(page.Text)
	return Signature(h.Sum128().Bytes())
}

func rawSignature(body []byte) Signature { return Signature(xxh3.Hash128(body).Bytes()) }
