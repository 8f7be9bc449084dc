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

// TestFactsOfRealPages compares authors and dates with annotations by people. Many facts are only in the text, which
// the parser does not search, or are in another form ("By Ann"). Those that the parser finds must mostly be right.
func TestFactsOfRealPages(t *testing.T) {
	bodies, golds := map[string][]byte{}, map[string][]byte{}
	untar(t, conformance(t, "web/wcxb-sample.tar.xz"), func(name string, data []byte) {
		if base, ok := strings.CutSuffix(name, ".html"); ok {
			bodies[base] = data
		} else if base, ok := strings.CutSuffix(name, ".json"); ok {
			golds[base] = data
		}
	})
	var authors, dates struct{ gold, found, right int }
	for name, body := range bodies {
		var gold struct {
			GroundTruth struct {
				Author string `json:"author"`
				Date   string `json:"publish_date"`
			} `json:"ground_truth"`
		}
		if err := json.Unmarshal(golds[name], &gold); err != nil {
			t.Fatal(err)
		}
		p := parsePage(t, "text/html", string(body))
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
	}
	t.Logf("authors %+v, dates %+v", authors, dates)
	if authors.right < 49 || dates.right < 55 || 10*authors.right < 8*authors.found || 10*dates.right < 8*dates.found {
		t.Errorf("authors %+v, dates %+v; want 49 and 55 right, and 80%% of those found", authors, dates)
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
