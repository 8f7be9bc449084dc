// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// ErrUnsupported is returned for media types that no parser takes: such pages are stored, not
// parsed.
var ErrUnsupported = errors.New("media type is not parsed")

// Input is what there is to parse. Parsers only read it.
type Input struct {
	URL             urlkey.URL
	ContentType     string   // of the response, "" when absent
	ContentLanguage string   // of the response, "" when absent
	RobotsTag       []string // X-Robots-Tag values, one per header line
	Agent           string   // product token of the crawler, for directives addressed to it
	Body            []byte   // content-decoded
	Truncated       bool     // the fetcher cut the body
}

// Parser reads one kind of media. Parse fills page, which has been reset and has its URL, Base,
// MediaType and the header's Robots; it may be called from many goroutines at once, for different
// pages. It must keep Page's promises (valid UTF-8, links through AddLink) and take time linear in
// the input. An error makes the page parse_failed.
type Parser interface {
	Parse(in *Input, page *Page) error
}

// ParserFunc makes a function a Parser.
type ParserFunc func(in *Input, page *Page) error

// Parse calls f.
func (f ParserFunc) Parse(in *Input, page *Page) error { return f(in, page) }

// Filter changes a page after it was parsed and before it is signed (Nutch: HtmlParseFilter).
// Filters run in the order of Options.Filters, concurrently for different pages. An error makes
// the page parse_failed.
type Filter interface {
	Filter(in *Input, page *Page) error
}

// FilterFunc makes a function a Filter.
type FilterFunc func(in *Input, page *Page) error

// Filter calls f.
func (f FilterFunc) Filter(in *Input, page *Page) error { return f(in, page) }

// Signer computes the exact signature of a page's content. Equal content must give equal
// signatures for ever: signatures are compared with stored ones.
type Signer interface {
	Sign(in *Input, page *Page) Signature
}

// SignerFunc makes a function a Signer.
type SignerFunc func(in *Input, page *Page) Signature

// Sign calls f.
func (f SignerFunc) Sign(in *Input, page *Page) Signature { return f(in, page) }

// Options of Parsers. The zero value parses HTML, XHTML, plain text, sitemaps and feeds.
type Options struct {
	// Parsers adds or replaces parsers by media type in lower case, such as "application/pdf".
	// A nil Parser switches a type off.
	Parsers map[string]Parser
	// Filters run in order after the parser.
	Filters []Filter
	// Signer; nil means ContentSignature. TextSignature, BytesSignature, RawSignature and
	// TextProfileSignature are the others here.
	Signer Signer
	// Requisites asks for links to what HTML pages are shown with (pictures of any size, scripts, style sheets), for
	// archives; Forms for where forms lead that only ask.
	Requisites, Forms bool
	// SimHash asks for the pages' fingerprints. They cost a third of what all else of parsing does.
	SimHash bool
	// Now tells whether a page's unavailable_after has passed; nil means time.Now.
	Now func() time.Time
}

// Parsers chooses a parser by media type. It is immutable and safe for concurrent use.
type Parsers struct {
	o  Options
	by map[string]Parser
}

// New returns the parsers for HTML, XHTML, plain text, sitemaps and feeds, with the caller's own.
func New(o Options) *Parsers {
	p := &Parsers{o: o, by: map[string]Parser{
		typeHTML:  htmlParser{o.Requisites, o.Forms},
		typeXHTML: htmlParser{o.Requisites, o.Forms},
		typePlain: ParserFunc(parsePlain),
		typeXML:   ParserFunc(parseXML), "application/rss+xml": ParserFunc(parseXML), "application/atom+xml": ParserFunc(parseXML), "application/rdf+xml": ParserFunc(parseXML),
		"application/gzip": ParserFunc(parseGzip), "application/x-gzip": ParserFunc(parseGzip), "application/feed+json": ParserFunc(parseJSONFeed),
	}}
	maps.Copy(p.by, o.Parsers)
	if p.o.Signer == nil {
		p.o.Signer = SignerFunc(ContentSignature)
	}
	if p.o.Now == nil {
		p.o.Now = time.Now
	}
	return p
}

// Parse resets page and fills it: header's robots directives, parser, filters, signature and
// fingerprint. A page of a type without parser has its media type, the header's robots directives
// and the signature of its bytes, and the error is ErrUnsupported. After any other error the page
// holds what was found until then and the signature of its bytes.
func (p *Parsers) Parse(in *Input, page *Page) error {
	page.reset(in)
	page.MediaType = mediaType(in)
	for _, value := range in.RobotsTag {
		page.Robots.addTag(value, in.Agent)
	}
	parser := p.by[page.MediaType]
	if parser == nil {
		page.Signature = bodySignature(in.Body)
		return fmt.Errorf("%w: %q", ErrUnsupported, page.MediaType)
	}
	if err := p.run(parser, in, page); err != nil {
		page.Signature = bodySignature(in.Body)
		return err
	}
	if r := &page.Robots; !r.UnavailableAfter.IsZero() && r.UnavailableAfter.Before(p.o.Now()) {
		r.NoIndex = true
	}
	page.Signature = p.o.Signer.Sign(in, page)
	if p.o.SimHash {
		if page.content = page.AppendContent(page.content[:0]); len(page.content) == 0 {
			page.content = append(page.content, page.Text...)
		}
		page.SimHash = simHash(page.content)
	}
	return nil
}

func (p *Parsers) run(parser Parser, in *Input, page *Page) error {
	if err := parser.Parse(in, page); err != nil {
		return fmt.Errorf("parsing %s as %s: %w", in.URL, page.MediaType, err)
	}
	if page.Languages.Declared == "" {
		page.Languages.Declared = declaredLanguage(in.ContentLanguage)
	}
	page.Language = page.Languages.decide(page.detectLanguage())
	for i, f := range p.o.Filters {
		if err := f.Filter(in, page); err != nil {
			return fmt.Errorf("parsing %s: filter %d of %d: %w", in.URL, i+1, len(p.o.Filters), err)
		}
	}
	return nil
}

// isToken compares a name with the crawler's product token; an empty token matches nothing.
func isToken(name, agent string) bool {
	return agent != "" && strings.EqualFold(name, agent)
}
