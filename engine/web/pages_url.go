// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// Bounds of lists.
const (
	rowsShown = 50
	rowsSkip  = 5000            // rows of a list that pages can skip
	listTime  = 2 * time.Second // after which a list ends with what it has
	linksMost = 1000            // links to a page that are read for a list
)

// linksView is the list of links to a URL.
type linksView struct {
	URL, Shown string
	Links      []linkRow
	First      string
	Previous   string
	Next       string
	More       int // links that pages list, where this is the last page that does and there are more
}

type linkRow struct {
	engine.InlinkView
	Shown string
}

// linksPage lists the links to a URL with their texts: GET /links?url=….
func (h *Handler) linksPage(w http.ResponseWriter, r *http.Request) {
	p := &page{Room: "urls", base: h.o.Prefix}
	v := &linksView{URL: r.URL.Query().Get("url")}
	v.Shown = shownURL(v.URL)
	if isNoURL(v.URL) {
		h.fail(w, http.StatusNotFound, p.Room, "This is no URL: "+v.URL, "")
		return
	}
	window := windowOf(r, rowsSkip/rowsShown)
	n := 0
	for l, err := range h.e.Inspect().Inlinks(r.Context(), v.URL, rowsSkip+rowsShown+1) {
		if err != nil {
			h.failed(w, r, p.Room, err)
			return
		}
		if n++; n <= window.skip {
			continue
		}
		if len(v.Links) == rowsShown {
			if next := window.next(); next > 0 {
				v.Next = p.Path("/links", "url", v.URL, "page", next)
			} else {
				v.More = rowsSkip
			}
			break
		}
		v.Links = append(v.Links, linkRow{l, shownURL(l.From)})
	}
	if window.page > 1 {
		v.First = p.Path("/links", "url", v.URL)
		v.Previous = p.Path("/links", "url", v.URL, "page", window.page-1)
	}
	p.Title, p.Body = "Links to "+v.Shown, v
	h.show(w, http.StatusOK, "links", p)
}

// window is the part of a list that a page shows.
type window struct{ page, skip, last int }

// windowOf is that of a page, or of the last that there may be.
func windowOf(r *http.Request, last int) window {
	s, _ := readState(r.URL.Query())
	n := min(s.Page, last)
	return window{n, (n - 1) * rowsShown, last}
}

// next is the page behind this one; 0: there may be none.
func (w window) next() int {
	if w.page < w.last {
		return w.page + 1
	}
	return 0
}

// urlView is the story of a URL.
type urlView struct {
	engine.URLStory
	Permitted bool
	Done      string // what a button did
}

// Failed reports whether the last fetch failed, and will be tried again. One that crawldb does not have yet is later
// than the record says.
func (v *urlView) Failed() bool {
	r := v.Record
	return r != nil && r.Status == storage.StatusUnfetched && r.Retries > 0 &&
		(len(v.Fetches) == 0 || !v.Fetches[0].Time.After(r.LastFetch))
}

// urlPage tells the story of a URL: GET /url?url=….
func (h *Handler) urlPage(w http.ResponseWriter, r *http.Request) {
	p := &page{Room: "urls", base: h.o.Prefix}
	raw := strings.TrimSpace(r.URL.Query().Get("url"))
	story, err := h.e.Inspect().URLStory(r.Context(), raw)
	if err != nil {
		h.failed(w, r, p.Room, err)
		return
	}
	v := &urlView{URLStory: story, Permitted: h.permitted(r), Done: doneText(r)}
	p.Title, p.Body = "About "+shownURL(story.URL), v
	status := http.StatusOK
	if story.Record == nil {
		status = http.StatusNotFound
	}
	h.show(w, status, "url", p)
}

// urlsView is the list of URLs.
type urlsView struct {
	Prefix   string
	Status   string // "": any
	Statuses []string
	Rows     []recordRow
	Orders   []choice
	Ports    []choice // hosts with this name and a port, where crawldb does not have it without
	Late     bool     // the list ended early: it took too long
	First    string   // address of the first page; "": this is it
	Previous string
	Next     string
}

type recordRow struct {
	engine.RecordView
	Shown string
}

// fetchedStatus is what the list of URLs calls the statuses that the list of hosts counts as fetched.
const fetchedStatus = "fetched"

// statusesOf are the statuses that a name of the list of URLs stands for.
func statusesOf(name string) []storage.Status {
	if name == fetchedStatus {
		return engine.HostFetched.Statuses()
	}
	s, err := storage.ParseStatus(name)
	if err != nil {
		return nil
	}
	return []storage.Status{s}
}

// urlsPage lists records of crawldb: GET /urls?prefix=…&status=…&after=…&back=…, in the order of keys, or of all those
// with the highest scores: GET /urls?by=score. A prefix that is a URL leads to the URL's page, a host that is known
// with a port only to that.
func (h *Handler) urlsPage(w http.ResponseWriter, r *http.Request) {
	p := &page{Room: "urls", Title: "URLs", base: h.o.Prefix}
	v := &urlsView{Prefix: clean(r.URL.Query().Get("prefix"), queryMax)}
	if strings.Contains(v.Prefix, "://") {
		http.Redirect(w, r, p.Path("/url", "url", v.Prefix), http.StatusSeeOther)
		return
	}
	trail := trailOf(r.URL.Query())
	filter := engine.RecordFilter{Prefix: v.Prefix, After: trail.After}
	v.Statuses = append([]string{fetchedStatus}, statusNames()...)
	if status := r.URL.Query().Get("status"); slices.Contains(v.Statuses, status) {
		v.Status, filter.Statuses = status, statusesOf(status)
	}
	at := func(more ...any) string {
		return p.Path("/urls", append(more, "prefix", v.Prefix, "status", v.Status)...)
	}
	ctx, cancel := context.WithTimeout(r.Context(), listTime)
	defer cancel()
	best := r.URL.Query().Get("by") == "score" && v.Prefix == "" && v.Status == ""
	records := h.e.Inspect().Records(ctx, filter)
	if best {
		records = h.bestRecords(ctx)
	}
	if v.Prefix == "" && v.Status == "" {
		v.Orders = []choice{{"by host and path", p.Path("/urls"), !best},
			{"highest score first", p.Path("/urls", "by", "score"), best}}
	}
	for record, err := range records {
		if v.Late = errors.Is(err, context.DeadlineExceeded); v.Late {
			break
		}
		if errors.Is(err, engine.ErrNotFound) {
			if v.Ports = h.withPorts(p, v.Prefix, v.Status); v.Ports != nil {
				break
			}
		}
		if err != nil {
			h.failed(w, r, p.Room, err)
			return
		}
		if n := len(v.Rows); n == rowsShown {
			v.Next = at(trail.next(v.Rows[n-1].URL)...)
			break
		}
		v.Rows = append(v.Rows, recordRow{record, shownURL(record.URL)})
	}
	if len(v.Ports) == 1 {
		http.Redirect(w, r, v.Ports[0].Address, http.StatusSeeOther)
		return
	}
	if previous, known := trail.previous(); known {
		v.Previous = at(previous...)
	}
	if trail.After != "" {
		v.First = at()
	}
	p.Body = v
	h.show(w, http.StatusOK, "urls", p)
}

// withPorts are the ways to the URLs of hosts of a name that have a port.
func (h *Handler) withPorts(p *page, name, status string) (list []choice) {
	hosts, err := h.e.Inspect().Ports(name)
	if err != nil {
		return nil
	}
	for _, host := range hosts {
		list = append(list, choice{Text: shownHost(host), Address: p.Path("/urls", "prefix", host, "status", status)})
	}
	return list
}

// bestRecords are the records with the highest scores, as many as a page shows.
func (h *Handler) bestRecords(ctx context.Context) iter.Seq2[engine.RecordView, error] {
	return func(yield func(engine.RecordView, error) bool) {
		list, err := h.e.Inspect().TopRecords(ctx, rowsShown)
		if err != nil {
			yield(engine.RecordView{}, err)
			return
		}
		for _, record := range list {
			if !yield(record, nil) {
				return
			}
		}
	}
}

// reasonText says why a URL is refused; some reasons are a word that people need not know.
func reasonText(reason string) string {
	switch reason {
	case "scope":
		return "it is outside of the scope: the hosts or domains that are crawled"
	case "depth":
		return "it is more links away from a seed than the crawl goes"
	case "robots_denied":
		return "the robots.txt of its host forbids it"
	}
	return clean(reason, 400)
}
