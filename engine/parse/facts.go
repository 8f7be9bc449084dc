// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// Facts are what a page says of itself for machines: in meta elements (names of HTML, OpenGraph, Dublin Core and
// schema.org's microdata) and in JSON-LD. Of several, what says it most exactly counts, then what comes first.
type Facts struct {
	Author    string
	SiteName  string
	Type      string    // OpenGraph's: "article"
	Image     string    // address of a picture that stands for the page, as written
	Published time.Time // zero where nothing is said, or no date
	Modified  time.Time
}

// fact is one of what pages say of themselves.
type fact uint8

const (
	factTitle fact = iota
	factDescription
	factAuthor
	factSite
	factType
	factImage
	factPublished
	factModified
	facts
)

// metaFacts are names and properties of meta elements, by how exactly they say it: the first of a line most.
var metaFacts = map[fact]string{
	factTitle:       "og:title twitter:title dc.title dcterms.title",
	factDescription: "og:description twitter:description dc.description dcterms.description",
	factAuthor:      "author article:author dc.creator dcterms.creator parsely-author sailthru.author byl",
	factSite:        "og:site_name application-name",
	factType:        "og:type",
	factImage:       "og:image:secure_url og:image og:image:url twitter:image thumbnailurl",
	factPublished: "article:published_time datepublished og:article:published_time article.published parsely-pub-date dcterms.created dcterms.issued dcterms.date dc.date.issued dc.date " +
		"sailthru.date citation_publication_date citation_date pubdate publish-date publication_date date",
	factModified: "article:modified_time datemodified og:updated_time og:modified_time dcterms.modified last-modified lastmod",
}

// ranked is a fact and how exactly it is said; 0 is best.
type ranked struct {
	fact fact
	rank uint8
}

// rankLD is the rank of what JSON-LD says: behind the first names of a line.
const rankLD = 1

var metaNames = func() map[string]ranked {
	m := map[string]ranked{}
	for f, names := range metaFacts {
		for i, name := range strings.Fields(names) {
			m[name] = ranked{f, uint8(2 * i)}
		}
	}
	return m
}()

// maxFactName is the longest of the names, or more.
const maxFactName = 32

// foundFacts are those of the page at hand, in the arena.
type foundFacts struct {
	at    [facts]span
	ranks [facts]uint8 // plus one
}

// better says that a fact said so exactly is not known so well yet.
func (f *foundFacts) better(r ranked) bool { return f.ranks[r.fact] == 0 || r.rank+1 < f.ranks[r.fact] }

// named notes what a meta element of a name says.
func (p *htmlPass) named(name, content []byte) {
	var buf [maxFactName]byte
	name = bytes.TrimSpace(name)
	if len(name) > len(buf) {
		return
	}
	key := buf[:copy(buf[:], name)]
	lower(key)
	r, ok := metaNames[string(key)]
	if !ok || !p.facts.better(r) {
		return
	}
	s := p.fold(content, MaxDescription)
	if r.fact == factAuthor && bytes.Contains(p.arena[s.from:s.to], []byte("://")) { // a profile's address
		return
	}
	if s.from < s.to {
		p.facts.at[r.fact], p.facts.ranks[r.fact] = s, r.rank+1
	}
}

// ldKeys are keys of JSON-LD, each with its quotes.
var ldKeys = [...]struct {
	fact fact
	key  []byte
}{{factPublished, []byte(`"datePublished"`)}, {factModified, []byte(`"dateModified"`)}, {factAuthor, []byte(`"author"`)}}

// maxLD is how far behind an author's key the name is looked for.
const maxLD = 512

// linkedData notes what a script of JSON-LD says. It looks for keys wherever they are, in place of reading the JSON: the
// first is the page's own on the pages of TestFactsOfRealPages, mostly.
func (p *htmlPass) linkedData(script []byte) {
	for _, k := range ldKeys {
		r := ranked{k.fact, rankLD}
		i := bytes.Index(script, k.key)
		if i < 0 || !p.facts.better(r) {
			continue
		}
		value := afterColon(script[i+len(k.key):])
		if k.fact == factAuthor && len(value) > 0 && (value[0] == '{' || value[0] == '[') {
			value = value[:min(len(value), maxLD)]
			name := bytes.Index(value, []byte(`"name"`))
			if name < 0 {
				continue
			}
			value = afterColon(value[name+len(`"name"`):])
		}
		text := jsonString(value)
		if text == "" || strings.Contains(text, "://") {
			continue
		}
		var w textWriter
		w.begin(p.arena, MaxDescription)
		w.write([]byte(text), nil)
		p.facts.at[k.fact], p.facts.ranks[k.fact] = span{int32(w.start), int32(len(w.out))}, rankLD+1
		p.arena = w.out
	}
}

// afterColon skips white space and a colon.
func afterColon(b []byte) []byte {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 || b[0] != ':' {
		return nil
	}
	return bytes.TrimLeft(b[1:], " \t\r\n")
}

// jsonString returns the string at the begin of b, "" if there is none.
func jsonString(b []byte) string {
	if len(b) == 0 || b[0] != '"' {
		return ""
	}
	for n := 1; n < min(len(b), maxLD); n++ {
		switch b[n] {
		case '\\':
			n++
		case '"':
			var s string
			if json.Unmarshal(b[:n+1], &s) != nil {
				return ""
			}
			return s
		}
	}
	return ""
}

// factsOf cuts the facts from the string of all, and reads the dates.
func (p *htmlPass) factsOf(cut func(span) string) (f Facts) {
	f.Author, f.SiteName, f.Type, f.Image = cut(p.facts.at[factAuthor]), cut(p.facts.at[factSite]), cut(p.facts.at[factType]), cut(p.facts.at[factImage])
	f.Published, f.Modified = pageDate(cut(p.facts.at[factPublished])), pageDate(cut(p.facts.at[factModified]))
	return f
}

// pageLayouts are forms of dates that pages have beside those of W3C's profile of ISO 8601.
var pageLayouts = [...]string{"2006-01-02T15:04:05-0700", "2006-01-02T15:04:05.000-0700", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04", "2006/01/02", "20060102",
	time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, "2 Jan 2006 15:04:05 MST", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006"}

// pageDate reads a date; the zero time where it is none, or none that a page can have.
func pageDate(s string) time.Time {
	if len(s) < len("2006") || len(s) > 64 {
		return time.Time{}
	}
	t := time.Time{}
	if at := w3cTime(s); at != 0 {
		t = time.Unix(at, 0)
	}
	for i := 0; i < len(pageLayouts) && t.IsZero(); i++ {
		if d, err := time.Parse(pageLayouts[i], s); err == nil {
			t = d
		}
	}
	if t = t.UTC(); t.Year() < 1000 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}
