// SPDX-License-Identifier: Apache-2.0

package index

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// nothing is the text of a filter that matches nothing: no host has this name.
const nothing = "site:%"

func noDocuments() *node { return &node{kind: nodeNone, term: nothing} }

// parseSite parses the value of site: and host:. site: is a domain with all hosts below it, or a host with a path
// prefix; host: is one host. Both mean every port, if the value has none.
func parseSite(f *queryField, text string) (*node, error) {
	text, secure := strings.CutPrefix(strings.TrimPrefix(text, "http://"), "https://")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "*"), ".")
	none := noDocuments()
	name, path, _ := strings.Cut(text, "/")
	if secure {
		name = strings.TrimSuffix(name, ":443")
	}
	h, err := urlkey.ParseHost(name)
	if err != nil || name == "" || strings.Contains(name, "@") || strings.HasPrefix(h.String(), ".") ||
		strings.ContainsAny(name+h.String(), `()"*`) { // also of %22: the text of a query is a query
		return none, errors.New(strconv.Quote(text) + " is not a host or domain")
	}
	if path != "" {
		u, err := urlkey.Parse("http://" + text)
		if err != nil {
			return none, errors.New(strconv.Quote(text) + " is not a URL prefix")
		}
		path = strings.TrimPrefix(u.RequestTarget(), "/")
	}
	n := &node{kind: nodeKeys, from: string(h), term: f.name + ":" + h.String()}
	hasPort := strings.Contains(n.from, ",:") // an IPv6 address has colons too
	switch {
	case path != "" && f.name == "host":
		return none, errors.New("a host has no path; site: takes one")
	case path != "":
		n.from += "/" + path
		n.term += "/" + path
	case f.name == "site" && !hasPort:
		n.from = strings.TrimSuffix(n.from, ")")
	}
	n.to = behind(n.from)
	if (f.name == "host" || path != "") && !hasPort {
		ports := strings.TrimSuffix(string(h), ")") + ":" // hosts below this one stand between it and its ports
		n.more = &node{kind: nodeKeys, from: ports, to: behind(ports)}
		if path != "" {
			n.more.path = "/" + path
		}
	}
	return n, nil
}

// behind returns the least text that is greater than all that begin with prefix. Keys consist of printable characters.
func behind(prefix string) string {
	to := []byte(prefix)
	to[len(to)-1]++
	return string(to)
}

// parseLanguage parses codes of languages, such as de or de,fr; a region behind a code is ignored.
func parseLanguage(_ *queryField, text string) (*node, error) {
	n := &node{kind: nodeValue, value: valueLanguage}
	for code := range strings.SplitSeq(text, ",") {
		if code = languageCode(code); code == "" {
			return nil, errors.New(strconv.Quote(text) + " is not a language code such as de or a list of them")
		}
		n.add(code)
	}
	slices.Sort(n.texts)
	n.term = "lang:" + strings.Join(n.texts, ",")
	return n, nil
}

// languageCode returns the code of a language without script and region, "en" of "en-US"; "" if it is none.
func languageCode(text string) string {
	code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(text), "_", "-"), "-")
	if len(code) < 2 || len(code) > 3 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return code
}

func (n *node) add(texts ...string) {
	for _, t := range texts {
		if !slices.Contains(n.texts, t) {
			n.texts = append(n.texts, t)
		}
	}
}

const office = "application/vnd.openxmlformats-officedocument."

// shortTypes are the names of media types that people use.
var shortTypes = map[string][]string{
	"html": {"text/html", "application/xhtml+xml"},
	"pdf":  {"application/pdf"},
	"text": {"text/plain"}, "txt": {"text/plain"},
	"md":   {"text/markdown"},
	"csv":  {"text/csv"},
	"json": {"application/json"},
	"xml":  {"application/xml", "text/xml"},
	"rss":  {"application/rss+xml"}, "atom": {"application/atom+xml"},
	"doc":   {"application/msword", office + "wordprocessingml.document"},
	"docx":  {office + "wordprocessingml.document"},
	"xls":   {"application/vnd.ms-excel", office + "spreadsheetml.sheet"},
	"xlsx":  {office + "spreadsheetml.sheet"},
	"ppt":   {"application/vnd.ms-powerpoint", office + "presentationml.presentation"},
	"pptx":  {office + "presentationml.presentation"},
	"odt":   {"application/vnd.oasis.opendocument.text"},
	"ods":   {"application/vnd.oasis.opendocument.spreadsheet"},
	"odp":   {"application/vnd.oasis.opendocument.presentation"},
	"rtf":   {"application/rtf", "text/rtf"},
	"epub":  {"application/epub+zip"},
	"ps":    {"application/postscript"},
	"image": {"image/"}, "audio": {"audio/"}, "video": {"video/"},
}

// parseType parses short names and media types: pdf, text/html, image/*, or a list of them.
func parseType(_ *queryField, text string) (*node, error) {
	n := &node{kind: nodeValue, value: valueType}
	var names []string
	var err error
	for name := range strings.SplitSeq(strings.ToLower(text), ",") {
		bare, star := strings.CutSuffix(name, "*")
		if name = bare; star && !strings.HasSuffix(bare, "/") {
			err = errors.New(strconv.Quote(text) + ": * stands for all types of a kind, such as image/*")
		}
		if types, ok := shortTypes[name]; ok {
			n.add(types...)
		} else if kind, sub, ok := strings.Cut(name, "/"); ok && token7231(kind) && (sub == "" || token7231(sub)) {
			n.add(name)
		} else {
			return nil, errors.New(strconv.Quote(text) + " is not a type such as pdf, html or text/plain")
		}
		if strings.HasSuffix(name, "/") {
			name += "*"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	n.term = "type:" + strings.Join(names, ",")
	return n, err
}

// token7231 reports whether s is a part of a media type.
func token7231(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789!#$&-^_.+") == ""
}

// valueRange parses x, a..b, a.., ..b, >a, >=a, <b and <=b. interval returns the first and the last of the values that
// a text stands for.
func valueRange(text string, interval func(string) (lo, hi int64, ok bool)) (lo, hi int64, ok bool) {
	lo, hi = math.MinInt64, math.MaxInt64
	if a, b, is := strings.Cut(text, ".."); is {
		okA, okB := a == "", b == ""
		if !okA {
			lo, _, okA = interval(a)
		}
		if !okB {
			_, hi, okB = interval(b)
		}
		return lo, hi, okA && okB && len(text) > len("..")
	}
	for _, o := range []string{">=", "<=", ">", "<"} {
		rest, is := strings.CutPrefix(text, o)
		if !is {
			continue
		}
		first, last, ok := interval(rest)
		switch o {
		case ">=":
			lo = first
		case "<=":
			hi = last
		case ">":
			lo = last + 1
		case "<":
			hi = first - 1
		}
		return lo, hi, ok
	}
	return interval(text)
}

// parseTime parses the value of date: and fetched:, days, months and years, and ranges of them, in UTC.
func parseTime(f *queryField, text string) (*node, error) {
	n := &node{kind: nodeValue, value: f.of}
	var ok bool
	if n.lo, n.hi, ok = valueRange(text, dateInterval); !ok {
		return nil, errors.New(strconv.Quote(text) +
			" is not a date: write 2024, 2024-03 or 2024-03-31, or a range with .. or >=")
	}
	if n.lo > n.hi {
		return noDocuments(), errors.New(strconv.Quote(text) + " is an empty range")
	}
	n.term = f.name + ":" + rangeText(n.lo, n.hi, func(sec int64) string {
		return time.Unix(sec, 0).UTC().Format(time.DateOnly)
	}, dateInterval)
	return n, nil
}

// dateInterval returns the first and the last second of a year, month or day.
func dateInterval(text string) (lo, hi int64, ok bool) {
	for i, layout := range []string{"2006", "2006-01", time.DateOnly} {
		if len(text) != len(layout) {
			continue
		}
		t, err := time.Parse(layout, text)
		if err != nil {
			return 0, 0, false
		}
		var years, months, days int
		switch i {
		case 0:
			years = 1
		case 1:
			months = 1
		default:
			days = 1
		}
		return t.Unix(), t.AddDate(years, months, days).Unix() - 1, true
	}
	return 0, 0, false
}

// parseSize parses numbers of bytes, with k, m and g for powers of 1,024, and ranges of them.
func parseSize(_ *queryField, text string) (*node, error) {
	n := &node{kind: nodeValue, value: valueSize}
	var ok bool
	if n.lo, n.hi, ok = valueRange(strings.ToLower(text), sizeInterval); !ok {
		return nil, errors.New(strconv.Quote(text) + " is not a size: write 10k, >10k, or a range such as 10k..2m")
	}
	if n.lo > n.hi && !strings.Contains(text, "..") {
		return noDocuments(), errors.New(strconv.Quote(text) +
			" has no whole number of bytes: write a range, such as >=" + text)
	}
	if n.lo > n.hi {
		return noDocuments(), errors.New(strconv.Quote(text) + " is an empty range")
	}
	if n.hi < 1 { // Document.Size is 0 where there is none
		return noDocuments(), errors.New(strconv.Quote(text) + " finds nothing: a page without text has no size")
	}
	n.term = "size:" + rangeText(n.lo, n.hi, func(v int64) string { return strconv.FormatInt(v, 10) }, sizeInterval)
	return n, nil
}

// sizeInterval returns the first number of bytes that is not below a size, and the last that is not above it: none is
// both where the size is no whole number, such as 1.3k.
func sizeInterval(text string) (lo, hi int64, ok bool) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "b"), "i")
	unit := 1.0
	for i, u := range []string{"k", "m", "g"} {
		if number, is := strings.CutSuffix(text, u); is {
			text, unit = number, math.Pow(1024, float64(i+1))
		}
	}
	if strings.Trim(text, "0123456789.") != "" {
		return 0, 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if f *= unit; err != nil || f > 1<<52 {
		return 0, 0, false
	}
	return int64(math.Ceil(f)), int64(math.Floor(f)), true
}

// rangeText writes an interval so that valueRange reads it again.
func rangeText(lo, hi int64, write func(int64) string, interval func(string) (lo, hi int64, ok bool)) string {
	from, to := write(lo), write(hi)
	first, _, okFrom := interval(from)
	_, last, okTo := interval(to)
	switch {
	case lo == math.MinInt64 && !(okTo && last == hi):
		return "<" + write(hi+1)
	case lo == math.MinInt64:
		return "<=" + to
	case hi == math.MaxInt64 && !(okFrom && first == lo):
		return ">" + write(lo-1)
	case hi == math.MaxInt64:
		return ">=" + from
	case from == to:
		return from
	}
	return from + ".." + to
}
