// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bytes"
	"strconv"
	"time"
)

// robotsMode is how a host answers a request for robots.txt.
type robotsMode uint8

const (
	robotsOpen       robotsMode = iota // a file that forbids nothing
	robotsRestricted                   // /private/ is forbidden
	robotsNone                         // 404: everything is allowed
	robotsBroken                       // 503: nothing is
)

func (w *Web) robotsMode(host int) robotsMode {
	u := unit(w.spread(alphaSqrt11, host))
	switch {
	case u < w.p.RobotsErrors:
		return robotsBroken
	case u < w.p.RobotsErrors+w.p.NoRobots:
		return robotsNone
	case u >= 1-w.p.Restricted:
		return robotsRestricted
	}
	return robotsOpen
}

func (w *Web) restricted(host int) bool { return w.robotsMode(host) == robotsRestricted }

// denied reports whether a polite crawler must not request a page.
func (w *Web) denied(h *hostFacts, n int, d *pageDraw) bool {
	return d.forbidden || w.robotsMode(h.number) == robotsBroken
}

// CrawlDelay returns the Crawl-delay of a host, 0 for none.
func (w *Web) CrawlDelay(host int) time.Duration {
	if m := w.robotsMode(host); m != robotsOpen && m != robotsRestricted {
		return 0
	}
	// Only hosts with a robots.txt can have one: their share is raised so that Delayed holds over all hosts.
	if unit(w.spread(alphaSqrt13, host))*(1-w.p.RobotsErrors-w.p.NoRobots) < w.p.Delayed {
		return w.p.CrawlDelay
	}
	return 0
}

func (w *Web) hasSitemap(host int) bool {
	return w.p.Sitemaps > 0 && unit(mix(w.spread(alphaGolden, host), 3)) < w.p.Sitemaps
}

func (w *Web) appendRobots(dst []byte, host int) []byte {
	dst = append(dst, "# Be welcome, and be polite.\nUser-agent: *\n"...)
	if w.restricted(host) {
		dst = append(dst, "Disallow: /private/\n"...)
	} else {
		dst = append(dst, "Disallow:\n"...)
	}
	if d := w.CrawlDelay(host); d > 0 {
		dst = append(dst, "Crawl-delay: "...)
		dst = append(strconv.AppendFloat(dst, d.Seconds(), 'g', -1, 64), '\n')
	}
	if w.hasSitemap(host) {
		dst = append(w.appendBase(append(dst, "Sitemap: "...), host), "/sitemap.xml\n"...)
	}
	return dst
}

// appendSitemap appends the sitemap of a target. /sitemap.xml lists the pages of a host, or, if there are more than
// sitemapURLs, the files /sitemap-0.xml and following that list them. Pages that answer 200 and are not forbidden are
// listed.
func (w *Web) appendSitemap(dst []byte, h *hostFacts, target []byte) ([]byte, bool) {
	if !w.hasSitemap(h.number) {
		return dst, false
	}
	const head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
	const space = ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n"
	files := (h.pages + sitemapURLs - 1) / sitemapURLs
	file := 0
	if string(target) == "/sitemap.xml" {
		if files > 1 {
			dst = append(dst, head+"<sitemapindex"+space...)
			for i := range files {
				dst = append(w.appendBase(append(dst, "<sitemap><loc>"...), h.number), "/sitemap-"...)
				dst = append(strconv.AppendInt(dst, int64(i), 10), ".xml</loc></sitemap>\n"...)
			}
			return append(dst, "</sitemapindex>\n"...), true
		}
	} else {
		digits, _ := bytes.CutPrefix(target, []byte("/sitemap-"))
		digits, _ = bytes.CutSuffix(digits, []byte(".xml"))
		var ok bool
		if file, ok = parseNumber(digits); !ok || files == 1 || file >= files {
			return dst, false
		}
	}
	dst = append(dst, head+"<urlset"+space...)
	for n := file * sitemapURLs; n < min((file+1)*sitemapURLs, h.pages); n++ {
		d := w.draw(h, n)
		if d.status != 200 || d.forbidden {
			continue
		}
		dst = w.appendBase(append(dst, "<url><loc>"...), h.number)
		dst = w.appendPath(dst, h, n, &d, true)
		dst = append(dst, "</loc></url>\n"...)
	}
	return append(dst, "</urlset>\n"...), true
}
