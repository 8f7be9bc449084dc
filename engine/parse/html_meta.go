// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strings"
	"time"
)

// setBase notes the first base element that has a target. If that is not a web address, the page's own URL remains the
// base.
func (p *htmlPass) setBase() {
	if href, ok := p.attr("href"); ok && !p.hasBase {
		p.hasBase = true
		p.base = p.attrSpan(href)
	}
}

// language notes the lang attribute of html.
func (p *htmlPass) language() {
	if p.page.Languages.Declared != "" {
		return
	}
	for _, name := range [...]string{"lang", "xml:lang"} {
		if lang, ok := p.attrText(name); ok {
			if p.page.Languages.Declared = declaredLanguage(lang); p.page.Languages.Declared != "" {
				return
			}
		}
	}
}

// meta notes robots directives, description, keywords, facts, language and refresh.
func (p *htmlPass) meta() {
	content, ok := p.attr("content")
	if !ok {
		return
	}
	if name, ok := p.attrName("name"); ok {
		switch {
		case isFold(name, "robots") || isToken(string(name), p.in.Agent):
			directives, _ := p.attrText("content")
			p.page.Robots.addMeta(directives)
		case isFold(name, "tdm-reservation") || isFold(name, "tdm-policy"):
			value, _ := p.attrText("content")
			p.page.addPreference(strings.ToLower(string(name)), strings.TrimSpace(value))
		case isFold(name, "description") && p.description == span{}:
			p.description = p.fold(content, MaxDescription)
		case isFold(name, "keywords") && p.keywords == span{}:
			p.keywords = p.fold(content, MaxDescription)
		default:
			p.named(name, content)
		}
	}
	if property, ok := p.attrName("property"); ok {
		if string(property) == "og:type" {
			p.outline.OpenGraph(string(content))
		}
		p.named(property, content)
	}
	if property, ok := p.attrName("itemprop"); ok {
		p.named(property, content)
	}
	if equiv, ok := p.attrName("http-equiv"); ok {
		switch {
		case isFold(equiv, "refresh") && len(content) <= maxRef:
			p.addRefresh(content)
		case isFold(equiv, "content-language") && p.page.Languages.Declared == "":
			lang, _ := p.attrText("content")
			p.page.Languages.Declared = declaredLanguage(lang)
		}
	}
}

// attrName returns the value of an attribute that is a name. Hardly any has character references.
func (p *htmlPass) attrName(name string) ([]byte, bool) {
	value, ok := p.attr(name)
	if bytes.IndexByte(value, '&') >= 0 {
		text, _ := p.attrText(name)
		value = []byte(text)
	}
	return bytes.TrimSpace(value), ok
}

// isFold compares ignoring case.
func isFold(b []byte, s string) bool { return len(b) == len(s) && strings.EqualFold(string(b), s) }

// addRefresh notes a refresh as a link, and the first one outside noscript as Page.Refresh. A refresh inside noscript
// is for readers without scripts only ("please enable JavaScript"), and this page has its text.
func (p *htmlPass) addRefresh(content []byte) {
	s := p.attrSpan(content)
	delay, ref, ok := parseRefresh(string(p.arena[s.from:s.to]))
	if !ok || len(p.links) == maxRefs {
		p.arena = p.arena[:s.from]
		return
	}
	p.arena = append(p.arena[:s.from], ref...)
	s.to = int32(len(p.arena))
	p.links = append(p.links, link{href: s, kind: LinkRefresh})
	if !p.hasRefresh && !p.noscript {
		p.hasRefresh, p.refresh, p.delay = true, s, delay
	}
}

// refreshTo notes a Refresh field of the response's header as a link and as Page.Refresh. Browsers obey it as they obey
// a meta refresh, which it precedes; often there is nothing else in the page.
func (p *Page) refreshTo(field string) {
	if field == "" || len(field) > maxRef {
		return
	}
	delay, ref, ok := parseRefresh(field)
	if !ok {
		return
	}
	p.AddLink(ref, Outlink{Kind: LinkRefresh})
	if u, err := p.Base.Resolve(ref); err == nil && u != p.URL {
		p.Refresh = &Refresh{u, delay}
	}
}

// maxDelay is the longest refresh delay in seconds, a day; longer ones are reduced to it.
const maxDelay = 24 * 60 * 60

// parseRefresh is the standard's "shared declarative refresh steps": "5; url='page.html'". ok is false for anything
// that is not a refresh, and for a refresh without target, which reloads the page.
func parseRefresh(s string) (delay time.Duration, ref string, ok bool) {
	const white = " \t\n\f\r"
	s = strings.TrimLeft(s, white)
	seconds, n := 0, 0
	for n < len(s) && isDigit(s[n]) {
		seconds = min(seconds*10+int(s[n]-'0'), maxDelay)
		n++
	}
	if n == 0 && !strings.HasPrefix(s, ".") {
		return 0, "", false
	}
	for n < len(s) && (isDigit(s[n]) || s[n] == '.') {
		n++
	}
	if s = s[n:]; s == "" || !strings.ContainsRune(white+";,", rune(s[0])) {
		return 0, "", false
	}
	s = strings.TrimLeft(s, white)
	if s != "" && (s[0] == ';' || s[0] == ',') {
		s = strings.TrimLeft(s[1:], white)
	}
	if len(s) >= 3 && strings.EqualFold(s[:3], "url") {
		if rest := strings.TrimLeft(s[3:], white); strings.HasPrefix(rest, "=") {
			s = strings.TrimLeft(rest[1:], white)
		}
	}
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		s, _, _ = strings.Cut(s[1:], s[:1])
	}
	return time.Duration(seconds) * time.Second, s, s != ""
}
