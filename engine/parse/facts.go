// SPDX-License-Identifier: Apache-2.0

// Facts about a page for its readers: author, site, type, image and dates, from meta elements and JSON-LD.
// (content/facts.go reads page types as features of the content model.)

package parse

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// Facts are a page's machine-readable statements about itself: meta elements (names of HTML, OpenGraph, Dublin Core
// and schema.org's microdata) and JSON-LD. If several sources state one fact, the most specific counts, and among
// equals the first. Strings are valid UTF-8 of at most MaxDescription bytes, "" when not stated.
type Facts struct {
	Author    string
	SiteName  string
	Type      string    // OpenGraph's type, such as "article"
	Image     string    // URL reference of an image that represents the page, as written
	Published time.Time // in UTC; zero when not stated or not a date
	Modified  time.Time // in UTC; zero when not stated or not a date
}

// fact names one statement.
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

// metaFacts are names and properties of meta elements, the most specific of each fact first.
var metaFacts = map[fact]string{
	factTitle:       "og:title twitter:title dc.title dcterms.title",
	factDescription: "og:description twitter:description dc.description dcterms.description",
	factAuthor:      "author article:author dc.creator dcterms.creator parsely-author sailthru.author byl",
	factSite:        "og:site_name application-name",
	factType:        "og:type",
	factImage:       "og:image:secure_url og:image og:image:url twitter:image thumbnailurl",
	factPublished: "article:published_time datepublished og:article:published_time article.published " +
		"parsely-pub-date dcterms.created dcterms.issued dcterms.date dc.date.issued dc.date " +
		"sailthru.date citation_publication_date citation_date pubdate publish-date publication_date date",
	factModified: "article:modified_time datemodified og:updated_time og:modified_time dcterms.modified " +
		"last-modified lastmod",
}

// ranked is a fact and the rank of its source; 0 is the most specific.
type ranked struct {
	fact fact
	rank uint8
}

// rankLD is the rank of JSON-LD: after the first name of each fact, before the second.
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

// maxFactName is at least the length of the longest name.
const maxFactName = 32

// foundFacts are the facts of the current page, in the arena.
type foundFacts struct {
	at    [facts]span
	ranks [facts]uint8 // plus one; 0 means not found
}

// better reports whether a source of this rank is better than what is known.
func (f *foundFacts) better(r ranked) bool { return f.ranks[r.fact] == 0 || r.rank+1 < f.ranks[r.fact] }

// named notes the content of a meta element by its name.
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
	if r.fact == factAuthor && bytes.Contains(p.arena[s.from:s.to], []byte("://")) { // the URL of a profile
		return
	}
	if s.from < s.to {
		p.facts.at[r.fact], p.facts.ranks[r.fact] = s, r.rank+1
	}
}

// ldKeys are keys of JSON-LD, with their quotes.
var ldKeys = [...]struct {
	fact fact
	key  []byte
}{
	{factPublished, []byte(`"datePublished"`)},
	{factModified, []byte(`"dateModified"`)},
	{factAuthor, []byte(`"author"`)},
}

// maxLD is the number of bytes after an author key in which the name is searched, and the bound of a string.
const maxLD = 512

// linkedData notes the facts in a script of JSON-LD. It searches the text for the keys instead of decoding the JSON:
// on the pages of TestFactsOfRealPages the first occurrence is mostly the page's own.
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

// afterColon skips white space, a colon and white space; nil when there is no colon.
func afterColon(b []byte) []byte {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 || b[0] != ':' {
		return nil
	}
	return bytes.TrimLeft(b[1:], " \t\r\n")
}

// jsonString decodes the JSON string at the start of b; "" when there is none.
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

// factsOf makes the Facts from the page's one string, and parses the dates.
func (p *htmlPass) factsOf(cut func(span) string) Facts {
	at := &p.facts.at
	return Facts{
		Author:    cut(at[factAuthor]),
		SiteName:  cut(at[factSite]),
		Type:      cut(at[factType]),
		Image:     cut(at[factImage]),
		Published: pageDate(cut(at[factPublished])),
		Modified:  pageDate(cut(at[factModified])),
	}
}

// pageLayouts are date formats that pages use besides w3cLayouts.
var pageLayouts = [...]string{
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04", "2006/01/02", "20060102",
	time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, "2 Jan 2006 15:04:05 MST",
	"January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006",
}

// pageDate parses a date. It returns the zero time for anything else, and for years outside 1000 to 9999.
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
