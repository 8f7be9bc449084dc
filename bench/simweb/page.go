// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bytes"
	"strconv"
	"time"
)

// Kind is what a page is.
type Kind uint8

// The kinds.
const (
	KindPage          Kind = iota
	KindDuplicate          // it has the bytes of another page of its host
	KindNearDuplicate      // it has the text of another page of its host, except for a line
	KindRedirect           // 301 or 302
	KindMissing            // 404 or 410
	KindError              // 500, 502 or 503, always
)

// String names the kind.
func (k Kind) String() string {
	return [...]string{"page", "duplicate", "near-duplicate", "redirect", "missing", "error"}[k]
}

// pageDraw is what is drawn for a page. Its path, its title and its answer depend on nothing else.
type pageDraw struct {
	kind                                 Kind
	status                               int16
	forbidden, noIndex, noFollow, hasArg bool
	topic, subject, placeA, placeB       uint8
}

// draw draws a page. The first page of a host is always an ordinary page, so that no host is lost behind a dead link.
func (w *Web) draw(h *hostFacts, n int) pageDraw {
	r := newRNG(w.p.Seed, drawPage, h.number, n)
	x := r.next()
	d := pageDraw{status: 200, topic: uint8(x % topics), subject: uint8(x >> 16 % subjectsPerTopic)}
	d.placeA, d.placeB = uint8(r.skewed(len(h.text.placeA))), uint8(r.skewed(len(h.text.placeB)))
	if n == 0 {
		return d
	}
	p := &w.p
	u := r.share()
	switch {
	case u < p.Duplicate:
		d.kind = KindDuplicate
	case u < p.Duplicate+p.NearDuplicate:
		d.kind = KindNearDuplicate
	case u < p.Duplicate+p.NearDuplicate+p.Redirects:
		d.kind, d.status = KindRedirect, 301
		if r.chance(p.Temporary) {
			d.status = 302
		}
	case u < p.Duplicate+p.NearDuplicate+p.Redirects+p.Missing:
		d.kind, d.status = KindMissing, 404
		if r.below(25) == 0 {
			d.status = 410
		}
	case u < p.Duplicate+p.NearDuplicate+p.Redirects+p.Missing+p.Errors:
		d.kind, d.status = KindError, [...]int16{500, 502, 503}[r.below(3)]
	}
	r = rng{mix(x, uint64(n))} // so that flags do not depend on how many numbers the kind took
	d.forbidden = r.chance(p.Forbidden) && w.restricted(h.number)
	d.noIndex, d.noFollow, d.hasArg = r.chance(p.NoIndex), r.chance(p.NoFollow), r.chance(p.Queries)
	return d
}

// appendPath appends the path and query of a page; in html, & is written as &amp;.
//
//	/                                          the first page of a host
//	/fishing/night-fishing-gullbay-17.html     topic, subject and place of the title, and the number
//	/weather?id=18&sort=date                   pages with a query
//	/private/…-19.html                         what robots.txt forbids
//
// All are at most two levels deep, so that "../weather/x" means the same on each of them: a duplicate has the bytes,
// and therefore the links, of its original under another path.
func (w *Web) appendPath(dst []byte, h *hostFacts, n int, d *pageDraw, html bool) []byte {
	dst = append(dst, '/')
	if n == 0 {
		return dst
	}
	if d.forbidden {
		dst = append(dst, "private"...)
	} else {
		dst = append(dst, sections[d.topic]...)
		if d.hasArg {
			dst = strconv.AppendInt(append(dst, "?id="...), int64(n), 10)
			if html {
				return append(dst, "&amp;sort=date"...)
			}
			return append(dst, "&sort=date"...)
		}
	}
	words := slugsEnglish
	if h.native {
		words = &h.text.slugs
	}
	dst = append(append(dst, '/'), words[d.topic][d.subject]...)
	dst = append(append(dst, '-'), placeSlugs[int(d.placeA)%len(placeSlugs)]...)
	dst = strconv.AppendInt(append(dst, '-'), int64(n), 10)
	return append(dst, ".html"...)
}

// English words of paths, for hosts in every language.
var slugsEnglish, placeSlugs = func() (*[topics][subjectsPerTopic][]byte, []string) {
	out := new([topics][subjectsPerTopic][]byte)
	for i := range englishWords.topics {
		for j, s := range fields(englishWords.topics[i].subjects) {
			out[i][j] = []byte(slug(s))
		}
	}
	var places []string
	for _, a := range fields(englishWords.placeA) {
		places = append(places, slug(a))
	}
	return out, places
}()

// number finds the page of a request target. The number is read from the target, which must then be the path of that
// page.
func (w *Web) number(h *hostFacts, target []byte) (int, pageDraw, bool) {
	if len(target) == 1 && target[0] == '/' {
		return 0, w.draw(h, 0), true
	}
	digits, page := bytes.CutSuffix(target, []byte(".html"))
	if page {
		digits = digits[bytes.LastIndexByte(digits, '-')+1:]
	} else {
		_, rest, _ := bytes.Cut(target, []byte("?id="))
		digits, _, _ = bytes.Cut(rest, []byte{'&'})
	}
	n, ok := parseNumber(digits)
	if !ok || n < 1 || n >= h.pages {
		return 0, pageDraw{}, false
	}
	d := w.draw(h, n)
	var buf [256]byte
	return n, d, bytes.Equal(w.appendPath(buf[:0], h, n, &d, false), target)
}

// original returns the page whose content a duplicate has, or whose text a near-duplicate has: an earlier ordinary page
// that is not forbidden, at worst the first.
func (w *Web) original(h *hostFacts, n int) int {
	r := newRNG(w.p.Seed, drawOriginal, h.number, n)
	for range 16 {
		o := r.below(n)
		if d := w.draw(h, o); d.kind == KindPage && !d.forbidden {
			return o
		}
	}
	return 0
}

// redirect returns the target of a redirect: an earlier page of the host, so that redirects never loop, or the first
// page of another host.
func (w *Web) redirect(h *hostFacts, n int) (host, page int) {
	r := newRNG(w.p.Seed, drawRedirect, h.number, n)
	if w.p.Hosts > 1 && r.chance(w.p.RedirectsOut) {
		return w.otherHost(&r, h.number), 0
	}
	return h.number, r.below(n)
}

// otherHost draws a host other than the given one. Hosts with small numbers are the popular ones.
func (w *Web) otherHost(r *rng, not int) int {
	if h := r.skewed(w.p.Hosts); h != not {
		return h
	}
	return (not + 1) % w.p.Hosts
}

// change is the last change of a page before a time. Its number is 0 if the page has not changed since it was created.
type change struct {
	at     time.Time
	number uint64
}

// epoch is when the web began. Pages are created within the six years after it.
var epoch = time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC)

// lastChange computes a page's Poisson process without walking it. Time since the epoch is cut into windows of the mean
// interval, and the changes of a window are drawn from its number: how many (Poisson with mean 1) and when. The last
// one before now is in the current window or a few before it.
func (w *Web) lastChange(h *hostFacts, n int, now time.Time) change {
	r := newRNG(w.p.Seed, drawTime, h.number, n)
	created := change{at: epoch.Add(time.Duration(r.below(6*365*24*3600)) * time.Second)}
	every := w.p.ChangeEvery
	if every <= 0 || !now.After(epoch) {
		return created
	}
	since := now.Sub(epoch)
	for back, window := 0, int64(since/every); window >= 0 && back < 64; window, back = window-1, back+1 {
		r := newRNG(w.p.Seed^uint64(window), drawTime, h.number, n)
		last := time.Duration(-1)
		for k := poisson1(&r); k > 0; k-- {
			at := time.Duration(window)*every + time.Duration(r.share()*float64(every))
			if at <= since && at > last {
				last = at
			}
		}
		if last >= 0 {
			return change{at: epoch.Add(last.Truncate(time.Second)), number: mix(uint64(last), 1)}
		}
	}
	return created
}

// poisson1 draws from the Poisson distribution with mean 1, by inversion (Devroye 1986).
func poisson1(r *rng) int {
	u, p := r.share(), 0.36787944117144233
	k := 0
	for sum := p; u > sum && k < 20; sum += p {
		k++
		p /= float64(k)
	}
	return k
}
