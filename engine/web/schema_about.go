// SPDX-License-Identifier: Apache-2.0

package web

import "maps"

// abouts say what properties mean, by component: of what an application reads, and of what a request may carry. A
// client that is made of the description alone has no other place to learn it.
var abouts = map[string]map[string]string{
	"SearchAnswer": {
		"total":              "matches that were found, hits or not; see at_least",
		"at_least":           "there may be more matches than total: count or deadline_seconds ended the counting",
		"query":              "the query as it was understood, in the query language",
		"partial":            "the deadline ended the search: better hits may be missing",
		"relaxed":            "nothing had all quotes and words with +: these hits have some",
		"doubtful":           "a word is so rare that another may be meant",
		"did_you_mean":       "a query that finds more, if suggest is true and there is one",
		"did_you_mean_total": "matches of did_you_mean",
		"hits":               "a page of the matches, in the order that sort says",
		"facets":             "one for each name of the parameter facets",
		"next":               "cursor of the next page; none: this is the last",
	},
	"Hit": {
		"rank":        "place among all hits, from 1",
		"url":         "the address to show and to link to; page, or a redirect to it",
		"page":        "the page's own URL: give it to the other operations",
		"title":       "as in the page, never HTML: escape it; the URL if the page has none",
		"snippet":     "text with marks, or HTML if html is true; empty if the page forbids snippets",
		"score":       "comparable within one search only",
		"date":        "when the page says that it was written or changed",
		"fetched":     "when the text that is searched was fetched",
		"author":      "as the page names it",
		"language":    "code, such as en",
		"type":        "media type",
		"size":        "bytes of text",
		"more":        "further matches of the host, which per_host left out",
		"duplicates":  "near-duplicates that collapse left out, at least",
		"stored":      "fields that index filters gave the document",
		"explanation": "how score came about, if explain is true",
	},
	"FacetCounts": {
		"name":     "lang, type, host, year, or a field of index filters",
		"values":   "those of most matches first, as many as facet_values",
		"distinct": "number of values that matches have",
	},
	"FacetCount": {
		"value": "such as en",
		"count": "matches that have it",
		"query": "the query with a filter to this value; none: the value is no filter",
	},
	"Explanation": {
		"value":       "part of the score",
		"description": "what it is, and how it is made of details",
		"details":     "what it is made of",
	},
	"Field":      {"name": "of the field", "value": "its text"},
	"Suggestion": {"query": "the query with other words; empty: none is better", "total": "its matches, at least"},
	"Completions": {
		"completions": "those of most documents first, 100 at most",
	},
	"Completion": {
		"text":      "all that was given, with its last word completed",
		"word":      "the last word",
		"documents": "that have the word",
	},
	"Problem": {
		"type":      "always about:blank: code says which kind it is",
		"title":     "the text of status",
		"status":    "of HTTP",
		"code":      "the kind, for programs",
		"detail":    "what is wrong and what helps, for people",
		"parameter": "the parameter that is wrong",
		"column":    "where the query is wrong, from 1",
	},
	"seedLines": {
		"urls": "seed lines, as in a file: a URL, with key=value pairs behind tabs",
	},
	"targets": {
		"targets": "a URL, a prefix that ends with *, or a host with all its URLs",
	},
	"hostNames": {
		"hosts": "a name, or host:port",
	},
	"Rate": {
		"delay_seconds": "pause between two requests to a host; 0: none",
		"fetchers":      "requests at once, from 1 to 100,000",
	},
	"indexing": {
		"segments":       "linked ones; none: every linked segment",
		"max_segments":   "merge until the index has at most so many parts; 0: no bound",
		"resend":         "send all documents to index writers again",
		"every_document": "look at all documents, not only at those that may have changed",
	},
	"SegmentNumbers": {
		"segments": "whose pages are compared; none: all pages",
	},
}

// tell adds what abouts say of the properties of a component. A description that a type has itself, such as its unit,
// stays in front.
func tell(component string, properties object) {
	for name, about := range abouts[component] {
		of, _ := properties[name].(object)
		if of == nil {
			continue
		}
		told := maps.Clone(of) // the schema of a type is shared
		if unit, _ := of["description"].(string); unit != "" {
			about = unit + "; " + about
		}
		told["description"] = about
		properties[name] = told
	}
}
