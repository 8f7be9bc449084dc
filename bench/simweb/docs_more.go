// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bytes"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"
	"golang.org/x/net/html/charset"
)

// charsetMode is what a host of documents declares as the charset of its HTML.
type charsetMode uint8

const (
	charsetFixed   charsetMode = iota // DocsOptions.HTMLCharset
	charsetRight                      // the charset that the file itself declares
	charsetWrong                      // another one
	charsetMissing                    // none
)

// charsetMode draws the mode from the host's name, so that it does not depend on the other hosts.
func (d *Docs) charsetMode(host int) charsetMode {
	if d.o.RightCharset == 0 && d.o.WrongCharset == 0 {
		return charsetFixed
	}
	u := unit(mix(d.o.Seed, xxh3.HashString(d.hosts[host].name)))
	switch {
	case u < d.o.RightCharset:
		return charsetRight
	case u < d.o.RightCharset+d.o.WrongCharset:
		return charsetWrong
	}
	return charsetMissing
}

// wrongCharsets are named where a file declares another one.
var wrongCharsets = []string{"windows-1251", "shift_jis", "iso-8859-2", "utf-8"}

// htmlType returns the Content-Type of an HTML file of a host.
func (d *Docs) htmlType(host int, body []byte) string {
	const html = "text/html"
	mode := d.charsetMode(host)
	if mode == charsetFixed && d.o.HTMLCharset != "" {
		return html + "; charset=" + d.o.HTMLCharset
	}
	if mode == charsetFixed || mode == charsetMissing {
		return html
	}
	start := body[:min(len(body), 1024)]
	_, declared, certain := charset.DetermineEncoding(start, "")
	switch {
	// it declares none, so none would be right
	case !certain && !bytes.Contains(bytes.ToLower(start), []byte("charset")):
		return html
	case mode == charsetRight:
		return html + "; charset=" + declared
	}
	for i := range wrongCharsets {
		wrong := wrongCharsets[(int(d.o.Seed)+i+host)%len(wrongCharsets)]
		if wrong != declared {
			return html + "; charset=" + wrong
		}
	}
	return html
}

// sitemapLists are the HTML files of each host whose sitemap was requested.
type sitemapLists struct {
	mu     sync.Mutex
	byHost map[int][]string
}

// htmlFiles returns the paths of a host's HTML files, escaped as in URLs, in order. Symbolic links are not followed:
// each file is listed once.
func (d *Docs) htmlFiles(host int) []string {
	d.lists.mu.Lock()
	defer d.lists.mu.Unlock()
	if list, known := d.lists.byHost[host]; known {
		return list
	}
	list := []string{}
	top := filepath.Join(d.o.Root, d.hosts[host].dir)
	filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && isHTMLName(name) {
			list = append(list, (&url.URL{Path: filepath.ToSlash(strings.TrimPrefix(name, top))}).EscapedPath())
		}
		return nil // a file that cannot be read is not listed
	})
	d.lists.byHost[host] = list
	return list
}

// answerMachine answers requests for robots.txt and sitemaps, and returns false for anything else.
func (d *Docs) answerMachine(host int, target []byte, r *response) bool {
	switch {
	case string(target) == "/robots.txt" && (d.o.Robots != "" || d.o.Sitemaps):
		r.status, r.contentType = http.StatusOK, "text/plain"
		r.body = append(r.body, d.o.Robots...)
		if d.o.Sitemaps {
			r.body = append(d.appendAuthority(append(r.body, "\nSitemap: http://"...), host), "/sitemap.xml\n"...)
		}
		return true
	case !d.o.Sitemaps || !bytes.HasPrefix(target, []byte("/sitemap")):
		return false
	}
	files := d.htmlFiles(host)
	parts := (len(files) + sitemapURLs - 1) / sitemapURLs
	base := string(d.appendAuthority([]byte("http://"), host))
	part := 0
	if string(target) == "/sitemap.xml" {
		if parts > 1 {
			var locs []string
			for i := range parts {
				locs = append(locs, "/sitemap-"+strconv.Itoa(i)+".xml")
			}
			r.status, r.contentType, r.body = http.StatusOK, "application/xml", appendLocs(
				r.body, "sitemapindex", "sitemap", base, locs,
			)
			return true
		}
	} else {
		digits, _ := bytes.CutPrefix(target, []byte("/sitemap-"))
		digits, _ = bytes.CutSuffix(digits, []byte(".xml"))
		var ok bool
		if part, ok = parseNumber(digits); !ok || parts < 2 || part >= parts {
			return false
		}
	}
	listed := files[min(part*sitemapURLs, len(files)):min((part+1)*sitemapURLs, len(files))]
	r.status, r.contentType, r.body = http.StatusOK, "application/xml", appendLocs(
		r.body, "urlset", "url", base, listed,
	)
	return true
}

// appendLocs writes a sitemap or an index of sitemaps (sitemaps.org, 0.9).
func appendLocs(dst []byte, all, each, base string, locs []string) []byte {
	dst = append(
		append(append(dst, `<?xml version="1.0" encoding="UTF-8"?>`+"\n<"...), all...),
		` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`+"\n"...,
	)
	for _, l := range locs {
		dst = append(dst, "<"+each+"><loc>"+escapeHTML(base+l)+"</loc></"+each+">\n"...)
	}
	return append(dst, "</"+all+">\n"...)
}
