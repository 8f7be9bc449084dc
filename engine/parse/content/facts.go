// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"strings"
)

// facts are what the page says of itself, and its URL.
type facts struct {
	types [len(pageTypes)]bool
	path  [len(pathWords)]bool
	depth int // slashes in the path
	size  int // bytes of the path
}

// pageTypes are values of @type in JSON-LD, and after them prefixes of og:type.
var pageTypes = [...]string{"Product", "Article", "NewsArticle", "BlogPosting", "DiscussionForumPosting", "QAPage", "ItemList", "CollectionPage",
	"BreadcrumbList", "FAQPage", "WebPage", "Organization", "LocalBusiness", "Offer", "Review", "Question", "TechArticle", "Person", "VideoObject",
	"product", "article", "website"}

const firstOpenGraph = 19

// pathWords are words that a URL may contain, those of an element meaning the same.
var pathWords = [...][]string{
	{"forum", "thread", "topic", "/t/", "discuss", "community", "question"},
	{"product", "/p/", "/dp/", "item"},
	{"collection", "categor", "shop", "/c/", "catalog"},
	{"/doc", "docs.", "guide", "manual", "/api", "reference", "help", "wiki"},
	{"service", "solution"},
	{"blog", "news", "article", "archive"},
	{"/19", "/20"},
}

// Type notes the value of an @type in the page's JSON-LD.
func (o *Outline) Type(name []byte) {
	for i, t := range pageTypes[:firstOpenGraph] {
		if string(name) == t {
			o.facts.types[i] = true
		}
	}
}

// JSONLD notes the types in a script of JSON-LD.
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

// OpenGraph notes the page's og:type.
func (o *Outline) OpenGraph(value string) {
	for i, t := range pageTypes[firstOpenGraph:] {
		if strings.HasPrefix(value, t) {
			o.facts.types[firstOpenGraph+i] = true
		}
	}
}

// URL notes the page's host, and path with query.
func (o *Outline) URL(host, path string) {
	for i, all := range pathWords {
		for _, w := range all {
			o.facts.path[i] = o.facts.path[i] || strings.Contains(path, w) || strings.HasPrefix(host, strings.Trim(w, "/"))
		}
	}
	o.facts.depth, o.facts.size = strings.Count(path, "/"), len(path)
}
