// SPDX-License-Identifier: Apache-2.0

// Page types (JSON-LD, OpenGraph) as features of the content model. (parse/facts.go reads author, dates and other facts
// for readers.)

package content

import (
	"bytes"
	"strings"
)

// facts are the page types that a page declares. Its URL is not a feature: a page at two URLs must have the same
// content, by which the two are recognised as duplicates. (A model with words and depth of paths as features was
// no better on unseen pages: F1 .798, without them .800.)
type facts struct {
	types [len(pageTypes)]bool
}

// pageTypes are values of @type in JSON-LD, followed by prefixes of og:type from firstOpenGraph on.
var pageTypes = [...]string{
	"Product", "Article", "NewsArticle", "BlogPosting", "DiscussionForumPosting", "QAPage", "ItemList",
	"CollectionPage", "BreadcrumbList", "FAQPage", "WebPage", "Organization", "LocalBusiness", "Offer", "Review",
	"Question", "TechArticle", "Person", "VideoObject",
	"product", "article", "website",
}

const firstOpenGraph = 19

// Type notes a value of @type in the page's JSON-LD. Unknown types are ignored.
func (o *Outline) Type(name []byte) {
	for i, t := range pageTypes[:firstOpenGraph] {
		if string(name) == t {
			o.facts.types[i] = true
		}
	}
}

// JSONLD notes the types in a JSON-LD script. It searches the text for "@type" and does not decode the JSON.
func (o *Outline) JSONLD(script []byte) {
	key := []byte(`"@type"`)
	for {
		i := bytes.Index(script, key)
		if i < 0 {
			return
		}
		script = bytes.TrimLeft(script[i+len(key):], " \t\r\n:[")
		if len(script) > 0 && script[0] == '"' {
			if end := bytes.IndexByte(script[1:], '"'); end >= 0 {
				o.Type(script[1 : 1+end])
			}
		}
	}
}

// OpenGraph notes the page's og:type. Unknown types are ignored.
func (o *Outline) OpenGraph(value string) {
	for i, t := range pageTypes[firstOpenGraph:] {
		if strings.HasPrefix(value, t) {
			o.facts.types[firstOpenGraph+i] = true
		}
	}
}
