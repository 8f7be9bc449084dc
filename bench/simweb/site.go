// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bytes"
	"net/http"
	"time"
)

// Site is what a Server plays: a *Web, a *Prerendered, a *Docs, a *Graph or *Attacks. Nobody else can implement it.
// Hosts are numbered from 0 to Hosts()-1. Its methods are safe for concurrent use.
type Site interface {
	// Hosts returns the number of hosts.
	Hosts() int
	// Root returns the URL of a host's first page, a seed for crawls.
	Root(host int) string
	// Host returns the name of a host, without port.
	Host(host int) string
	// Address returns the loopback address of a host, without port. Hosts may share one.
	Address(host int) string
	addressOf(host int) int
	appendAuthority(dst []byte, host int) []byte // name and port, as in URLs
	https(host int) bool                         // URLs of the host are https
	// find returns the host of a name without port, or -1.
	find(name []byte) int
	// answer fills r. It must not keep anything of q.
	answer(q *request, r *response)
	// forbidden reports whether robots.txt forbids a target.
	forbidden(host int, target []byte) bool
	// CrawlDelay returns the Crawl-delay of a host's robots.txt; 0: none.
	CrawlDelay(host int) time.Duration
	// onPort returns the same site with that port in its URLs.
	onPort(port int) Site
}

// request is the part of an HTTP request that a site needs. Its slices are valid until the response is made.
type request struct {
	host            int
	target          []byte // path and query, as received
	ifNoneMatch     []byte
	ifModifiedSince []byte
	gzip            bool // is accepted
	now             time.Time
}

// response is an HTTP response to be written. The connection reuses body.
type response struct {
	status      int
	contentType string
	location    []byte
	header      []byte // more fields, each with its end of line
	etag        uint64 // 0: none
	modified    time.Time
	body        []byte
	gzip        bool          // body is compressed
	wait        time.Duration // before the first byte
}

// plain makes r a response of plain text.
func (r *response) plain(status int, text string) {
	r.status, r.contentType = status, "text/plain; charset=utf-8"
	r.body = append(append(r.body[:0], text...), '\n')
}

// unchanged makes r a 304 if the client has this version already (RFC 9110, 13.1: an ETag takes precedence over a
// date).
func (r *response) unchanged(q *request) bool {
	same := false
	switch {
	case len(q.ifNoneMatch) > 0:
		var buf [32]byte
		same = r.etag != 0 && bytes.Contains(q.ifNoneMatch, appendETag(buf[:0], r.etag)) || string(q.ifNoneMatch) == "*"
	case len(q.ifModifiedSince) > 0 && !r.modified.IsZero():
		t, err := http.ParseTime(string(q.ifModifiedSince))
		same = err == nil && !r.modified.After(t)
	}
	if same {
		r.status = http.StatusNotModified
		r.body = r.body[:0]
	}
	return same
}

func appendETag(dst []byte, etag uint64) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, hex[etag>>shift&15])
	}
	return append(dst, '"')
}

func (w *Web) find(name []byte) int { return w.names.find(name) }
func (w *Web) onPort(port int) Site { return w.withPort(port) }

func (w *Web) appendAuthority(dst []byte, host int) []byte {
	return append(w.names.append(dst, host), w.suffix...)
}

func (w *Web) https(host int) bool {
	return w.p.HTTPS > 0 && unit(mix(w.spread(alphaSqrt5, host), 11)) < w.p.HTTPS
}

func (w *Web) forbidden(host int, target []byte) bool {
	switch w.robotsMode(host) {
	case robotsBroken:
		return true
	case robotsRestricted:
		return bytes.HasPrefix(target, []byte("/private/"))
	}
	return false
}

// contentType names the charset on the share CharsetInHeader of hosts.
func (w *Web) contentType(h *hostFacts) string {
	if unit(mix(w.spread(alphaSqrt2, h.number), 5)) < w.p.CharsetInHeader {
		return h.text.header
	}
	return "text/html"
}

func (w *Web) answer(q *request, r *response) {
	h := w.host(q.host)
	if bytes.HasPrefix(q.target, []byte("/robots.txt")) || bytes.HasPrefix(q.target, []byte("/sitemap")) {
		w.answerMachine(&h, q, r)
		return
	}
	n, d, ok := w.number(&h, q.target)
	if !ok {
		r.plain(http.StatusNotFound, "There is no such page, and no page links to it.")
		return
	}
	r.wait = w.latency(&h, n)
	switch d.kind {
	case KindMissing:
		r.plain(int(d.status), "This page is missing, as one in twenty is.")
		return
	case KindError:
		r.plain(int(d.status), "This page fails, always.")
		return
	case KindRedirect:
		r.plain(int(d.status), "Moved.")
		host, page := w.redirect(&h, n)
		r.location = w.AppendURL(r.location, host, page)
		return
	}
	c := w.content(&h, n, &d)
	changed := w.lastChange(&h, c.page, q.now)
	r.status, r.contentType, r.modified = http.StatusOK, w.contentType(&h), changed.at
	r.etag = mix(changed.number^w.p.Seed, mix(uint64(h.number), uint64(c.page))) | 1
	if !r.unchanged(q) {
		r.body = w.appendHTML(r.body, &h, &c, changed)
	}
}

// answerMachine answers requests for robots.txt and sitemaps.
func (w *Web) answerMachine(h *hostFacts, q *request, r *response) {
	if string(q.target) != "/robots.txt" {
		var ok bool
		if r.body, ok = w.appendSitemap(r.body, h, q.target); !ok {
			r.plain(http.StatusNotFound, "There is no such sitemap.")
			return
		}
		r.status, r.contentType = http.StatusOK, "application/xml"
		return
	}
	switch w.robotsMode(h.number) {
	case robotsNone:
		r.plain(http.StatusNotFound, "There is no robots.txt: everything is allowed.")
	case robotsBroken:
		r.plain(http.StatusServiceUnavailable, "robots.txt cannot be read: nothing is allowed.")
	default:
		r.status, r.contentType = http.StatusOK, "text/plain"
		r.body = w.appendRobots(r.body, h.number)
	}
}

// latency is the time to the first byte of a page: the host's own median times the page's jitter.
func (w *Web) latency(h *hostFacts, n int) time.Duration {
	if unit(mix(w.spread(alphaSqrt3, h.number), 7)) < w.p.SlowHosts {
		return w.p.SlowLatency
	}
	if w.p.Latency == 0 {
		return 0
	}
	host := newRNG(w.p.Seed, drawLatency, h.number, -1)
	page := newRNG(w.p.Seed, drawLatency, h.number, n)
	return time.Duration(host.of(w.latencies)) * time.Duration(page.of(w.jitter)) * time.Nanosecond // µs × thousandths
}
