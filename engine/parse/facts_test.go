// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seine-crawler/seine/engine/parse"
)

// TestFacts: the most specific source of a fact counts, and among equals the first.
func TestFacts(t *testing.T) {
	author := func(p *parse.Page) string { return p.Facts.Author }
	site := func(p *parse.Page) string { return p.Facts.SiteName }
	published := func(p *parse.Page) string { return p.Facts.Published.Format("2006-01-02T15:04") }
	title := func(p *parse.Page) string { return p.Title }
	description := func(p *parse.Page) string { return p.Description }
	noFollow := func(p *parse.Page) string { return fmt.Sprint(p.Robots.NoFollow) }
	linkLanguage := func(p *parse.Page) string { return p.Outlinks[0].Language }
	for _, c := range []struct {
		got        func(p *parse.Page) string
		body, want string
	}{
		{author, `<meta name=author content=" Ann  B. ">`, "Ann B."},
		{author, `<meta property=article:author content="https://x/ann"><meta name=dc.creator content=Ann>`, "Ann"},
		{author, `<script type=application/ld+json>` +
			`{"author":[{"@type":"Person","name":"J\u00f6rg \"X\""}]}</script>`, `Jörg "X"`},
		{author, `<script type="application/ld+json">{"author" : "Ann"}</script><meta name=byl content=Bob>`, "Ann"},
		{published, `<meta name=date content=2020-01-02>` +
			`<meta property=article:published_time content=2021-03-04T05:06:07+01:00>`, "2021-03-04T04:06"},
		{published, `<meta property=article:published_time content=2021-03-04>` +
			`<meta name=date content=2020-01-02>`, "2021-03-04T00:00"},
		{published, `<meta itemprop=datePublished content="March 4, 2021">`, "2021-03-04T00:00"},
		{published, `<meta name=date content="yesterday">`, "0001-01-01T00:00"},
		{title, `<meta property=og:title content="From OpenGraph">`, "From OpenGraph"},
		{title, `<title>T</title><meta property=og:title content="From OpenGraph">`, "T"},
		{description, `<meta property=og:description content=D1><meta name=description content=D2>`, "D2"},
		{site, `<meta name=OG:Site_Name content=S>`, "S"},
		{noFollow, `<meta name="rob&#111;ts" content=nofollow>`, "true"},
		{linkLanguage, `<link rel=alternate hreflang=de-CH href=/de>`, "de-CH"},
	} {
		p := parsePage(t, "text/html; charset=utf-8", c.body)
		if got := c.got(p); got != c.want {
			t.Errorf("%s: %q, want %q", c.body, got, c.want)
		}
	}
}

// TestShownFacts: what a page shows to its readers counts where it states nothing for machines.
func TestShownFacts(t *testing.T) {
	for _, c := range []struct{ body, author, day string }{
		{"<h1>T</h1><p>By Ann Brown | March 4th, 2021<p>text", "Ann Brown", "2021-03-04"},
		{"<h1>T</h1><p>Written by Jörg Müller on 4 Sept. 2021", "Jörg Müller", "2021-09-04"},
		{"<h1>T</h1><p>Posted by Ann Brown Jan 2, 2006", "Ann Brown", "2006-01-02"},
		{"<h1>T</h1><p>by using this site you agree<p>In May 2021 we met", "", ""},
		{"<h1>T</h1><p>By 2021 it was done<p>Marching 4, 2021<p>May 45, 2021<p>2021-13-01", "", ""},
		{"<p>By Ann Brown, March 4, 2021<p>no heading", "", ""},
		{"<h1>T</h1><p>By Ann Brown" + strings.Repeat(" and on", 30), "", ""},
		{"<time datetime=2020-01-01></time><h1>T</h1><time datetime='2021-03-04 05:06:07Z'>", "", "2021-03-04"},
		{"<time datetime=2020-01-01></time><h1>T</h1>", "", "2020-01-01"},
		{"<h1>T</h1><time datetime=soon></time><time datetime=2021-03-04 class=updated></time>", "", ""},
		{"<h1>T</h1><time datetime=2020-01-01></time><time itemprop=datePublished datetime=2021-03-04></time>",
			"", "2021-03-04"},
		{"<meta name=date content=2019-01-01><h1>T</h1><time datetime=2021-03-04></time>", "", "2019-01-01"},
		{"<h1>T</h1><a rel='author nofollow' href=/ann> Ann <b>Brown</b></a>", "Ann Brown", ""},
		{"<h1>T</h1><a rel=author href=/all>all of the articles</a>", "", ""},
	} {
		p := parsePage(t, "text/html; charset=utf-8", c.body)
		day := ""
		if !p.Facts.Published.IsZero() {
			day = p.Facts.Published.Format("2006-01-02")
		}
		if p.Facts.Author != c.author || day != c.day {
			t.Errorf("%s: author %q, day %q; want %q, %q", c.body, p.Facts.Author, day, c.author, c.day)
		}
	}
}

// TestFactsOfRealPages compares authors and dates with annotations by people. Those that the parser finds must mostly
// be right.
func TestFactsOfRealPages(t *testing.T) {
	var authors, dates struct{ gold, found, right int }
	parsers := parse.New(parse.Options{})
	var p parse.Page
	realPages(t, "web/wcxb-sample.tar.xz", func(name string, body, annotation []byte) {
		var gold struct {
			GroundTruth struct {
				Author string `json:"author"`
				Date   string `json:"publish_date"`
			} `json:"ground_truth"`
		}
		if err := json.Unmarshal(annotation, &gold); err != nil {
			t.Fatal(err)
		}
		in := parse.Input{URL: mustURL(t, "https://example.org/"), ContentType: "text/html", Body: body}
		if err := parsers.Parse(&in, &p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := gold.GroundTruth.Author; want != "" {
			authors.gold++
			if p.Facts.Author != "" {
				authors.found++
			}
			if strings.EqualFold(p.Facts.Author, want) {
				authors.right++
			}
		}
		if want := gold.GroundTruth.Date; want != "" {
			dates.gold++
			if !p.Facts.Published.IsZero() {
				dates.found++
			}
			day, err := time.Parse("2006-01-02", want)
			if err == nil && p.Facts.Published.Sub(day).Abs() <= 36*time.Hour { // the time zone is unknown
				dates.right++
			}
		}
	})
	t.Logf("authors %+v, dates %+v", authors, dates)
	wantAuthors, wantDates := 52, 75
	if testing.Short() { // of the pages that realPages takes
		wantAuthors, wantDates = 9, 14
	}
	if authors.right < wantAuthors || dates.right < wantDates ||
		10*authors.right < 8*authors.found || 10*dates.right < 8*dates.found {
		t.Errorf("authors %+v, dates %+v; want %d and %d right, and 80%% of those found", authors, dates,
			wantAuthors, wantDates)
	}
}

// TestNoSnippet: NoSnippet has the text of elements with data-nosnippet, up to their ends.
func TestNoSnippet(t *testing.T) {
	for body, want := range map[string]string{
		"<p>a <span data-nosnippet>b</span> c":                             "b",
		"<p>a <SPAN DATA-NOSNIPPET=x>b <b>c</b></SPAN> d":                  "b c",
		"<div data-nosnippet>a<div>b</div>c</div>d<p data-nosnippet>e<p>f": "a\nb\nc|e",
		"<div data-nosnippet>a":                                            "a",
		"<div><p data-nosnippet>a<div hidden>b</div></div>c":               "a",
		"<br data-nosnippet>a<span data-nosnippet></span>":                 "",
	} {
		p := parsePage(t, "text/html; charset=utf-8", body)
		got := ""
		for i, r := range p.NoSnippet {
			if i > 0 {
				got += "|"
			}
			got += strings.TrimSpace(string(p.Text[r.From:r.To]))
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
