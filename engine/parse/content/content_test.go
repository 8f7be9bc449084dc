// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine/parse/content"
)

// writer fills an outline as the parser does.
type writer struct {
	o    content.Outline
	text []byte
}

func newWriter() *writer {
	w := new(writer)
	w.o.Reset()
	return w
}

func (w *writer) box(name, class string, inside func()) {
	k := content.KindOf([]byte(name))
	w.o.Start(k, w.text, &content.Attributes{Class: []byte(class)})
	inside()
	w.o.End(k, w.text)
}

func (w *writer) line(s string) {
	w.o.Cut(w.text)
	if len(w.text) > 0 {
		w.text = append(w.text, '\n')
	}
	w.text = append(w.text, s...)
}

func (w *writer) link(s string) {
	w.o.Cut(w.text)
	if len(w.text) > 0 {
		w.text = append(w.text, '\n')
	}
	w.o.StartLink(w.text)
	w.text = append(w.text, s...)
	w.o.EndLink(w.text)
}

// selected returns the content, a line for each block.
func (w *writer) selected() string {
	var lines []string
	for _, b := range w.o.Select(w.text) {
		if b.Content {
			lines = append(lines, string(w.text[b.From:b.To]))
		}
	}
	return strings.Join(lines, "\n")
}

const sentence = "The ferry leaves the northern harbour at dawn, and nobody who has seen the tide there " +
	"would take it any later. "

// TestSelect: an article is separated from its surroundings.
func TestSelect(t *testing.T) {
	menu := func(w *writer, class string) {
		w.box("ul", class, func() {
			for _, s := range []string{"Home", "Products", "Prices", "Blog", "About us", "Contact", "Careers"} {
				w.box("li", "menu-item", func() { w.link(s) })
			}
		})
	}
	for _, c := range []struct {
		name string
		make func(w *writer)
		want []string // in the content
		not  []string
	}{
		{"article", func(w *writer) {
			w.box("nav", "navbar", func() { menu(w, "nav") })
			w.box("main", "", func() {
				w.box("article", "post", func() {
					w.box("h1", "entry-title", func() { w.line("Crossing at low tide") })
					for i := range 8 {
						w.box("p", "", func() { w.line(fmt.Sprintf("%d: ", i) + strings.Repeat(sentence, 4)) })
					}
				})
			})
			w.box("aside", "sidebar", func() { menu(w, "widget related-posts") })
			w.box("footer", "site-footer", func() {
				menu(w, "footer-menu")
				w.line("© 2026 Harbour Company. All rights reserved.")
			})
		}, []string{"0: The ferry", "7: The ferry"}, []string{"Careers", "All rights reserved"}},
		{"article in boxes without names", func(w *writer) {
			w.box("div", "", func() { menu(w, "") })
			w.box("div", "", func() {
				w.box("h1", "", func() { w.line("Crossing at low tide") })
				for i := range 8 {
					w.box("p", "", func() { w.line(fmt.Sprintf("%d: ", i) + strings.Repeat(sentence, 4)) })
				}
			})
			w.box("div", "", func() { menu(w, "") })
		}, []string{"0: The ferry", "7: The ferry"}, []string{"Careers"}},
		{"nothing", func(*writer) {}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWriter()
			c.make(w)
			got := w.selected()
			for _, s := range c.want {
				if !strings.Contains(got, s) {
					t.Errorf("%q is missing in %.300q", s, got)
				}
			}
			for _, s := range c.not {
				if strings.Contains(got, s) {
					t.Errorf("%q should not be in %.300q", s, got)
				}
			}
		})
	}
}

// TestOutline: for any sequence of calls, blocks are in order and cover all of the text, and an outline that was used
// before gives the same blocks as a new one.
func TestOutline(t *testing.T) {
	used := new(writer)
	names := strings.Fields("div p ul li table tr td h1 h2 nav article footer select option pre")
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.IntRange(0, 1<<16), 0, 400).Draw(rt, "steps")
		play := func(w *writer) string {
			w.o.Reset()
			w.text = w.text[:0]
			for _, s := range steps {
				k := content.KindOf([]byte(names[s/8%len(names)]))
				switch s % 8 {
				case 0, 1, 2:
					w.o.Start(k, w.text, &content.Attributes{
						Class: []byte("navBar sidebar-left x"), ID: []byte("main_content"), Role: []byte("navigation"),
						Style: []byte("display : none"),
					})
				case 3, 4:
					w.o.End(k, w.text)
				case 5:
					w.link("read more")
				case 6:
					w.line(strings.Repeat("wörter 文字 ", 1+s/8%50))
				default:
					w.text = append(w.text, " and on"...)
				}
			}
			at, out := 0, ""
			for _, b := range w.o.Select(w.text) {
				if between := string(w.text[at:b.From]); strings.TrimSpace(between) != "" || b.To <= b.From {
					rt.Fatalf("block %+v of %d bytes: %q is in no block", b, len(w.text), between)
				}
				out += fmt.Sprintln(b)
				at = b.To
			}
			if rest := string(w.text[at:]); strings.TrimSpace(rest) != "" {
				rt.Fatalf("%q is in no block", rest)
			}
			return out
		}
		if a, b := play(newWriter()), play(used); a != b {
			rt.Fatalf("a new outline gives\n%s\none that was used before gives\n%s", a, b)
		}
	})
}
