// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2"
)

// openAnchor begins a link; one that is still open ends, as links cannot nest.
func (p *htmlPass) openAnchor() {
	p.closeAnchor()
	href, ok := p.attr("href")
	if !ok {
		return
	}
	rel, _ := p.attr("rel")
	p.refs = append(p.refs, ref{href: href, noFollow: noFollow(rel), kind: LinkAnchor})
	p.open = len(p.refs) - 1
	p.anchor.begin(p.anchor.out[:0], MaxAnchor)
}

func (p *htmlPass) closeAnchor() {
	if p.open >= 0 {
		p.refs[p.open].anchor = string(p.anchor.out)
		p.open = -1
	}
}

// link takes a link that has no content; its anchor is another attribute.
func (p *htmlPass) link(kind LinkKind, from, anchor string) {
	href, ok := p.attr(from)
	if !ok || href == "" {
		return
	}
	text, _ := p.attr(anchor)
	rel, _ := p.attr("rel")
	p.refs = append(p.refs, ref{href: href, anchor: fold(text), noFollow: noFollow(rel), kind: kind})
}

// fold brings an attribute into the form of anchor text.
func fold(s string) string {
	if s == "" {
		return ""
	}
	var w textWriter
	w.begin(nil, MaxAnchor)
	w.write([]byte(s), false)
	return string(w.out)
}

func noFollow(rel string) bool {
	if rel == "" {
		return false
	}
	for word := range strings.FieldsSeq(strings.ToLower(rel)) {
		if word == "nofollow" || word == "ugc" || word == "sponsored" {
			return true
		}
	}
	return false
}

// relation takes the kinds of link element that lead to pages.
func (p *htmlPass) relation() {
	rel, _ := p.attr("rel")
	href, ok := p.attr("href")
	if !ok || href == "" {
		return
	}
	for word := range strings.FieldsSeq(strings.ToLower(rel)) {
		switch word {
		case "canonical":
			if p.canonical == "" {
				p.canonical = href
			}
		case "next", "prev", "previous":
		case "alternate":
			if t, ok := p.attr("type"); ok && !strings.Contains(strings.ToLower(t), "html") {
				continue // a feed or another medium
			}
		default:
			continue
		}
		title, _ := p.attr("title")
		p.refs = append(p.refs, ref{href: href, anchor: fold(title), noFollow: noFollow(rel), kind: LinkRelation})
		return
	}
}

// base takes the first base element with a target.
func (p *htmlPass) base() {
	href, ok := p.attr("href")
	if !ok || p.based {
		return
	}
	p.based = true
	if u, err := p.in.URL.Resolve(href); err == nil {
		p.page.Base = u
	}
}

// meta takes robots, description and refresh.
func (p *htmlPass) meta() {
	content, ok := p.attr("content")
	if !ok {
		return
	}
	if name, ok := p.attr("name"); ok {
		switch name = strings.ToLower(strings.TrimSpace(name)); {
		case name == "robots", p.in.Agent != "" && name == strings.ToLower(p.in.Agent):
			p.page.robotsDirectives(content)
		case name == "description" && !p.described:
			p.described = true
			p.page.Description = string(cutRune([]byte(strings.Join(strings.Fields(content), " ")), maxMeta))
		}
	}
	if equiv, ok := p.attr("http-equiv"); ok {
		switch strings.ToLower(strings.TrimSpace(equiv)) {
		case "refresh":
			if p.refresh == "" {
				p.refresh = content
			}
		case "content-language":
			if p.page.Language == "" {
				p.page.Language = declaredLanguage(content)
			}
		}
	}
}

// finish resolves what was collected, now that the base is known.
func (p *htmlPass) finish() {
	page := p.page
	page.Text, page.Truncated = p.text.out, page.Truncated || p.text.full
	page.Title = string(p.title.out)
	for i := range p.refs {
		r := &p.refs[i]
		if skipped(r.href) {
			continue
		}
		page.addLink(r.href, Outlink{Anchor: r.anchor, NoFollow: r.noFollow, Kind: r.kind})
	}
	if p.canonical != "" {
		if u, err := page.Base.Resolve(p.canonical); err == nil {
			page.Canonical = u
		}
	}
	p.readRefresh()
	if page.Language == "" {
		page.Language = detectLanguage(page.Text)
	}
}

// skipped leaves out links into the page itself and, cheaply, the schemes that are no pages.
func skipped(href string) bool {
	href = strings.TrimLeft(href, " \t\r\n\f")
	if strings.HasPrefix(href, "#") {
		return true
	}
	for _, scheme := range []string{"javascript:", "mailto:", "tel:", "data:"} {
		if len(href) >= len(scheme) && parse.EqualFold([]byte(href[:len(scheme)]), []byte(scheme)) {
			return true
		}
	}
	return false
}

// readRefresh parses "5; url='page.html'" as browsers do. A refresh without target reloads the page
// and is no link.
func (p *htmlPass) readRefresh() {
	s := strings.TrimSpace(p.refresh)
	digits := 0
	for digits < len(s) && (s[digits] >= '0' && s[digits] <= '9' || s[digits] == '.') {
		digits++
	}
	if digits == 0 {
		return
	}
	whole, _, _ := strings.Cut(s[:digits], ".")
	seconds, err := strconv.Atoi(whole)
	if err != nil {
		seconds = 1 << 20
	}
	s = strings.TrimLeft(s[digits:], ";, \t\r\n\f")
	if len(s) > 3 && strings.EqualFold(s[:3], "url") {
		if rest := strings.TrimLeft(s[3:], " \t\r\n\f"); strings.HasPrefix(rest, "=") {
			s = strings.TrimLeft(rest[1:], " \t\r\n\f")
		}
	}
	if s == "" {
		return
	}
	if q := s[0]; q == '"' || q == '\'' {
		s, _, _ = strings.Cut(s[1:], string(q))
	}
	if u, err := p.page.Base.Resolve(s); err == nil {
		p.page.Refresh = Refresh{u, seconds}
		p.page.addLink(s, Outlink{Kind: LinkRefresh})
	}
}
