// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/text/width"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/web"
	"github.com/seine-crawler/seine/index"
)

// paint is how hits look: on a terminal in colours, elsewhere plain.
type paint bool

// The colours: each has a meaning, and the text says the same without.
const (
	paintMatch = "\x1b[1m"
	paintTitle = "\x1b[1;34m"
	paintWhere = "\x1b[32m"
	paintQuiet = "\x1b[2m"
	paintEnd   = "\x1b[0m"
)

// newPaint decides whether hits are painted: on a terminal that knows how, unless NO_COLOR (no-color.org) forbids it.
func newPaint(c *console) paint {
	return paint(isTerminal(c) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func (p paint) in(colour, text string) string {
	if !p || text == "" {
		return text
	}
	return colour + text + paintEnd
}

// hitIndent is what stands before the lines of a hit but the first.
const hitIndent = "   "

// shown prints a hit on a terminal of some columns: title; where it is, and its values; its address; the snippet.
func (c *console) shown(h *engine.Hit, about string, p paint, columns int) {
	title := printable(h.Title)
	if title == "" {
		title = printable(h.URL)
	}
	columns -= len(hitIndent)
	put := func(lines ...string) { fmt.Fprintln(c.out, hitIndent+strings.Join(lines, "\n"+hitIndent)) }
	fmt.Fprintf(c.out, "%d. %s\n", h.Rank, p.in(paintTitle, strings.Join(wrapped(title, columns), "\n"+hitIndent)))
	where, about := printable(strings.Join(web.Breadcrumb(h.URL), " › ")), printable(about)
	switch line := p.in(paintWhere, where); {
	case about == "":
		put(line)
	case cells(where)+3+cells(about) > columns:
		put(line, p.in(paintQuiet, about))
	default:
		put(line + "   " + p.in(paintQuiet, about))
	}
	put(p.in(paintQuiet, printable(h.URL))) // in one piece, so that it can be copied
	if h.Snippet != "" {
		put(wrapped(printable(h.Snippet), columns)...)
	}
}

// wrapped cuts a text into lines of at most some columns, at spaces and between Chinese, Japanese and Korean
// characters. What is longer than a line is cut where that ends.
func wrapped(text string, columns int) (lines []string) {
	columns = max(columns, 2)
	var line []byte
	at := 0
	put := func(part string, n int) {
		if at > 0 && at+n > columns {
			lines, line, at = append(lines, strings.TrimRight(string(line), " ")), nil, 0
			if part == " " {
				return
			}
		}
		line, at = append(line, part...), at+n
	}
	for _, part := range parts(text) {
		if n := cells(part); n <= columns {
			put(part, n)
			continue
		}
		var p painting
		for _, r := range part {
			put(string(r), p.cells(r))
		}
	}
	return append(lines, strings.TrimRight(string(line), " "))
}

// parts cuts a text where a line may end: around spaces, which are parts, and beside wide characters that are letters.
func parts(text string) (list []string) {
	letter := func(r rune) bool { return runeCells(r) == 2 && !unicode.IsPunct(r) }
	from, colours, before := 0, -1, rune(0) // colours: where those between two characters begin
	var p painting
	for i, r := range text {
		if p.takes(r) {
			if colours < 0 {
				colours = i
			}
			continue
		}
		to := i
		if before == ' ' && colours >= 0 {
			to = colours // they are those of the next word
		}
		if cut := r == ' ' || before == ' ' || letter(r) || letter(before) && !unicode.IsPunct(r); cut && to > from {
			list, from = append(list, text[from:to]), to
		}
		before, colours = r, -1
	}
	return append(list, text[from:])
}

// cells is the number of columns that a text takes, colours aside.
func cells(text string) (n int) {
	var p painting
	for _, r := range text {
		n += p.cells(r)
	}
	return n
}

// painting tells the characters of colours, which take no column, from others, one after the other.
type painting bool

func (p *painting) takes(r rune) bool {
	in := bool(*p) || r == '\x1b'
	*p = painting(in && r != 'm')
	return in
}

func (p *painting) cells(r rune) int {
	if p.takes(r) {
		return 0
	}
	return runeCells(r)
}

func runeCells(r rune) int {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// namesNext prints how the next page is shown, on a terminal.
func (c *console) namesNext(cmd *cobra.Command, words []string, o *engine.SearchOptions, r *engine.SearchResult) error {
	next := nextPage(cmd, words, o, r)
	if next == "" || !isTerminal(c) {
		return nil
	}
	_, err := fmt.Fprintf(c.out, "next page: %s\n", next)
	return err
}

// nextPage is the command that shows the hits behind those of a page; "": these are the last that can be seen.
func nextPage(cmd *cobra.Command, words []string, o *engine.SearchOptions, r *engine.SearchResult) string {
	next := o.Offset + o.Limit
	limit := min(o.Limit, index.HitsMax-next) // of the last page that can be seen
	if len(r.Hits) < o.Limit || next >= r.Total && !r.AtLeast || limit <= 0 {
		return ""
	}
	line := cmd.CommandPath()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
			if f.Value.Type() != "stringArray" { // which takes no list
				values = []string{strings.Join(values, ",")}
			}
		}
		switch {
		case f.Name == "offset", f.Name == "limit" && limit < o.Limit:
		case f.Value.Type() == "bool" && values[0] == "true":
			line += " --" + f.Name
		default:
			for _, value := range values {
				line += " --" + f.Name + "=" + shellWord(value)
			}
		}
	})
	if limit < o.Limit {
		line += " --limit=" + strconv.Itoa(limit)
	}
	line += " --offset=" + strconv.Itoa(next)
	if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") }) {
		line += " --"
	}
	for _, w := range words {
		line += " " + shellWord(w)
	}
	return printable(line)
}

// plainWord is a word that no shell changes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellWord is a word as it is typed in a shell.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
