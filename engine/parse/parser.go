// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// ErrUnsupported is wrapped by Parse's error where no parser reads the body: its media type has none, or the parser
// for the type finds a format that it does not read (XML that is not a feed, a broken PDF file). Such pages are stored,
// not parsed.
var ErrUnsupported = errors.New("media type is not parsed")

// Input is one document to parse. It belongs to the caller: parsers, filters and signers may only read it, and
// must not keep the Input, its slices or Body (the caller reuses their memory) after they return.
type Input struct {
	URL             urlkey.URL // of the response; relative links are resolved against it
	ContentType     string     // one value of the response header; "" when absent
	ContentLanguage string     // value of the response header; "" when absent
	Refresh         string     // value of the response header, which means what a meta refresh does; "" when absent
	RobotsTag       []string   // X-Robots-Tag values, one per header line
	Link            []string   // Link values, likewise
	Agent           string     // product token of the crawler, for directives addressed to it; "" matches none
	Body            []byte     // after content decoding (gzip, br, …), in its own charset
	Truncated       bool       // the fetcher cut the body
	// More, if not nil, is what follows Body. It is there for sitemaps, which may be longer than other bodies; other
	// parsers need not read it.
	More io.Reader
}

// all returns a reader of the whole body.
func (in *Input) all() io.Reader {
	if in.More == nil {
		return bytes.NewReader(in.Body)
	}
	return io.MultiReader(bytes.NewReader(in.Body), in.More)
}

// Parser reads one media type.
//
// Parse fills page. Before the call, page has been reset and has URL, Base, MediaType and the Robots directives of the
// header. Parse must keep the promises of Page: valid UTF-8 without control characters, links added with AddLink. It
// must take time linear in the input. It may append to page.Text, page.Blocks and page.Outlinks, whose memory belongs
// to page. It must keep neither in nor page after it returns.
//
// Parse runs on the goroutine that called Parsers.Parse, and concurrently with itself for other pages. Its error is
// returned to that caller, wrapped with URL and media type: an error that wraps ErrUnsupported means a format that is
// not read, any other makes the page parse_failed. A panic is not recovered.
type Parser interface {
	Parse(in *Input, page *Page) error
}

// ParserFunc makes a function a Parser. The function must be safe for concurrent use.
type ParserFunc func(in *Input, page *Page) error

// Parse calls f.
func (f ParserFunc) Parse(in *Input, page *Page) error { return f(in, page) }

// Filter changes a page after it is parsed and its language is chosen, and before it is signed (Nutch:
// HtmlParseFilter). It may change any exported field of page and must keep the promises of Page. One that changes the
// length of Text may leave Blocks, Headings and NoSnippet as they are: then all of Text is content, it has no headings,
// and if any of it must not appear in snippets, nothing does.
//
// The Filters of Options run one after another, in their order, on the goroutine that called Parsers.Parse, and
// concurrently with themselves for other pages. They do not run for a page whose parser failed. The first error
// ends the chain: Parse returns it, wrapped with URL and the filter's place, and the page is parse_failed (not parsed,
// if the error wraps ErrUnsupported). A Filter must keep neither in nor page, nor slices of page, after it returns;
// page's strings and URLs may be kept. A panic is not recovered.
type Filter interface {
	Filter(in *Input, page *Page) error
}

// FilterFunc makes a function a Filter. The function must be safe for concurrent use.
type FilterFunc func(in *Input, page *Page) error

// Filter calls f.
func (f FilterFunc) Filter(in *Input, page *Page) error { return f(in, page) }

// Signer computes the exact signature of a page's content. Pages with equal signatures are duplicates.
// Signatures are stored, so equal content must give equal signatures in every run and every version of a program.
//
// Sign runs once for each page that was parsed without error, after the Filters, on the goroutine that called
// Parsers.Parse, and concurrently with itself for other pages. It must change neither in nor page, and keep neither.
// All other pages are signed by their bytes (see BytesSignature).
type Signer interface {
	Sign(in *Input, page *Page) Signature
}

// SignerFunc makes a function a Signer. The function must be safe for concurrent use.
type SignerFunc func(in *Input, page *Page) Signature

// Sign calls f.
func (f SignerFunc) Sign(in *Input, page *Page) Signature { return f(in, page) }

// Options configures Parsers. The zero value parses HTML, XHTML, plain text, sitemaps and feeds.
type Options struct {
	// Parsers adds or replaces parsers by media type, without parameters and in any case: "application/pdf".
	// A nil Parser disables a type. New copies the map.
	Parsers map[string]Parser
	// Filters run in this order after the parser; nil means none. The slice must not change after New.
	Filters []Filter
	// Signer signs parsed pages; nil means ContentSignature. The others here are TextSignature, BytesSignature,
	// RawSignature and TextProfileSignature.
	Signer Signer
	// Requisites adds links to what HTML pages are displayed with (images of any size, scripts, style sheets), for
	// archives: LinkRequisite. Forms adds the targets of forms with method GET: LinkForm. Default for both: false.
	Requisites, Forms bool
	// Now returns the current time, to decide whether a page's unavailable_after has passed. It is called
	// concurrently. nil means time.Now.
	Now func() time.Time
}

// Parsers chooses a parser by media type and runs it, the filters and the signer. It is immutable and safe for
// concurrent use. New makes it; the zero value is not usable.
type Parsers struct {
	o  Options
	by map[string]Parser
}

// New returns the parsers for HTML, XHTML, plain text, sitemaps and feeds, together with those of o.
func New(o Options) *Parsers {
	markup := htmlParser{o.Requisites, o.Forms}
	p := &Parsers{o: o, by: map[string]Parser{
		typeHTML:                markup,
		typeXHTML:               markup,
		typePlain:               ParserFunc(parsePlain),
		typeXML:                 ParserFunc(parseXML),
		typeRSS:                 ParserFunc(parseXML),
		typeAtom:                ParserFunc(parseXML),
		typeRDF:                 ParserFunc(parseXML),
		typeGzip:                ParserFunc(parseGzip),
		"application/x-gzip":    ParserFunc(parseGzip),
		"application/feed+json": ParserFunc(parseJSONFeed),
	}}
	for mediaType, parser := range o.Parsers {
		p.by[strings.ToLower(mediaType)] = parser
	}
	if p.o.Signer == nil {
		p.o.Signer = SignerFunc(ContentSignature)
	}
	if p.o.Now == nil {
		p.o.Now = time.Now
	}
	return p
}

// Parse resets page and fills it: robots directives and refresh of the header, parser, language, filters, signature,
// fingerprint.
//
// For a media type without parser the error wraps ErrUnsupported, and page has its media type, the header's robots
// directives and the signature of its bytes. After any other error page holds what was found before the error,
// and the signature of its bytes. Parse only reads in. It may be called concurrently, for different pages.
func (p *Parsers) Parse(in *Input, page *Page) error {
	page.reset(in)
	page.MediaType = mediaType(in)
	for _, value := range in.RobotsTag {
		page.Robots.addTag(value, in.Agent)
	}
	page.refreshTo(in.Refresh)
	for _, value := range in.Link {
		page.linkTo(value)
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
	page.SimHash = simHash(page.Text, page.Blocks, &page.shingles)
	return nil
}

func (p *Parsers) run(parser Parser, in *Input, page *Page) error {
	if err := parser.Parse(in, page); err != nil {
		return fmt.Errorf("parsing %s as %s: %w", in.URL, page.MediaType, err)
	}
	page.fit(page.extent())
	if page.Languages.Declared == "" {
		page.Languages.Declared = declaredLanguage(in.ContentLanguage)
	}
	page.Language = page.Languages.decide(page.detectLanguage())
	for i, f := range p.o.Filters {
		was := page.extent()
		if err := f.Filter(in, page); err != nil {
			return fmt.Errorf("parsing %s: filter %d of %d: %w", in.URL, i+1, len(p.o.Filters), err)
		}
		page.fit(was)
	}
	return nil
}

// isToken compares a name with the crawler's product token, ignoring case; an empty token matches nothing. What may
// follow the token in the name is a number or a version ("otherbot2", "otherbot/2.1"): as in robots.txt, it is not
// compared.
func isToken(name, agent string) bool {
	n := len(agent)
	if n == 0 || len(name) < n || !strings.EqualFold(name[:n], agent) {
		return false
	}
	return len(name) == n || name[n] == '/' || isDigit(name[n])
}
