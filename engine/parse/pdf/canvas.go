// SPDX-License-Identifier: Apache-2.0

package pdf

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	lib "github.com/ledongthuc/pdf"
)

// canvas tracks where a page's text is shown, as far as necessary to find the ends of words and paragraphs: PDF has
// glyphs at places, and few spaces.
type canvas struct {
	x     *extraction
	fonts map[string]*font

	font    *font
	size    float64
	leading float64
	line    matrix  // start of the line
	at      float64 // end of the text on the line, in the line's own units

	shown      bool    // some text was shown
	endX, endY float64 // end of that text on the page
	hyphen     bool    // that text ends with a hyphen
}

// matrix maps text space to the page: x' = a·x + c·y + e, y' = b·x + d·y + f.
type matrix struct{ a, b, c, d, e, f float64 }

func (m *matrix) move(x, y float64) { m.e, m.f = m.e+m.a*x+m.c*y, m.f+m.b*x+m.d*y }

// font is a font of the page, with the widths of its codes.
type font struct {
	f      lib.Font
	enc    lib.TextEncoding
	first  int
	widths []float64
}

// defaultWidth is the width of a glyph if the font does not give one, in thousandths of the font size: that of most
// Latin letters.
const defaultWidth = 500

func (f *font) width(code int) float64 {
	if i := code - f.first; i >= 0 && i < len(f.widths) {
		return f.widths[i]
	}
	return defaultWidth
}

// draw runs the operators of a content stream.
func (c *canvas) draw(stream, resources lib.Value, depth int) {
	lib.Interpret(stream, func(stk *lib.Stack, op string) {
		args := make([]lib.Value, stk.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stk.Pop()
		}
		if !c.x.full() {
			c.operate(op, args, resources, depth)
		}
	})
}

func (c *canvas) operate(op string, args []lib.Value, resources lib.Value, depth int) {
	number := func(i int) float64 {
		if i < len(args) {
			return args[i].Float64()
		}
		return 0
	}
	switch op {
	case "BT":
		c.set(matrix{a: 1, d: 1})
	case "Tf":
		if len(args) == 2 {
			c.font, c.size = c.find(args[0].Name(), resources), number(1)
		}
	case "TL":
		c.leading = number(0)
	case "Td":
		c.next(number(0), number(1))
	case "TD":
		c.leading = -number(1)
		c.next(number(0), number(1))
	case "T*":
		c.next(0, -c.leading)
	case "Tm":
		c.set(matrix{number(0), number(1), number(2), number(3), number(4), number(5)})
	case "Tj":
		c.show(args, 0)
	case "'":
		c.next(0, -c.leading)
		c.show(args, 0)
	case "\"":
		c.next(0, -c.leading)
		c.show(args, 2)
	case "TJ":
		c.showArray(args)
	case "Do":
		if len(args) != 1 || depth >= maxForms {
			return
		}
		if form := resources.Key("XObject").Key(args[0].Name()); form.Key("Subtype").Name() == "Form" {
			own := form.Key("Resources")
			if own.IsNull() {
				own = resources
			}
			fonts := c.fonts
			c.fonts = map[string]*font{}
			c.draw(form, own, depth+1)
			c.fonts = fonts
		}
	}
}

func (c *canvas) set(m matrix) { c.line, c.at = m, 0 }

func (c *canvas) next(x, y float64) {
	c.line.move(x, y)
	c.at = 0
}

func (c *canvas) find(name string, resources lib.Value) *font {
	if f := c.fonts[name]; f != nil {
		return f
	}
	f := &font{f: lib.Font{V: resources.Key("Font").Key(name)}}
	f.enc, f.first, f.widths = f.f.Encoder(), f.f.FirstChar(), f.f.Widths()
	c.fonts[name] = f
	return f
}

func (c *canvas) show(args []lib.Value, i int) {
	if i < len(args) {
		c.text(args[i].RawString())
	}
}

// showArray shows strings with numbers between them: distances to move back, in thousandths of the font size.
func (c *canvas) showArray(args []lib.Value) {
	if len(args) != 1 {
		return
	}
	for i := range args[0].Len() {
		switch v := args[0].Index(i); v.Kind() {
		case lib.String:
			c.text(v.RawString())
		case lib.Integer, lib.Real:
			c.at -= v.Float64() / 1000 * c.size
		}
	}
}

// A gap of more than wordGap times a letter's height separates words. A line distance of more than paragraphGap times
// that height separates paragraphs.
const (
	wordGap      = 0.18
	paragraphGap = 1.9
)

// ligatures replaces glyphs of several letters, for which nobody searches, by the letters.
var ligatures = strings.NewReplacer(
	"\ufb00", "ff", "\ufb01", "fi", "\ufb02", "fl", "\ufb03", "ffi", "\ufb04", "ffl", "\ufb05", "st", "\ufb06", "st")

// text shows a string: it separates the string from the previous text if necessary, and moves on by its width.
func (c *canvas) text(raw string) {
	if c.font == nil || raw == "" {
		return
	}
	text := strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(ligatures.Replace(c.font.enc.Decode(raw)), " "))
	place := c.line
	place.move(c.at, 0)
	height := math.Abs(c.size) * math.Max(math.Hypot(place.c, place.d), 1e-6)
	c.part(text, place, height)
	for i := range len(raw) {
		c.at += c.font.width(int(raw[i])) / 1000 * c.size
	}
	if n := utf8.RuneCountInString(text); n < len(raw) && len(c.font.widths) == 0 { // codes of several bytes
		c.at -= float64(len(raw)-n) * defaultWidth / 1000 * c.size
	}
	end := c.line
	end.move(c.at, 0)
	c.endX, c.endY = end.e, end.f
	c.write(text)
}

// part writes the separator, if any, between the previous text and a text at a place.
func (c *canvas) part(text string, place matrix, height float64) {
	if !c.shown {
		return
	}
	switch dy := math.Abs(place.f - c.endY); {
	case dy > paragraphGap*height:
		c.cut('\n')
	case dy > height/2:
		// A word that was hyphenated at the end of the previous line continues.
		if first, _ := utf8.DecodeRuneInString(text); c.hyphen && unicode.IsLower(first) {
			c.x.out, c.hyphen = c.x.out[:len(c.x.out)-1], false
			return
		}
		c.cut(' ')
	case place.e-c.endX > wordGap*height, c.endX-place.e > 2*height:
		c.cut(' ')
	}
}

func (c *canvas) cut(with byte) {
	c.x.out = append(c.x.out, with)
	c.hyphen = false
}

func (c *canvas) write(text string) {
	c.x.out = append(c.x.out, text...)
	c.shown = true
	if trimmed := strings.TrimRight(text, " "); trimmed != "" {
		c.hyphen = strings.HasSuffix(trimmed, "-") && trimmed == text
	}
}
