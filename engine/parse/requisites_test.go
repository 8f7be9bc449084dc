// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/parse"
)

// TestRequisites: images, scripts and style sheets are links with Options.Requisites, and only then.
func TestRequisites(t *testing.T) {
	for body, want := range map[string]string{
		`<img src=a.png alt=x>`: "a.png",
		`<img srcset="b.png 2x, c.png 100w,d.png, e.png,, f(1,2).png 1x">`: "b.png c.png d.png e.png f(1,2).png",
		`<img srcset="a.png ((1,2), b.png 2x">`:                            "a.png b.png",
		`<picture><source srcset="g.webp"><img src=g.png></picture>`:       "g.webp g.png",
		`<script src=h.js></script><script>x</script>`:                     "h.js",
		`<link rel=stylesheet href=i.css><link rel=license href=k.html>`:   "i.css",
		`<link rel="shortcut icon" href=j.ico>`:                            "j.ico",
		`<video src=l.mp4 poster=l.jpg><track src=l.vtt></video>`:          "l.mp4 l.jpg l.vtt",
		`<object data=m.svg></object>`:                                     "m.svg",
		`<table background=n.png><tr><td background="">`:                   "n.png",
		`<template><img src=o.png></template>`:                             "",
		`<div hidden><img src=p.png></div>`:                                "p.png",
		`<form action=q><input type=image src=r.png></form>`:               "r.png",
		`<svg><image xlink:href=s.png></svg>`:                              "s.png",
		`<svg><link rel=stylesheet href=t.css></svg>`:                      "",
		`<link rel=preload as=image imagesrcset="u.png 1x, v.png 2x">`:     "",
		`<img srcset="">`: "",
	} {
		for _, requested := range []bool{true, false} {
			var p parse.Page
			in := htmlInput(mustURL(t, "https://example.org/"), []byte(body))
			if err := parse.New(parse.Options{Requisites: requested}).Parse(in, &p); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range p.Outlinks {
				if l.Kind == parse.LinkRequisite {
					got = append(got, l.URL.Path()[1:])
				}
			}
			if requested && strings.Join(got, " ") != want || !requested && len(got) > 0 {
				t.Errorf("%s, requested %v: %q, want %q", body, requested, got, want)
			}
		}
	}
}

// TestForms: the target of a form with method GET is a link with Options.Forms, and only then.
func TestForms(t *testing.T) {
	body := `<form action=/search><input name=q></form><form method=GET action=/find></form>` +
		`<form method=post action=/buy></form><form></form>`
	for _, requested := range []bool{true, false} {
		var p parse.Page
		in := htmlInput(mustURL(t, "https://example.org/"), []byte(body))
		if err := parse.New(parse.Options{Forms: requested}).Parse(in, &p); err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, l := range p.Outlinks {
			got = append(got, l.Kind.String()+" "+l.URL.Path())
		}
		if requested {
			want = []string{"form /search", "form /find"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("requested %v: %q, want %q", requested, got, want)
		}
	}
}
