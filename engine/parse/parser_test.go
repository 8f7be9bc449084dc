// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/parse"
)

// TestMediaType: header or bytes decide what a body is.
func TestMediaType(t *testing.T) {
	for _, c := range []struct{ header, body, want string }{
		{"text/html", "x", "text/html"},
		{"TEXT/HTML ; charset=x", "x", "text/html"},
		{"text/html, text/plain", "x", "text/plain"}, // no type: fetch.Response.ContentType chooses one of several
		{"text/html", "%PDF-1.7", "application/pdf"},
		{"text/html", "\x00\x00\x00\x18ftypmp42", "video/mp4"},
		{"text/plain", "\x89PNG\r\n\x1a\n", "image/png"},
		{"text/plain", "a\x00b", "application/octet-stream"},
		{"text/plain", "\xff\xfea\x00", "text/plain"},
		{"text/xml", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">`, "application/xhtml+xml"},
		{"text/xml", "<rss>", "application/xml"},
		{"text/xml", "<!--" + strings.Repeat("x", 600) + "-->\n<html xmlns='x'>", "application/xhtml+xml"},
		{"text/html", "<?xml version='1.0'?><!DOCTYPE html><html>", "text/html"},
		{"text/html", "<p><rss>", "text/html"},
		{"text/html", "<rss", "application/xml"},
		{"text/plain", "see <rss>", "text/plain"},
		{"application/gzip", "<p>", "text/html"},
		{"application/json", "{}", "application/json"},
		{"", "\n <!doctype html>", "text/html"},
		{"", "<Body bgcolor>", "text/html"},
		{"", "\xef\xbb\xbf<!-- x -->", "text/html"},
		{"", "<bodyguard>", "text/plain"},
		{"", "words", "text/plain"},
		{"", "", "text/plain"},
		{"application/octet-stream", "<p>", "text/html"},
		{"nonsense", "<p>", "text/html"},
		{"", "\x01\x02", "application/octet-stream"},
		{"", "RIFF____WEBPVP8 ", "image/webp"},
		{"", "BM6\x00\x00\x00", "image/bmp"},
		{"", "BM is no picture here", "text/plain"},
		{"text/plain", "BM6\x00", "application/octet-stream"},
		{"", "\x00\x00\x01\x00\x01", "image/x-icon"},
		{"", "FORM\x00\x00\x10\x00AIFF", "audio/aiff"},
		{"", "OTTO\x00\x0b", "font/otf"},
		{"text/html", "ID3\x04\x00\x00", "audio/mpeg"},
		{"text/plain", "ID3\x03\x00\x00", "audio/mpeg"},
		{"text/plain", "ID3 tags hold the name of a song", "text/plain"},
	} {
		in := parse.Input{URL: mustURL(t, "https://example.org/"), ContentType: c.header, Body: []byte(c.body)}
		var page parse.Page
		if err := parse.New(parse.Options{}).Parse(&in, &page); err != nil && !errors.Is(err, parse.ErrUnsupported) {
			t.Fatal(err)
		}
		if page.MediaType != c.want {
			t.Errorf("%q with %q: %q, want %q", c.header, c.body, page.MediaType, c.want)
		}
	}
}

// TestRobotsTag: lists, agent names and values in X-Robots-Tag.
func TestRobotsTag(t *testing.T) {
	date := func(s string) time.Time {
		d, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	type flags = parse.RobotsFlags
	for _, c := range []struct {
		tags []string
		want flags
	}{
		{nil, flags{}},
		{[]string{"all, index"}, flags{}},
		{[]string{"NOINDEX ,nofollow"}, flags{NoIndex: true, NoFollow: true}},
		{[]string{"none"}, flags{NoIndex: true, NoFollow: true}},
		{[]string{"noindex nofollow"}, flags{NoIndex: true, NoFollow: true}},
		{[]string{"noindex;nofollow", "max-image-preview: none"}, flags{NoIndex: true, NoFollow: true}},
		{[]string{"testbot: noindex|noarchive; x", "otherbot: noindex nofollow"},
			flags{NoIndex: true, NoArchive: true}},
		{[]string{"'noindex'", "index nofollowed", "non-e"}, flags{NoIndex: true}},
		{[]string{"noarchive", "nosnippet"}, flags{NoArchive: true, NoSnippet: true}},
		{[]string{"otherbot: noindex, nofollow"}, flags{}},
		{[]string{"TestBot: noindex, nofollow"}, flags{NoIndex: true, NoFollow: true}},
		{[]string{"noindex, otherbot: nofollow"}, flags{NoIndex: true}},
		{[]string{"otherbot/2.1: noindex, nofollow", "otherbot2: noarchive, none"}, flags{}},
		{[]string{"testbot/2.1: noindex, nofollow", "TestBot2: noarchive", "testbot-news: nosnippet"},
			flags{NoIndex: true, NoFollow: true, NoArchive: true}},
		{[]string{"otherbot: noindex, testbot: nofollow, *: noarchive"}, flags{NoFollow: true, NoArchive: true}},
		{[]string{"max-snippet:-1"}, flags{}},
		{[]string{"max-snippet: 0"}, flags{NoSnippet: true}},
		{[]string{"max-snippet:80", "testbot: max-snippet:40, max-image-preview:none"}, flags{MaxSnippet: 40}},
		{[]string{"index; max-snippet:-1; noindex"}, flags{NoIndex: true}},
		{[]string{"max-snippet: 50; noarchive", "max-image-preview:none nofollow", "otherbot: max-snippet:9; noindex"},
			flags{NoFollow: true, NoArchive: true, MaxSnippet: 50}},
		{[]string{"unavailable_after: Sat, 25 Jun 2044 15:00:00 GMT, noarchive"},
			flags{NoArchive: true, UnavailableAfter: date("2044-06-25T15:00:00Z")}},
		{[]string{"unavailable_after: 25-Jun-2044 15:00:00 GMT"},
			flags{UnavailableAfter: date("2044-06-25T15:00:00Z")}},
		{[]string{"unavailable_after: 2044-06-25T15:00:00+02:00", "unavailable_after: 2044-06-25"},
			flags{UnavailableAfter: date("2044-06-25T00:00:00Z")}},
		{[]string{"unavailable_after: Saturday, 25-Jun-44 15:00:00 PST"},
			flags{UnavailableAfter: date("2044-06-25T23:00:00Z")}},
		{[]string{"unavailable_after: 25 Jun 44 15:00 GMT, noarchive"},
			flags{NoArchive: true, UnavailableAfter: date("2044-06-25T15:00:00Z")}},
		{[]string{"unavailable_after: 25 Jun 2044 15:00:00 UT", "unavailable_after: 26-Jun-2044"},
			flags{UnavailableAfter: date("2044-06-25T15:00:00Z")}},
		{[]string{"unavailable_after: 2044-06-25T15:00:00-0800"},
			flags{UnavailableAfter: date("2044-06-25T23:00:00Z")}},
		{[]string{"unavailable_after: 2044-06-25 15:00"}, flags{UnavailableAfter: date("2044-06-25T15:00:00Z")}},
		{[]string{"unavailable_after: 25 Jun 2044"}, flags{UnavailableAfter: date("2044-06-25T00:00:00Z")}},
		{[]string{"unavailable_after: 2020-01-01"},
			flags{NoIndex: true, UnavailableAfter: date("2020-01-01T00:00:00Z")}},
		{[]string{"otherbot: unavailable_after: Sat, 25 Jun 2020 15:00:00 GMT, noindex"}, flags{}},
		{[]string{"unavailable_after: soon, nofollow", ",,:,", ":::", "unavailable_after"}, flags{NoFollow: true}},
	} {
		u := mustURL(t, "https://example.org/")
		in := parse.Input{URL: u, ContentType: "text/html", RobotsTag: c.tags, Agent: "testbot"}
		var page parse.Page
		o := parse.Options{Now: func() time.Time { return date("2030-01-01T00:00:00Z") }}
		if err := parse.New(o).Parse(&in, &page); err != nil {
			t.Fatal(err)
		}
		if page.Robots != c.want {
			t.Errorf("%q: %+v, want %+v", c.tags, page.Robots, c.want)
		}
	}
}

// TestRefresh: the forms of meta refresh that browsers accept.
func TestRefresh(t *testing.T) {
	for content, want := range map[string]string{
		"0;url=a.html":            "https://example.org/dir/a.html after 0s",
		" 5 ; URL = 'a b.html' x": "https://example.org/dir/a%20b.html after 5s",
		`3,"a.html`:               "https://example.org/dir/a.html after 3s",
		"1.5 a.html":              "https://example.org/dir/a.html after 1s",
		".5; url=a.html":          "https://example.org/dir/a.html after 0s",
		"0;urlx":                  "https://example.org/dir/urlx after 0s",
		"99999999999999;url=a":    "https://example.org/dir/a after 24h0m0s",
		"5":                       "",
		"0;url=":                  "",
		"0url=a":                  "",
		"url=a.html":              "",
		"0;url=page.html":         "", // itself
		"0;url=javascript:x":      "",
	} {
		escaped := strings.ReplaceAll(content, `"`, "&quot;")
		page := parsePage(t, "text/html", `<meta http-equiv=Refresh content="`+escaped+`">`)
		got := ""
		if page.Refresh != nil {
			got = fmt.Sprintf("%s after %s", page.Refresh.URL, page.Refresh.Delay)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
}

// TestRefreshField: a Refresh field of the header is a refresh and a link, of a page of any type, and precedes a meta
// element.
func TestRefreshField(t *testing.T) {
	for _, c := range []struct{ contentType, field, body, want string }{
		{"text/html", "0; url=/next", "", "https://example.org/next after 0s"},
		{"text/plain", "5;URL='a b'", "words", "https://example.org/dir/a%20b after 5s"},
		{"text/html", "0;url=x", "<base href=/b/><meta http-equiv=refresh content='1;url=y'>",
			"https://example.org/dir/x after 0s"},
		{"text/html", "30", "<meta http-equiv=refresh content='1;url=y'>", "https://example.org/dir/y after 1s"},
		{"text/html", "0; url=javascript:x", "", ""},
		{"text/html", "0; url=page.html", "", ""}, // itself
		{"text/html", "", "", ""},
	} {
		in := parse.Input{URL: mustURL(t, "https://example.org/dir/page.html"), ContentType: c.contentType,
			Refresh: c.field, Body: []byte(c.body)}
		var page parse.Page
		if err := parse.New(parse.Options{}).Parse(&in, &page); err != nil {
			t.Fatal(err)
		}
		got := ""
		if page.Refresh != nil {
			got = fmt.Sprintf("%s after %s", page.Refresh.URL, page.Refresh.Delay)
			linked := func(l parse.Outlink) bool { return l.Kind == parse.LinkRefresh && l.URL == page.Refresh.URL }
			if !slices.ContainsFunc(page.Outlinks, linked) {
				t.Errorf("%q: no link in %v", c.field, page.Outlinks)
			}
		}
		if got != c.want {
			t.Errorf("%q: %q, want %q", c.field, got, c.want)
		}
	}
}

// TestPlain: URLs in plain text end where the sentence continues.
func TestPlain(t *testing.T) {
	page := parsePage(t, "text/plain; charset=utf-8", "\n  First   line\r\n"+
		"see http://a.example/x. (https://b.example/y_(z)), <http://c.example/?q=1&r>\n"+
		"xhttp://no.example/ http:// https://d.example、次 'http://e.example/a'; ftp://f/ [http://g.example/] \x1b[0m")
	var got []string
	for _, l := range page.Outlinks {
		got = append(got, l.URL.String())
		if l.Kind != parse.LinkText {
			t.Errorf("%s is a link of kind %s", l.URL, l.Kind)
		}
	}
	want := []string{
		"http://a.example/x", "https://b.example/y_(z)", "http://c.example/?q=1&r", "https://d.example/",
		"http://e.example/a", "http://g.example/",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("links %q, want %q", got, want)
	}
	if page.Title != "First line" || !bytes.HasPrefix(page.Text, []byte("First line\nsee http")) {
		t.Errorf("title %q, text %q", page.Title, page.Text)
	}
}

// TestLanguage: the declared language counts; without one, the text decides.
func TestLanguage(t *testing.T) {
	for _, c := range []struct{ header, body, want string }{
		{"", `<html lang="pt_BR">`, "pt-BR"},
		{"", `<html xml:lang=fr>`, "fr"},
		{"fr", `<html lang="x y">`, "fr"},
		{"de, en", "", ""},
		{"", "<p>It is a truth universally acknowledged, that a single man in possession of a good fortune, " +
			"must be in want of a wife.", "en"},
		{"", "<p>Die Würde des Menschen ist unantastbar. Sie zu achten und zu schützen ist Verpflichtung " +
			"aller staatlichen Gewalt.", "de"},
		{"", "<p>Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de " +
			"raison et de conscience.", "fr"},
		{"", "<p>Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están " +
			"de razón y conciencia.", "es"},
		{"", "<p>Все люди рождаются свободными и равными в своём достоинстве и правах. Они наделены разумом и " +
			"совестью и должны поступать в отношении друг друга в духе братства. Каждый человек должен обладать " +
			"всеми правами и всеми свободами, провозглашёнными настоящей Декларацией, без какого бы то ни было " +
			"различия.", "ru"},
		{"", "<p>すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。", "ja"},
		{"", "<p>x y z", ""},
	} {
		in := htmlInput(mustURL(t, "https://example.org/"), []byte(c.body))
		in.ContentLanguage = c.header
		var page parse.Page
		if err := parse.New(parse.Options{}).Parse(in, &page); err != nil {
			t.Fatal(err)
		}
		if page.Language != c.want {
			t.Errorf("%q, %q: %q, want %q", c.header, c.body, page.Language, c.want)
		}
	}
}

// TestBounds: a page beyond every bound is cut and marked as truncated, and the dropped links are counted.
func TestBounds(t *testing.T) {
	var b strings.Builder
	b.WriteString("<title>" + strings.Repeat("漢", 1000) + "</title>")
	for i := range parse.MaxLinks + 10 {
		fmt.Fprintf(&b, "<a href=%d>%s</a> ", i, strings.Repeat("é", 200))
	}
	b.WriteString("<a href=/" + strings.Repeat("x", 3000) + ">long</a>")
	b.WriteString(strings.Repeat("word ", parse.MaxText/4))
	page := parsePage(t, "text/html; charset=utf-8", b.String())
	parse.CheckPage(t, page)
	if len(page.Outlinks) != parse.MaxLinks || page.LinksDropped != 11 || !page.Truncated {
		t.Errorf("%d links, %d dropped, truncated %t", len(page.Outlinks), page.LinksDropped, page.Truncated)
	}
	if len(page.Title) != 1023 || len(page.Outlinks[0].Anchor) != 256 || len(page.Text) < parse.MaxText-8 {
		t.Errorf("title %d, anchor %d, text %d bytes", len(page.Title), len(page.Outlinks[0].Anchor), len(page.Text))
	}
}

// TestPlugins: a parser for a type, filters in order before the signature, errors with the page's URL.
func TestPlugins(t *testing.T) {
	boom := errors.New("boom")
	parsers := parse.New(parse.Options{
		Parsers: map[string]parse.Parser{
			"application/x-own": parse.ParserFunc(func(in *parse.Input, page *parse.Page) error {
				page.Text = append(page.Text, in.Body...)
				page.AddLink("rel.html", parse.Outlink{Anchor: "a"})
				return nil
			}),
			"application/x-bad": parse.ParserFunc(func(*parse.Input, *parse.Page) error { return boom }),
			"text/plain":        nil,
		},
		Filters: []parse.Filter{
			parse.FilterFunc(func(_ *parse.Input, page *parse.Page) error { page.Title += "1"; return nil }),
			parse.FilterFunc(func(_ *parse.Input, page *parse.Page) error { page.Title += "2"; return nil }),
		},
		Signer: parse.SignerFunc(func(_ *parse.Input, page *parse.Page) (s parse.Signature) {
			copy(s[:], page.Title)
			return s
		}),
	})
	u := mustURL(t, "https://example.org/d/")
	var page parse.Page
	in := parse.Input{URL: u, ContentType: "application/x-own", Body: []byte("text")}
	if err := parsers.Parse(&in, &page); err != nil {
		t.Fatal(err)
	}
	if page.Title != "12" || string(page.Signature[:2]) != "12" {
		t.Errorf("title %q, signature %x, want 12 by the filters in order", page.Title, page.Signature)
	}
	if len(page.Outlinks) != 1 || page.Outlinks[0].URL.String() != "https://example.org/d/rel.html" {
		t.Errorf("links %+v", page.Outlinks)
	}
	err := parsers.Parse(&parse.Input{URL: u, ContentType: "application/x-bad"}, &page)
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), u.String()) {
		t.Errorf("error %v", err)
	}
	for _, media := range []string{"text/plain", "image/png"} {
		err := parsers.Parse(&parse.Input{URL: u, ContentType: media, Body: []byte("x")}, &page)
		if !errors.Is(err, parse.ErrUnsupported) || page.Title != "" || page.Signature == (parse.Signature{}) {
			t.Errorf("%s: error %v, title %q, signature %x", media, err, page.Title, page.Signature)
		}
	}
}

// TestConcurrent: goroutines that share Parsers do not disturb each other, and strings outlive the page.
func TestConcurrent(t *testing.T) {
	parsers := parse.New(parse.Options{})
	u := mustURL(t, "https://example.org/")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			var page parse.Page
			var titles, anchors, targets []string
			for i := range 50 {
				body := fmt.Sprintf("<title>t%d-%d</title><a href='http://h%d.example/%d'>a%d-%d</a><a href=r%d>%s</a>",
					g, i, g, i, g, i, i, strings.Repeat("x", i))
				in := parse.Input{URL: u, ContentType: "text/html", Body: []byte(body)}
				if err := parsers.Parse(&in, &page); err != nil {
					t.Error(err)
					return
				}
				titles = append(titles, page.Title)
				anchors = append(anchors, page.Outlinks[0].Anchor)
				targets = append(targets, page.Outlinks[0].URL.String())
			}
			for i := range titles {
				title, anchor := fmt.Sprintf("t%d-%d", g, i), fmt.Sprintf("a%d-%d", g, i)
				target := fmt.Sprintf("http://h%d.example/%d", g, i)
				if titles[i] != title || anchors[i] != anchor || targets[i] != target {
					t.Errorf("page %d of %d became %q %q %q", i, g, titles[i], anchors[i], targets[i])
				}
			}
		})
	}
	wg.Wait()
}

// TestHidden: the hidden attribute hides text, but not a tab's panel, nor what React's server streamed.
func TestHidden(t *testing.T) {
	for body, want := range map[string]string{
		"a<div hidden>b</div>c":                                      "a c",
		"a<div hidden=''><p>b</p></div>c":                            "a c",
		"a<div hidden=until-found>b</div>c":                          "a b c",
		"a<div hidden id=\"S:1\"><p>b</p></div><div hidden>d</div>c": "a b c",
		"a<div hidden id=S:2f>b</div>c":                              "a b c",
		"a<div hidden id=\"Sub\">b</div>c":                           "a c",
		"a<section role=TabPanel hidden>b</section>c":                "a b c",
		"a<div role=\"tabpanel\" hidden=\"\">b</div>c":               "a b c",
		"a<div role=menu hidden>b</div>c":                            "a c",
		"<template><div hidden id=S:1>b</div></template>c":           "c",
		"a<div hidden>b<div hidden id=S:1>d</div></div>c":            "a c",
	} {
		got := strings.Join(strings.Fields(string(parsePage(t, "text/html; charset=utf-8", body).Text)), " ")
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// TestNamesInSVG: base and link elements of svg and math are not those of HTML.
func TestNamesInSVG(t *testing.T) {
	for body, want := range map[string]string{
		`<base href=/b/><a href=x>`:                                   "https://example.org/b/x",
		`<svg><base href=/b/></svg><a href=x>`:                        "https://example.org/dir/x",
		`<svg><base href=/b/></svg><base href=/c/><a href=x>`:         "https://example.org/c/x",
		`<math><link rel=canonical href=/c></math><a href=x>`:         "https://example.org/dir/x",
		`<svg><link rel=next href=/c></svg><link rel=next href=/d>`:   "https://example.org/d",
		`<link rel=preload as=image imagesrcset="u 1x, v"><a href=x>`: "https://example.org/dir/x",
	} {
		page := parsePage(t, "text/html", body)
		if len(page.Outlinks) != 1 || page.Outlinks[0].URL.String() != want || !page.Canonical.IsZero() {
			t.Errorf("%s: %v, canonical %s, want %s", body, page.Outlinks, page.Canonical, want)
		}
	}
}
