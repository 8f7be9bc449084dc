// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
)

// routePages adds the routes of the pages that people look at.
func (h *Handler) routePages() {
	h.handle("GET", "/{$}", h.timedSearch("search_page", h.searchPage))
	h.handle("GET", "/complete", h.completions)
	h.handle("GET", "/opensearch.xml", h.describeSearch)
	h.handle("GET", "/atom.xml", h.timedSearch("feed", h.atomFeed))
	h.handle("GET", "/copy", h.copyPage)
	h.handle("GET", "/copy/page", h.copyBody)
	h.handle("GET", "/links", h.linksPage)
	h.handle("GET", "/url", h.urlPage)
	h.handle("GET", "/urls", h.urlsPage)
	h.handleLasting("GET", "/host", h.lastingPage(h.hostPage))
	h.handle("GET", "/hosts", h.hostsPage)
	h.handle("GET", "/crawl", h.crawlPage)
	h.handleLasting("GET", "/report/{kind}", h.lastingPage(h.reportPage))
	h.handle("GET", "/segments", h.segmentsPage)
	h.handle("GET", "/log", h.logPage)
	h.handleLasting("POST", "/act/{name}", h.lastingPage(h.act))
	h.handle("GET", "/favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, (&page{base: h.o.Prefix}).Static("icon.svg"), http.StatusFound)
	})
	h.handle("GET", "/static/{version}/{name}", h.static)
	h.mux.HandleFunc(h.o.Prefix+"/", h.noPage)
}

// lastingPage is a page of what may take longer than quickTime, as those operations of the API that last. Without it,
// the time to read the request would end meanwhile, and with it the work: a host would be half deleted.
func (h *Handler) lastingPage(fn http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		leave, ok := take(r.Context(), h.streams)
		if !ok {
			h.deny(w, r, busy())
			return
		}
		defer leave()
		h.lasting(w, r)
		fn(&patientWriter{w, deadlines{http.NewResponseController(w)}}, r)
	}
}

// page is what every template gets: the frame, and in Body what the page itself shows.
type page struct {
	Title   string // of the document, without the name of the program
	Room    string // the part of the program that the page belongs to: see the navigation in layout.html
	Scripts []string
	Body    any
	State   crawlState // of the crawl, in the head of the page
	Bare    bool       // nothing but Body is shown: there is no engine, or who asks must learn and can load nothing

	base string // the prefix that the handler is mounted under
}

// Path is the address of a page below the prefix, with parameters as names and values in turn. Empty values are left
// out, so that a state has one address.
func (p *page) Path(path string, parameters ...any) string {
	var memory [8]parameter
	list := memory[:0]
	set := func(name, value string) {
		if at := slices.IndexFunc(list, func(p parameter) bool { return p.name == name }); at >= 0 {
			list[at].value = value
			return
		}
		list = append(list, parameter{name, value})
	}
	for i := 0; i+1 < len(parameters); i += 2 {
		name := parameters[i].(string)
		switch v := parameters[i+1].(type) {
		case string:
			if v != "" {
				set(name, v)
			}
		case int:
			if v != 0 {
				set(name, strconv.Itoa(v))
			}
		case bool:
			if v {
				set(name, "1")
			}
		case []string: // with its empty ones
			for _, value := range v {
				list = append(list, parameter{name, value})
			}
		}
	}
	return address(p.base+path, list)
}

// parameter is one of an address.
type parameter struct{ name, value string }

// address adds parameters to a path as url.Values.Encode does, by name, but without a map: a page of hits has a hundred
// addresses.
func address(path string, list []parameter) string {
	if len(list) == 0 {
		return path
	}
	slices.SortStableFunc(list, func(a, b parameter) int { return strings.Compare(a.name, b.name) })
	out, separator := append(make([]byte, 0, 128), path...), byte('?')
	for _, p := range list {
		out = append(append(out, separator), url.QueryEscape(p.name)...)
		out = append(append(out, '='), url.QueryEscape(p.value)...)
		separator = '&'
	}
	return string(out)
}

// Static is the address of an asset.
func (p *page) Static(name string) string { return p.base + "/static/" + assetsVersion + "/" + name }

// show renders a page. What fails while rendering is a fault of the template, and nothing of the page is sent then.
func (h *Handler) show(w http.ResponseWriter, status int, name string, p *page) {
	body, err := h.render(name, p)
	if err != nil {
		http.Error(w, "the page "+name+" cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	sendBody(w, status, htmlType, body)
}

const htmlType = "text/html; charset=utf-8"

// pageBytes is about what a page of hits has.
const pageBytes = 28 << 10

// render makes the HTML of a page.
func (h *Handler) render(name string, p *page) ([]byte, error) {
	p.base = h.o.Prefix
	if p.State == (crawlState{}) && !p.Bare {
		p.State = h.crawlState()
	}
	var b bytes.Buffer
	b.Grow(pageBytes)
	err := templates[name].ExecuteTemplate(&b, "layout", p)
	return b.Bytes(), err
}

// crawlState is the crawl in a few words; nothing if that cannot be read, since the page that failed says so.
func (h *Handler) crawlState() (s crawlState) {
	if now, err := h.currentStatus(); err == nil {
		s = stateOf(&now)
	}
	return s
}

// trouble is what the page of an error shows.
type trouble struct {
	What string // that failed
	Help string // what to do next; ""
}

// fail shows an error as a page.
func (h *Handler) fail(w http.ResponseWriter, status int, room, what, help string) {
	h.show(w, status, "error", &page{
		Title: http.StatusText(status), Room: room, Body: trouble{What: clean(what, 600), Help: help},
	})
}

// denied says to people what the codes of problems mean that only pages have.
var denied = map[string]trouble{
	"host": {"This server is not known by this name.",
		"Open it by its address, or give the name to seine serve with --host-name: it serves a crawl of another " +
			"process, too."},
	"origin": {"A change must come from a page of this server.",
		"If you pressed a button of seine: open its page by the address that seine serve prints, and press it there."},
	"token": {"To act from here, this browser needs the token.",
		"Open the address that seine serve prints: it has the token of the data directory."},
	"overloaded": {"Too many requests are being answered.", "Try again in a moment."},
	"not_found":  {"There is no such page.", "The search page leads to all others."},
}

// deny answers a request with a problem, or with a page that says the same where a browser asks for a page.
func (h *Handler) deny(w http.ResponseWriter, r *http.Request, p *Problem) {
	path, own := strings.CutPrefix(r.URL.Path, h.o.Prefix)
	if !strings.Contains(r.Header.Get("Accept"), "text/html") || own && strings.HasPrefix(path, apiPath+"/") {
		p.write(w)
		return
	}
	t, known := denied[p.Code]
	if !known {
		t = trouble{What: p.Detail}
	}
	p.head(w.Header())
	bare := h.e == nil || p.Code == "host" || p.Code == "overloaded"
	h.show(w, p.Status, "error", &page{Title: p.Title, Body: t, Bare: bare})
}

// noPage answers requests for what nothing else answers.
func (h *Handler) noPage(w http.ResponseWriter, r *http.Request) {
	if !readsOnly(r.Method) || r.Method == http.MethodOptions {
		w.Header().Set("Allow", "GET, HEAD")
		h.deny(w, r, problem(http.StatusMethodNotAllowed, "method", "pages take GET and HEAD"))
		return
	}
	h.deny(w, r, problem(http.StatusNotFound, "not_found", "there is no page "+r.URL.Path))
}

// functions are what templates may call beside the methods of what they show.
var functions = template.FuncMap{
	"ago":         func(t time.Time) string { return ago(t, time.Now()) },
	"budget":      budgetText,
	"bytes":       byteText[uint64],
	"clean":       clean,
	"date":        dateText,
	"exact":       exactText,
	"duration":    spanText,
	"future":      func(t time.Time) bool { return t.After(time.Now()) },
	"hasTime":     func(t time.Time) bool { return !t.IsZero() },
	"host":        shownHost,
	"hostState":   func(s engine.HostState) string { return hostStates[s] },
	"instant":     func(t time.Time) string { return t.UTC().Format(instant) },
	"language":    languageName,
	"lines":       cleanLines,
	"ms":          func(d engine.Milliseconds) string { return tookText(time.Duration(d)) },
	"number":      numberText,
	"plural":      plural,
	"rate":        rateText,
	"reason":      reasonText,
	"reportTitle": func(k engine.ReportKind) string { return reportTitles[k] },
	"reports":     engine.ReportKinds,
	"robots":      robotsText,
	"score":       scoreText,
	"shown":       shownURL,
	"signed":      func(n int64) string { return byteText(max(n, 0)) },
	"size":        byteText[uint32],
	"span":        func(d engine.Duration) string { return spanText(time.Duration(d)) },
	"took":        func(d engine.Duration) string { return tookText(time.Duration(d)) },
	"with2":       func(p *page, item any) pageItem { return pageItem{p, item} },
}

// pageItem is a part of a page with the page, whose methods make addresses.
type pageItem struct {
	Page *page
	Item any
}
