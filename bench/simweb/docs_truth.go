// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

// The truth about documents is found the slow and obvious way, with a whole tree of each page from x/net/html and URLs
// from net/url: it shares no code with the crawler that it judges.

// DocVisit is one URL on a walk over documents. The callback may keep it.
type DocVisit struct {
	URL       string
	Hops      int // links and redirects from the nearest seed
	Status    int
	MediaType string    // without parameters
	Location  string    // of a redirect, absolute; "" otherwise
	Links     []DocLink // of HTML, in the order of the page
	Bad       []string  // references that cannot be parsed as URLs
}

// DocLink is a resolved reference of a page.
type DocLink struct {
	URL      string // canonical, without fragment
	Tag      string // element: a, area, frame, iframe, link, img, script …
	Text     string // of a, with spaces collapsed
	NoFollow bool   // by its rel or by its page's robots meta tag
	Known    bool   // it leads to one of these hosts
}

// followed are the elements whose references a crawler follows; meta stands for a refresh.
var followed = []string{"a", "area", "frame", "iframe", "meta"}

// follows reports whether a crawler follows the link.
func (l *DocLink) follows() bool { return l.Known && !l.NoFollow && slices.Contains(followed, l.Tag) }

// Walk visits every URL that can be reached from the seeds by links of a, area, frame and iframe without nofollow, by
// refreshes and by redirects, within these hosts: once each, nearest first. It does not read robots.txt. fn is called
// on the goroutine of the caller. Walk returns fn's first error, the error of ctx, or an error that names a seed on no
// host or a document that cannot be read. It keeps every URL.
func (d *Docs) Walk(ctx context.Context, seeds []string, fn func(v *DocVisit) error) error {
	type queued struct {
		url  string
		hops int
	}
	var queue []queued
	seen := map[string]bool{}
	add := func(u string, hops int) {
		if !seen[u] {
			seen[u] = true
			queue = append(queue, queued{u, hops})
		}
	}
	for _, s := range seeds {
		u, err := url.Parse(s)
		if err != nil || d.hostOf(u) < 0 {
			return fmt.Errorf("seed %s: it is on no host of these documents", s)
		}
		add(canonical(u), 0)
	}
	for len(queue) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := queue[0]
		queue = queue[1:]
		v := &DocVisit{URL: next.url, Hops: next.hops}
		if err := d.look(v); err != nil {
			return fmt.Errorf("reading %s: %w", v.URL, err)
		}
		if v.Location != "" {
			add(v.Location, v.Hops+1)
		}
		for _, l := range v.Links {
			if l.follows() {
				add(l.URL, v.Hops+1)
			}
		}
		if err := fn(v); err != nil {
			return err
		}
	}
	return nil
}

// look answers a request for one URL as the server would, and reads its links.
func (d *Docs) look(v *DocVisit) error {
	u, err := url.Parse(v.URL)
	if err != nil {
		return err
	}
	var r response
	d.answer(&request{host: d.hostOf(u), target: []byte(u.RequestURI())}, &r)
	v.Status, v.Location = r.status, string(r.location)
	v.MediaType, _, _ = mime.ParseMediaType(r.contentType)
	if r.status != http.StatusOK || !isHTML(v.MediaType) {
		return nil
	}
	text, err := charset.NewReader(bytes.NewReader(r.body), r.contentType)
	if err != nil {
		return err
	}
	// a crawler runs none: it sees what noscript holds
	tree, err := html.ParseWithOptions(text, html.ParseOptionEnableScripting(false))
	if err != nil {
		return err
	}
	d.links(v, u, tree)
	return nil
}

func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// references are the attributes that hold a reference, by element.
var references = map[string]string{
	"a": "href", "area": "href", "link": "href", "frame": "src", "iframe": "src", "img": "src",
	"script": "src",
}

// links fills v from a tree: base and robots first, because they hold for the whole page.
func (d *Docs) links(v *DocVisit, base *url.URL, tree *html.Node) {
	noFollow, based := false, false
	for n := range tree.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "base":
			if href, has := attribute(n, "href"); has && !based {
				based = true
				if u, err := resolve(base, href); err == nil {
					base = u
				}
			}
		case "meta":
			name, _ := attribute(n, "name")
			content, _ := attribute(n, "content")
			content = strings.ToLower(content)
			if strings.EqualFold(name, "robots") &&
				(strings.Contains(content, "nofollow") || strings.Contains(content, "none")) {
				noFollow = true
			}
		}
	}
	for n := range tree.Descendants() {
		ref, has := attribute(n, references[n.Data])
		if n.Data == "meta" {
			ref, has = refresh(n)
		}
		if n.Type != html.ElementNode || !has {
			continue
		}
		u, err := resolve(base, ref)
		if err != nil {
			v.Bad = append(v.Bad, ref)
			continue
		}
		if u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		rel, _ := attribute(n, "rel")
		l := DocLink{
			URL: canonical(u), Tag: n.Data,
			NoFollow: noFollow || slices.Contains(strings.Fields(strings.ToLower(rel)), "nofollow"),
			Known:    d.hostOf(u) >= 0,
		}
		if n.Data == "a" {
			l.Text = textOf(n)
		}
		v.Links = append(v.Links, l)
	}
}

var refreshURL = regexp.MustCompile(`(?i)^\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?(?:'([^']*)|"([^"]*)|(.*))`)

// refresh returns the target of a meta refresh (HTML, 4.2.5.3).
func refresh(n *html.Node) (string, bool) {
	name, _ := attribute(n, "http-equiv")
	content, _ := attribute(n, "content")
	m := refreshURL.FindStringSubmatch(content)
	if !strings.EqualFold(name, "refresh") || m == nil {
		return "", false
	}
	ref := m[1] + m[2] + m[3]
	return ref, ref != ""
}

func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" && name != "" {
			return a.Val, true
		}
	}
	return "", false
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// resolve reads a reference as browsers do, as far as documents need it: white space around it and line ends in it are
// dropped, a backslash is a slash, and bytes that must be escaped are.
func resolve(base *url.URL, ref string) (*url.URL, error) {
	ref = strings.Trim(ref, " \t\r\n\f")
	ref = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(ref)
	ref, _, _ = strings.Cut(ref, "#")
	if p, q, has := strings.Cut(ref, "?"); has {
		ref = strings.ReplaceAll(p, `\`, "/") + "?" + q
	} else {
		ref = strings.ReplaceAll(ref, `\`, "/")
	}
	u, err := url.Parse(escapeStray(ref))
	if err != nil {
		return nil, err
	}
	return base.ResolveReference(u), nil
}

// escapeStray escapes bytes that are not allowed in a URL, and a % that begins no escape.
func escapeStray(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		stray := c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>^`{|}", c) >= 0
		if c == '%' {
			stray = i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])
		}
		if stray {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

// canonical spells a URL one way: lower-case scheme and host, no default port, no fragment, a path of at least "/", no
// needless escapes, upper-case hex digits. ResolveReference has removed the dots.
func canonical(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if u.Scheme == "http" {
		host = strings.TrimSuffix(host, ":80")
	} else {
		host = strings.TrimSuffix(host, ":443")
	}
	s := strings.ToLower(u.Scheme) + "://" + host
	if p := u.EscapedPath(); p == "" {
		s += "/"
	} else {
		s += plainEscapes(p)
	}
	if u.RawQuery != "" || u.ForceQuery {
		s += "?" + plainEscapes(u.RawQuery)
	}
	return s
}

// plainEscapes decodes escapes of letters, digits and -._~, and writes the others with upper-case digits.
func plainEscapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+2 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		var c byte
		fmt.Sscanf(s[i+1:i+3], "%02x", &c)
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString(strings.ToUpper(s[i : i+3]))
		}
		i += 2
	}
	return b.String()
}

// hostOf returns the host of a URL, or -1.
func (d *Docs) hostOf(u *url.URL) int {
	port := u.Port()
	if port == "" {
		port = "80"
	}
	own := "80"
	if d.port != 0 {
		own = fmt.Sprint(d.port)
	}
	if u.Scheme != "http" || port != own {
		return -1
	}
	return d.find([]byte(u.Hostname()))
}

// DocTruth is what a crawl of documents must find, as sets of URLs.
type DocTruth struct {
	Fetched    map[string]string   // those that answer 200, with their media types
	Redirected map[string]string   // with their targets
	Gone       map[string]bool     // 404
	Broken     map[string][]string // by page: its links to what is gone, each once
	Bad        map[string][]string // by page: references that cannot be parsed as URLs
	Edges      int                 // links followed and redirects, each pair of URLs once
}

// Truth walks documents from seeds and keeps everything. Its errors are those of Walk.
func (d *Docs) Truth(ctx context.Context, seeds ...string) (*DocTruth, error) {
	t := &DocTruth{
		Fetched: map[string]string{}, Redirected: map[string]string{}, Gone: map[string]bool{},
		Broken: map[string][]string{}, Bad: map[string][]string{},
	}
	targets := map[string][]string{}
	err := d.Walk(ctx, seeds, func(v *DocVisit) error {
		switch {
		case v.Location != "":
			t.Redirected[v.URL] = v.Location
			t.Edges++
		case v.Status == http.StatusOK:
			t.Fetched[v.URL] = v.MediaType
		default:
			t.Gone[v.URL] = true
		}
		var to []string
		for _, l := range v.Links {
			if l.follows() {
				to = append(to, l.URL)
			}
		}
		slices.Sort(to)
		to = slices.Compact(to)
		t.Edges += len(to)
		targets[v.URL] = to
		if len(v.Bad) > 0 {
			t.Bad[v.URL] = v.Bad
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for from, to := range targets {
		for _, u := range to {
			if t.Gone[u] {
				t.Broken[from] = append(t.Broken[from], u)
			}
		}
	}
	return t, nil
}
