// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Attacks is a site of pages that a stranger made to hurt whoever shows them: in search results, in lists of links, as
// stored copies. All have the words "trapped net". Their paths below /caught/ are forbidden by robots.txt, so only a
// browser requests them, in which an attack succeeded; Caught tells. NewAttacks makes one. It is safe for concurrent
// use.
type Attacks struct {
	port   int
	caught *caught // shared by all ports
}

// caught are the requests for what nobody may request.
type caught struct {
	mu   sync.Mutex
	list []string
}

// caughtMost is the number of different requests that are kept.
const caughtMost = 1000

// attackHosts are the names of the hosts. All but the first have only a first page, whose danger is the name.
var attackHosts = []string{
	"attacks.example",
	"xn--80ak6aa92e.example",                   // аррӏе in Cyrillic letters
	"xn--4dbcagdahymbxekheh6e0a7fei0b.example", // Hebrew, from right to left
	"xn--pple-43d.example",                     // two scripts in a label
	"127.0.0.1.attacks.example",                // pretends to be the server
	strings.Repeat(strings.Repeat("w", 63)+".", 3) + "example",
}

// NewAttacks returns the site.
func NewAttacks() *Attacks { return &Attacks{caught: new(caught)} }

// List returns the pages of the first host.
func (a *Attacks) List() []Attack { return slices.Clone(attacks) }

// Caught returns the paths below /caught/ that were requested, each once, without that prefix.
func (a *Attacks) Caught() []string {
	a.caught.mu.Lock()
	defer a.caught.mu.Unlock()
	return slices.Clone(a.caught.list)
}

func (c *caught) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) < caughtMost && !slices.Contains(c.list, what) {
		c.list = append(c.list, what)
	}
}

// Hosts returns the number of hosts.
func (a *Attacks) Hosts() int { return len(attackHosts) }

// Host returns the name of a host.
func (a *Attacks) Host(host int) string { return attackHosts[host] }

// Root returns the URL of a host's first page.
func (a *Attacks) Root(host int) string {
	return scheme(false) + string(a.appendAuthority(nil, host)) + "/"
}

// Address returns the loopback address of a host. Each has its own.
func (a *Attacks) Address(host int) string { return address(host).String() }

// CrawlDelay returns 0.
func (a *Attacks) CrawlDelay(int) time.Duration { return 0 }

func (a *Attacks) addressOf(host int) int { return host }
func (a *Attacks) find(name []byte) int {
	return slices.Index(attackHosts, strings.ToLower(string(name)))
}
func (a *Attacks) https(int) bool       { return false }
func (a *Attacks) onPort(port int) Site { return &Attacks{port, a.caught} }

func (a *Attacks) forbidden(_ int, target []byte) bool {
	return strings.HasPrefix(string(target), "/caught")
}

func (a *Attacks) appendAuthority(dst []byte, host int) []byte {
	dst = append(dst, attackHosts[host]...)
	if a.port != 0 && a.port != 80 {
		dst = strconv.AppendInt(append(dst, ':'), int64(a.port), 10)
	}
	return dst
}

// answer also lists, at /caught.txt, what was caught, and at /attacks.txt the paths of the pages that act.
func (a *Attacks) answer(q *request, r *response) {
	path, _, _ := strings.Cut(string(q.target), "?")
	if what, found := strings.CutPrefix(string(q.target), "/caught/"); found {
		a.caught.add(what)
		r.plain(http.StatusNotFound, "Caught.")
		return
	}
	r.status, r.contentType = http.StatusOK, "text/plain; charset=utf-8"
	switch {
	case path == "/robots.txt":
		r.body = append(r.body, "User-agent: *\nDisallow: /caught\n# "+graffito("robots")+"\n"...)
	case path == "/caught.txt":
		r.body = append(r.body, strings.Join(a.Caught(), "\n")...)
	case path == "/attacks.txt":
		for _, page := range attacks {
			if page.Acts {
				r.body = append(append(r.body, page.Path...), '\n')
			}
		}
	case path == "/":
		r.contentType = "text/html; charset=utf-8"
		r.body = a.appendRoot(r.body, q.host)
	default:
		at := slices.IndexFunc(attacks, func(page Attack) bool { return page.Path == string(q.target) })
		if at >= 0 && q.host == 0 {
			a.show(&attacks[at], r)
			break
		}
		r.plain(http.StatusNotFound, "There is no trapped net here. "+graffito("missing"))
	}
	r.body = a.named(r.body)
}

// named writes the address of what is caught where CAUGHT stands.
func (a *Attacks) named(b []byte) []byte {
	return []byte(strings.ReplaceAll(string(b), "CAUGHT", strings.TrimSuffix(a.Root(0), "/")+"/caught"))
}

// appendRoot writes the first page of a host: that of the first host has links to all pages, and their texts are marked
// up, too.
func (a *Attacks) appendRoot(dst []byte, host int) []byte {
	dst = append(dst, "<!DOCTYPE html><html lang=en><title>A trapped net, host "...)
	dst = append(strconv.AppendInt(dst, int64(host), 10), "</title><p>A trapped net at "+attackHosts[host]+".\n"...)
	if host > 0 {
		return append(dst, `<a href="`+a.Root(0)+`">`+escaped(graffito("anchor"))+"</a>\n"...)
	}
	for i, page := range attacks {
		dst = append(dst, `<p><a href="`+escaped(page.Path)+`" title="`+escaped(graffito("tooltip"))+`">`...)
		dst = append(strconv.AppendInt(append(dst, escaped(graffito("anchor"))...), int64(i), 10), "</a>\n"...)
	}
	for host := 1; host < len(attackHosts); host++ {
		dst = append(dst, `<p><a href="`+a.Root(host)+`">another host</a>`+"\n"...)
	}
	return append(dst, `<p><a href="javascript:fetch('CAUGHT/link')">a script</a> <a href="data:text/html,x">data</a>
<a href="/missing?%22%3E%3Cscript%3E='onload='">missing</a>`...)
}

// show answers with a page.
func (a *Attacks) show(page *Attack, r *response) {
	if page.location != "" {
		r.plain(http.StatusFound, "Moved.")
		r.location = append(r.location, page.location...)
		return
	}
	r.header = a.named(append(r.header, page.header...))
	if r.contentType = page.contentType; r.contentType != "" {
		r.body = append(r.body, page.text()...)
		return
	}
	r.contentType = "text/html; charset=utf-8"
	title := page.title
	if title == "" {
		title = "A trapped net that has " + page.Does
	}
	r.body = append(r.body, "<!DOCTYPE html><html lang=en><title>"+escaped(title)+"</title>"+page.text()+
		"<p>A trapped net, with "+page.Does+".\n"...)
}
