// SPDX-License-Identifier: Apache-2.0

package simweb

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// DocsOptions say how folders of documents become hosts. The zero value serves them as they are, without robots.txt.
type DocsOptions struct {
	// Root confines what is served: no path and no symbolic link leads out of it, and absolute symbolic links are
	// relative to it. For packages that were unpacked into a folder, it is that folder. "": the file system's root.
	Root string
	// HTMLCharset is named in the Content-Type of HTML; "": none is named, as by most servers.
	HTMLCharset string
	// RightCharset and WrongCharset are the shares of hosts, 0 to 1, whose Content-Type names the charset that an HTML
	// file itself declares, or another one; the remaining hosts name none. Both 0: HTMLCharset holds for all.
	RightCharset, WrongCharset float64
	// Seed of the draws for hosts.
	Seed uint64
	// Sitemaps gives every host a /sitemap.xml of its HTML files, and a robots.txt that names it.
	Sitemaps bool
	// Listing answers a request for a folder without index.html with a page of links to its files; otherwise it is a
	// 404.
	Listing bool
	// Robots is the text of every host's robots.txt; "": 404.
	Robots string
}

// Docs serves folders of documents, a host each; NewDocs makes one. It is safe for concurrent use. Its truth holds only
// while the files do not change. Hosts are numbered from 0 in the order of the folders.
type Docs struct {
	o     DocsOptions
	hosts []docHost
	port  int
	lists *sitemapLists
}

type docHost struct {
	name string
	dir  string // below Root, slash-separated, without links in it
}

var hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)

// NewDocs makes a site of folders. Each is "name=DIR", or "DIR" for a host named after the folder's last two elements,
// the last first: /usr/share/doc/python3/html is html.python3.example. The error names a folder that does not exist, is
// not below the root, or would have a host name that is invalid or taken.
func NewDocs(o DocsOptions, folders ...string) (*Docs, error) {
	if o.Root == "" {
		o.Root = "/"
	}
	root, err := filepath.Abs(o.Root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root)
	}
	if err != nil {
		return nil, fmt.Errorf("root of the documents: %w", err)
	}
	o.Root = root
	if o.RightCharset < 0 || o.WrongCharset < 0 || o.RightCharset+o.WrongCharset > 1 {
		return nil, fmt.Errorf(
			"shares of hosts with a right and a wrong charset: %g and %g: want together no more than 1",
			o.RightCharset, o.WrongCharset,
		)
	}
	d := &Docs{o: o, lists: &sitemapLists{byHost: map[int][]string{}}}
	for _, f := range folders {
		name, dir, named := strings.Cut(f, "=")
		if !named {
			name, dir = "", f
		}
		abs, err := filepath.Abs(dir)
		if err == nil {
			abs, err = filepath.EvalSymlinks(filepath.Dir(abs)) // the folder itself may be an absolute link below Root
			abs = filepath.Join(abs, filepath.Base(dir))
		}
		if err != nil {
			return nil, fmt.Errorf("folder of documents %s: %w", dir, err)
		}
		rel, err := filepath.Rel(root, abs)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			return nil, fmt.Errorf("folder of documents %s: it is not below the root %s", dir, root)
		}
		real, info, err := d.resolve(filepath.ToSlash(rel))
		if err != nil {
			return nil, fmt.Errorf("folder of documents %s: %w", dir, err)
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("folder of documents %s: it is not a folder", dir)
		}
		if !named {
			name = nameOf(abs)
		}
		if name = strings.ToLower(name); !hostName.MatchString(name) {
			return nil, fmt.Errorf("folder of documents %s: %q is no host name: give one as name=%s", dir, name, dir)
		}
		if slices.ContainsFunc(d.hosts, func(h docHost) bool { return h.name == name }) {
			return nil, fmt.Errorf(
				"folder of documents %s: there is a host %s already: give another name as name=%s",
				dir, name, dir,
			)
		}
		d.hosts = append(d.hosts, docHost{name, real})
	}
	if len(d.hosts) == 0 {
		return nil, errors.New("no folders of documents")
	}
	return d, nil
}

func nameOf(dir string) string {
	name := hostLabel(filepath.Base(dir))
	if parent := hostLabel(filepath.Base(filepath.Dir(dir))); parent != "" {
		name += "." + parent
	}
	return name + ".example"
}

var notLabel = regexp.MustCompile(`[^a-z0-9]+`)

// hostLabel turns a folder's name into a label of a host name.
func hostLabel(s string) string {
	return strings.Trim(notLabel.ReplaceAllString(strings.ToLower(s), "-"), "-")
}

// resolve follows a slash-separated path below Root, link by link, and returns the path without links and what is
// there. It never leaves Root: ".." at the top stays at the top, as after chroot.
func (d *Docs) resolve(name string) (string, fs.FileInfo, error) {
	rest := strings.Split(name, "/")
	var at []string
	var err error
	for links := 0; len(rest) > 0 && err == nil; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = at[:max(len(at)-1, 0)]
			continue
		}
		full := filepath.Join(d.o.Root, filepath.Join(at...), part)
		var info fs.FileInfo
		if info, err = os.Lstat(full); err != nil {
			break
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if len(rest) > 0 && !info.IsDir() {
				return "", nil, fs.ErrNotExist
			}
			at = append(at, part)
			continue
		}
		if links++; links > maxSymlinks {
			return "", nil, fmt.Errorf("more than %d symbolic links", maxSymlinks)
		}
		var target string
		if target, err = os.Readlink(full); err != nil {
			break
		}
		if strings.HasPrefix(target, "/") {
			at = nil
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if err != nil {
		return "", nil, err
	}
	real := strings.Join(at, "/")
	info, err := os.Lstat(filepath.Join(d.o.Root, real)) // ".." may have led to another folder
	return real, info, err
}

// document is what a path of a host leads to.
type document struct {
	file     string // to be read, "" if none
	redirect bool   // to the same path with a slash at its end
	listing  bool   // of dir
	dir      string
	modified time.Time
}

// locate finds the document at a decoded path, which begins with a slash.
func (d *Docs) locate(host int, p string) (document, bool) {
	// Empty, "." and ".." segments would give one document many names; a path has one spelling here.
	dots := func(s string) bool { return s == "." || s == ".." }
	if strings.ContainsRune(p, 0) || strings.Contains(p, "//") || slices.ContainsFunc(strings.Split(p, "/"), dots) {
		return document{}, false
	}
	real, info, err := d.resolve(d.hosts[host].dir + p)
	if err != nil {
		return document{}, false
	}
	slash := strings.HasSuffix(p, "/")
	switch {
	case info.Mode().IsRegular():
		return document{file: real, modified: info.ModTime()}, !slash
	case !info.IsDir():
		return document{}, false
	case !slash:
		return document{redirect: true}, true
	}
	if index, info, err := d.resolve(real + "/index.html"); err == nil && info.Mode().IsRegular() {
		return document{file: index, modified: info.ModTime()}, true
	}
	return document{listing: true, dir: real}, d.o.Listing
}

// docTypes are the media types by extension. The system's table would differ by machine.
var docTypes = map[string]string{
	".html": "text/html", ".htm": "text/html", ".xhtml": "application/xhtml+xml",
	".txt": "text/plain; charset=utf-8", ".css": "text/css", ".js": "text/javascript",
	".json": "application/json", ".xml": "application/xml", ".svg": "image/svg+xml", ".png": "image/png",
	".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".ico": "image/x-icon",
	".pdf": "application/pdf", ".gz": "application/gzip", ".xz": "application/x-xz", ".zip": "application/zip",
	".woff": "font/woff", ".woff2": "font/woff2", ".ttf": "font/ttf", ".py": "text/x-python", ".c": "text/x-c",
	".sh": "text/x-sh", ".md": "text/markdown; charset=utf-8", ".rst": "text/plain; charset=utf-8",
	".ps": "application/postscript",
}

func (d *Docs) contentType(host int, file string, body []byte) string {
	t, known := docTypes[strings.ToLower(path.Ext(file))]
	switch {
	case !known:
		return "application/octet-stream"
	case t == "text/html":
		return d.htmlType(host, body)
	}
	return t
}

func (d *Docs) answer(q *request, r *response) {
	target, _, _ := bytes.Cut(q.target, []byte{'?'}) // documents do not depend on the query
	if d.answerMachine(q.host, target, r) {
		return
	}
	name, err := url.PathUnescape(string(target))
	doc, found := document{}, false
	if err == nil {
		doc, found = d.locate(q.host, name)
	}
	switch {
	case !found:
		r.plain(http.StatusNotFound, "There is no such document.")
	case doc.redirect:
		r.plain(http.StatusMovedPermanently, "Moved.")
		r.location = append(append(d.appendAuthority(append(r.location, "http://"...), q.host), target...), '/')
	case doc.listing:
		r.status, r.contentType = http.StatusOK, "text/html; charset=utf-8"
		r.body = d.appendListing(r.body, doc.dir)
	default:
		d.answerFile(q, r, doc)
	}
}

func (d *Docs) answerFile(q *request, r *response, doc document) {
	r.status, r.modified = http.StatusOK, doc.modified.Truncate(time.Second)
	if r.unchanged(q) {
		return
	}
	body, err := d.read(doc.file)
	if err != nil {
		*r = response{body: r.body, location: r.location}
		r.plain(http.StatusInternalServerError, "The document cannot be read: "+err.Error())
		return
	}
	r.contentType, r.body = d.contentType(q.host, doc.file, body), append(r.body, body...)
}

func (d *Docs) read(file string) ([]byte, error) {
	full := filepath.Join(d.o.Root, file)
	info, err := os.Stat(full)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxDocBytes {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", full, info.Size(), maxDocBytes)
	}
	return os.ReadFile(full)
}

// appendListing appends the page of a folder: its names in order, those of folders with a slash.
func (d *Docs) appendListing(dst []byte, dir string) []byte {
	dst = append(dst, "<!DOCTYPE html>\n<html><head><title>Index</title></head><body><ul>\n"...)
	entries, _ := os.ReadDir(filepath.Join(d.o.Root, dir)) // a folder that cannot be read looks empty
	for _, e := range entries {
		_, info, err := d.resolve(dir + "/" + e.Name())
		if err != nil {
			continue
		}
		name := e.Name()
		if info.IsDir() {
			name += "/"
		}
		href := (&url.URL{Path: "./" + name}).EscapedPath()
		dst = fmt.Appendf(dst, "<li><a href=\"%s\">%s</a></li>\n", escapeHTML(href), escapeHTML(name))
	}
	return append(dst, "</ul></body></html>\n"...)
}

var escapeHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;").Replace

// Host returns the name of a host.
func (d *Docs) Host(host int) string { return d.hosts[host].name }

// Hosts returns the number of hosts.
func (d *Docs) Hosts() int { return len(d.hosts) }

// Address returns the loopback address of a host. Each has its own.
func (d *Docs) Address(host int) string { return address(host).String() }

// CrawlDelay returns 0: the robots.txt of documents is the user's own and not judged.
func (d *Docs) CrawlDelay(int) time.Duration { return 0 }

// Root returns the URL of a host's top folder.
func (d *Docs) Root(host int) string {
	return string(append(d.appendAuthority([]byte("http://"), host), '/'))
}

func (d *Docs) addressOf(host int) int     { return host }
func (d *Docs) forbidden(int, []byte) bool { return false }
func (d *Docs) https(int) bool             { return false }

func (d *Docs) find(name []byte) int {
	return slices.IndexFunc(d.hosts, func(h docHost) bool { return strings.EqualFold(h.name, string(name)) })
}

func (d *Docs) appendAuthority(dst []byte, host int) []byte {
	dst = append(dst, d.hosts[host].name...)
	if d.port != 0 && d.port != 80 {
		dst = fmt.Appendf(dst, ":%d", d.port)
	}
	return dst
}

func (d *Docs) onPort(port int) Site {
	c := *d
	c.port = port
	return &c
}
