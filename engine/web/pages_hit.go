// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"html/template"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

// hitView is a hit as the page shows it.
type hitView struct {
	Opening     template.HTML // of its article: all but the explanation and the end
	Explanation *index.Explanation
}

// hits makes what the page shows of its hits.
func (h *Handler) hits(ctx context.Context, p *page, state searchState, list []engine.Hit) []hitView {
	links := h.linksOf(ctx, list)
	views := make([]hitView, len(list))
	for i := range list {
		views[i] = h.hit(p, state, list[i], links[i].text())
	}
	return views
}

// hit makes what the page shows of a hit; links says how many links it has.
func (h *Handler) hit(p *page, state searchState, hit engine.Hit, links string) hitView {
	language, direction := languageTag(hit.Language), direction(hit.Language)
	heading := clean(hit.Title, titleShown)
	if heading == "" || hit.Title == hit.URL {
		heading = shownURL(hit.URL)
	}
	b := make(markup, 0, 2<<10)
	b.add(`<article class="hit"`)
	if language != "" {
		b.attribute("lang", language)
	}
	b.add(">\n<h2")
	b.attribute("dir", direction)
	b.add("><a")
	b.attribute("href", webAddress(hit.URL))
	b.add(` rel="noreferrer noopener nofollow">`)
	b.text(heading)
	b.add("</a></h2>\n")
	b.where(&hit)
	b.add("\n")
	if snippet := marked(pieces(hit.SnippetText, hit.Matches)); snippet != "" {
		b.add(`<p class="snippet"`)
		b.attribute("dir", direction)
		b.add(">" + string(snippet) + "</p>\n")
	}
	b.add(`<ul class="more" lang="en">` + "\n" + `<li><a class="copy"`)
	b.attribute("href", p.Path("/copy", "url", hit.Page))
	b.add(">stored copy</a></li>\n")
	if !hit.Fetched.IsZero() {
		b.add(`<li class="quiet">fetched `)
		b.day(hit.Fetched)
		b.add("</li>\n")
	}
	b.item(links, p.Path("/links", "url", hit.URL))
	b.item("about", p.Path("/url", "url", hit.Page))
	same := state
	same.Page = 1
	if hit.More > 0 {
		inHost := same
		inHost.Query = narrowed(state.Query, state.understood, "host:"+hit.Host)
		b.item(numberText(hit.More)+" more from this host", p.Path("/", inHost.parameters()...))
	}
	if hit.Duplicates > 0 {
		same.All = true
		b.item(numberText(hit.Duplicates)+" nearly the same", p.Path("/", same.parameters()...))
	}
	b.add("</ul>")
	return hitView{template.HTML(b), hit.Explanation}
}

// webAddress is an address that a link may lead to: no script, and none that the browser keeps for itself.
func webAddress(address string) string {
	if strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") {
		return address
	}
	return "#"
}

// markup is HTML that is written without a template, which reflects: for the hits and the values of facets it takes
// several times as long as for all else on the page. What comes from pages goes through text and attribute only.
type markup []byte

// add appends HTML as it is: words of this package.
func (b *markup) add(html string) { *b = append(*b, html...) }

// text appends a text, escaped for HTML and for an attribute in quotes.
func (b *markup) text(s string) { *b = append(*b, template.HTMLEscapeString(s)...) }

func (b *markup) attribute(name, value string) {
	b.add(" " + name + `="`)
	b.text(value)
	b.add(`"`)
}

// item appends a link as an item of a list, unless it has no text.
func (b *markup) item(text, address string) {
	if text == "" {
		return
	}
	b.add("<li><a")
	b.attribute("href", address)
	b.add(">")
	b.text(text)
	b.add("</a></li>\n")
}

// day appends the day of a time, unless that is zero.
func (b *markup) day(t time.Time) {
	if t.IsZero() {
		return
	}
	b.add("<time")
	b.attribute("datetime", dateText(t))
	b.add(">" + dateText(t) + "</time>")
}

// hostOpening begins the name of a host behind an attribute. Its labels stand from left to right, also where the first
// is Hebrew or Arabic: the other way round its end would look like its beginning.
const hostOpening = `><bdi dir="ltr">`

// where appends the line that says where a hit is from.
func (b *markup) where(hit *engine.Hit) {
	at := crumbs(hit.URL)
	b.add(`<p class="crumbs" lang="en"><span class="where"`)
	b.attribute("title", clean(hit.URL, 500))
	b.add(hostOpening)
	b.text(at.Host)
	b.add("</bdi>")
	for _, part := range at.Parts {
		b.add(`<span class="sep" aria-hidden="true"> › </span><bdi>`)
		b.text(part)
		b.add("</bdi>")
	}
	b.add("</span>")
	b.day(hit.Date)
	if hit.Language != "" {
		b.add("<span>")
		b.text(languageName(hit.Language))
		b.add("</span>")
	}
	if kind := shortType(hit.Type); kind != "html" && kind != "xhtml" && kind != "" {
		b.add(`<span class="kind">`)
		b.text(kind)
		b.add("</span>")
	}
	b.add("</p>")
}

// itemsOf is the HTML of values. Their addresses are page.Path's: they begin with a slash.
func itemsOf(values []facetValue) template.HTML {
	b := make(markup, 0, 256*len(values))
	for _, v := range values {
		b.add("<li><a")
		b.attribute("href", v.Address)
		b.attribute("title", v.Exact)
		if v.Present {
			b.attribute("aria-current", "true")
		}
		b.add(hostOpening)
		b.text(v.Text)
		b.add("</bdi>")
		if v.Present {
			b.add(` <span aria-hidden="true">×</span><span class="unseen">remove</span>`)
		}
		b.add("</a>")
		if v.Count != "" {
			b.add(` <span class="n">`)
			b.text(v.Count)
			b.add("</span>")
		}
		b.add("</li>\n")
	}
	return template.HTML(b)
}
