// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

// feedHits is the number of entries of a feed.
const feedHits = 20

// openSearch describes the search so that a browser adds it (OpenSearch 1.1).
type openSearch struct {
	XMLName     xml.Name        `xml:"http://a9.com/-/spec/opensearch/1.1/ OpenSearchDescription"`
	ShortName   string          `xml:"ShortName"`
	Description string          `xml:"Description"`
	Encoding    string          `xml:"InputEncoding"`
	Image       openSearchImage `xml:"Image"`
	URLs        []openSearchURL `xml:"Url"`
}

type openSearchImage struct {
	Type    string `xml:"type,attr"`
	Width   int    `xml:"width,attr"`
	Height  int    `xml:"height,attr"`
	Address string `xml:",chardata"`
}

type openSearchURL struct {
	Type     string `xml:"type,attr"`
	Rel      string `xml:"rel,attr,omitempty"`
	Template string `xml:"template,attr"`
}

// describeSearch sends the OpenSearch description: GET /opensearch.xml.
func (h *Handler) describeSearch(w http.ResponseWriter, r *http.Request) {
	root := originOf(r) + h.o.Prefix
	p := &page{base: root}
	send(w, "application/opensearchdescription+xml", openSearch{
		ShortName: "seine", Description: "Search the pages that seine has crawled", Encoding: "UTF-8",
		Image: openSearchImage{"image/svg+xml", 16, 16, p.Static("icon.svg")},
		URLs: []openSearchURL{
			{"text/html", "results", root + "/?q={searchTerms}"},
			{"application/atom+xml", "results", root + "/atom.xml?q={searchTerms}"},
			{"application/x-suggestions+json", "suggestions", root + "/complete?q={searchTerms}"},
			{"application/opensearchdescription+xml", "self", root + "/opensearch.xml"},
		},
	})
}

// originOf is scheme and host as the client knows them. ServeHTTP, or the one of a proxy, has checked the host.
func originOf(r *http.Request) string {
	if overTLS(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// feed is an Atom feed (RFC 4287).
type feed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  feedAuthor  `xml:"author"`
	Links   []feedLink  `xml:"link"`
	Entries []feedEntry `xml:"entry"`
}

type feedAuthor struct {
	Name string `xml:"name"`
}

type feedLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type feedEntry struct {
	Language string     `xml:"http://www.w3.org/XML/1998/namespace lang,attr,omitempty"`
	ID       string     `xml:"id"`
	Title    string     `xml:"title"`
	Updated  string     `xml:"updated"`
	Author   feedAuthor `xml:"author"`
	Links    []feedLink `xml:"link"`
	Summary  string     `xml:"summary,omitempty"`
}

// atomFeed sends the hits of a search as a feed: GET /atom.xml?q=…. The newest come first unless the address has
// another order, since that is what readers of feeds want to know of.
func (h *Handler) atomFeed(w http.ResponseWriter, r *http.Request) {
	state, _ := readState(r.URL.Query())
	if state.Query == "" {
		h.deny(w, r, problem(http.StatusBadRequest, "no_query", "A feed has the results of a search, and this address "+
			"has no query. Add ?q= and the words to search for."))
		return
	}
	state.Page = 1 // a feed has no other
	if order := r.URL.Query().Get("sort"); order == "" {
		state.Order = index.OrderNewest
	} else if _, err := index.ParseOrder(order); err != nil {
		state.Order = index.OrderNewest
	}
	var result engine.SearchResult
	err := h.inTurn(r.Context(), aSearch, func() (err error) {
		result, err = h.e.Search(r.Context(), state.Query, engine.SearchOptions{
			Limit: feedHits, Order: state.Order, Collapse: !state.All,
		})
		return err
	})
	if err != nil {
		if !errors.Is(r.Context().Err(), context.Canceled) { // else nobody reads it
			h.deny(w, r, problemOf(err))
		}
		return
	}
	root := originOf(r)
	p := &page{base: h.o.Prefix}
	self := root + r.URL.RequestURI()
	f := feed{
		ID: self, Title: clean(state.Query, titleShown) + " – seine", Author: feedAuthor{"seine"},
		Links: []feedLink{
			{"self", "application/atom+xml", self},
			{"alternate", "text/html", root + p.Path("/", state.parameters()...)},
		},
	}
	newest := time.Unix(0, 0).UTC() // readers take no year before that
	for _, hit := range result.Hits {
		e, updated := h.entry(&hit)
		e.Links = append(e.Links, feedLink{"related", "text/html", root + p.Path("/copy", "url", hit.Page)})
		f.Entries = append(f.Entries, e)
		if updated.After(newest) {
			newest = updated
		}
	}
	f.Updated = newest.Format(time.RFC3339)
	send(w, "application/atom+xml; charset=utf-8", f)
}

// entry makes an entry of a hit. It was updated at the date of the page, or when the content last changed.
func (h *Handler) entry(hit *engine.Hit) (e feedEntry, updated time.Time) {
	updated = hit.Date
	if record, err := h.e.Inspect().Record(hit.Page); err == nil && updated.IsZero() {
		if updated = record.ModifiedTime; updated.IsZero() {
			updated = record.LastFetch
		}
	}
	return feedEntry{
		Language: languageTag(hit.Language), ID: hit.URL, Title: clean(hit.Title, titleShown),
		Updated: updated.UTC().Format(time.RFC3339), Author: feedAuthor{crumbs(hit.URL).Host},
		Links: []feedLink{{"alternate", clean(hit.Type, 60), hit.URL}}, Summary: clean(hit.SnippetText, 1000),
	}, updated
}

// send sends a document of XML.
func send(w http.ResponseWriter, mediaType string, document any) {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	if err := xml.NewEncoder(&b).Encode(document); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", mediaType)
	_, _ = w.Write(b.Bytes()) // the client went away
}
