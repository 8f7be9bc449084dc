// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	_ "embed"
	"strings"
)

// Attack is a page of Attacks.
type Attack struct {
	Path string // of its URL on the first host
	Does string // what it does to whoever shows it, in words
	// Acts says that a browser that opens the page itself requests something below /caught/. The others act only
	// where their title, text, address or header is shown carelessly.
	Acts bool

	name        string // of its text in attacks.html; "": Path
	title       string // "": one that says what it does
	body        string // behind its text
	contentType string // "": HTML, with a title and a last paragraph
	header      string // more fields, each with its end of line
	location    string // of a redirect
}

// attacks are the pages.
var attacks = []Attack{
	{Path: "/title", Does: "markup in its title", title: "trapped net " + graffito("title")},
	{Path: "/snippet", Does: "markup in its text"},
	{Path: "/%22%3E%3Cscript%3Efetch('url')%3C/script%3E?q='onload='&%7B%7B7*7%7D%7D", Does: "markup in its address"},
	{Path: "/%E2%80%AEgnp.exe/%E2%81%A6/%D8%B4%D8%A8%D9%83%D8%A9", Does: "overrides of direction", name: "/rtl",
		title: "trapped net \u202etxet siht \u2067\u2066\u061c"},
	{Path: "/" + strings.Repeat("long-", 300), Does: "a long address and title",
		title: "trapped net " + strings.Repeat("W", 60_000)},
	{Path: "/wide", Does: "words without end, wide tables and piled marks", title: "trapped net " + piled,
		body: "<p>trapped" + strings.Repeat("x", 5_000) + " trapped net " + piled + "<pre>" +
			strings.Repeat("wide ", 2_000) + "</pre><table><tr>" + strings.Repeat("<td>cell", 500) + "</table>"},
	{Path: "/language", Does: "markup as its language"},
	{Path: "/script", Does: "scripts that use the API of whoever shows them", Acts: true},
	{Path: "/top", Does: "a script that navigates the top frame", Acts: true},
	{Path: "/handlers", Does: "handlers of events", Acts: true},
	{Path: "/refresh", Does: "a page that sends its reader elsewhere", Acts: true},
	{Path: "/policy", Does: "a policy, a cookie and links in its header", Acts: true,
		header: "Refresh: 0;url=CAUGHT/refresh-field\r\nLink: <CAUGHT/link-field>; rel=preload; as=script\r\n" +
			"Set-Cookie: seine-session=x\r\nX-Trap: <script>fetch('CAUGHT/field')</script>{{.Token}}\r\n"},
	{Path: "/styles", Does: "styles that load and cover", Acts: true},
	{Path: "/frames", Does: "frames and plug-ins", Acts: true},
	{Path: "/pictures", Does: "pictures, sounds and films", Acts: true},
	{Path: "/forms", Does: "forms that send themselves and change what is crawled", Acts: true},
	{Path: "/drawings", Does: "drawings and formulas that hide scripts", Acts: true},
	{Path: "/base", Does: "another base for its links", Acts: true},
	{Path: "/cover", Does: "a link that covers the whole page"},
	{Path: "/picture.svg", Does: "a picture that is a script", Acts: true, contentType: "image/svg+xml"},
	{Path: "/page.xhtml", Does: "a script as XHTML", Acts: true, contentType: "application/xhtml+xml"},
	{Path: "/text", Does: "a page that says it is text", contentType: "text/plain"},
	{Path: "/utf7", Does: "markup in another coding", contentType: "text/html; charset=utf-7"},
	{Path: "/moved", Does: "a redirect to markup",
		location: `/missing?%22%3E%3Cimg%20src=x%20onerror=fetch('moved')%3E'><script>`},
}

// piled are letters under more marks than any script has.
var piled = strings.Repeat("N"+strings.Repeat("\u0301\u0300\u0323", 40), 20)

// attackTexts has the text of each page behind a line "=== " with its name.
//
//go:embed attacks.html
var attackTexts string

// text returns the text of a page.
func (p *Attack) text() string {
	name := p.name
	if name == "" {
		name = p.Path
	}
	_, text, _ := strings.Cut("\n"+attackTexts, "\n=== "+name+"\n")
	text, _, _ = strings.Cut(text, "\n=== ")
	return strings.ReplaceAll(text, "GRAFFITO", escaped(graffito("text"))) + p.body
}

// graffito is a text that acts where it is shown without being escaped, whether between tags, in an attribute with
// either quote, in a script or in a template of a usual syntax, and that turns what follows it around.
func graffito(where string) string {
	return strings.ReplaceAll(`"'><script>new Image().src="CAUGHT/HERE"</script><img src=CAUGHT/HERE `+
		`onerror="fetch('CAUGHT/HERE')"></title></textarea><svg onload="fetch('CAUGHT/HERE')">`+
		`{{.Token}}{{7*7}}${7*7}<%=7*7%>#{7*7}{{constructor.constructor('fetch("CAUGHT/HERE")')()}}`+
		"`;fetch('CAUGHT/HERE');//\u202egnp.exe\u2066", "HERE", where)
}

// escaped is a text as HTML: what a page says, rather than what it does.
func escaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
