// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"slices"
	"testing"

	"github.com/seine-crawler/seine/engine/parse"
)

// TestRequisites: what a page is shown with is a link where it is asked for, and only there.
func TestRequisites(t *testing.T) {
	for body, want := range map[string][]string{
		`<img src=a.png alt=x>`: {"a.png"},
		`<img srcset="b.png 2x, c.png 100w,d.png, e.png,, f(1,2).png 1x">`:                                    {"b.png", "c.png", "d.png", "e.png", "f(1,2).png"},
		`<picture><source srcset="g.webp"><img src=g.png></picture>`:                                          {"g.webp", "g.png"},
		`<script src=h.js></script><script>x</script>`:                                                        {"h.js"},
		`<link rel=stylesheet href=i.css><link rel="shortcut icon" href=j.ico><link rel=license href=k.html>`: {"i.css", "j.ico"},
		`<video src=l.mp4 poster=l.jpg><track src=l.vtt></video><object data=m.svg></object>`:                 {"l.mp4", "l.jpg", "l.vtt", "m.svg"},
		`<table background=n.png><tr><td background="">`:                                                      {"n.png"},
		`<template><img src=o.png></template><div hidden><img src=p.png></div>`:                               {"p.png"},
		`<form action=q><input type=image src=r.png></form>`:                                                  {"r.png"},
		`<svg><image xlink:href=s.png></svg>`:                                                                 {"s.png"},
		`<img srcset="">`:                                                                                     nil,
	} {
		for _, wanted := range []bool{true, false} {
			var p parse.Page
			in := parse.Input{URL: mustURL(t, "https://example.org/"), ContentType: "text/html; charset=utf-8", Body: []byte(body)}
			if err := parse.New(parse.Options{Requisites: wanted}).Parse(&in, &p); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range p.Outlinks {
				if l.Kind == parse.LinkRequisite {
					got = append(got, l.URL.Path()[1:])
				}
			}
			if wanted && !slices.Equal(got, want) || !wanted && len(got) > 0 {
				t.Errorf("%s, wanted %v: %q, want %q", body, wanted, got, want)
			}
		}
	}
}

// TestForms: a form that only asks is a link if it is asked for.
func TestForms(t *testing.T) {
	body := `<form action=/search><input name=q></form><form method=GET action=/find></form><form method=post action=/buy></form><form></form>`
	for _, wanted := range []bool{true, false} {
		var p parse.Page
		in := parse.Input{URL: mustURL(t, "https://example.org/"), ContentType: "text/html; charset=utf-8", Body: []byte(body)}
		if err := parse.New(parse.Options{Forms: wanted}).Parse(&in, &p); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range p.Outlinks {
			got = append(got, l.Kind.String()+" "+l.URL.Path())
		}
		if want := []string{"form /search", "form /find"}; wanted && !slices.Equal(got, want) || !wanted && len(got) > 0 {
			t.Errorf("wanted %v: %q, want %q", wanted, got, want)
		}
	}
}
