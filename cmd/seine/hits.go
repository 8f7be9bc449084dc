// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

// shown prints a hit on a terminal: title; where it is, and its values; its address; the snippet.
func (c *console) shown(h *engine.Hit, about string, p paint) {
	title := printable(h.Title)
	if title == "" {
		title = printable(h.URL)
	}
	fmt.Fprintf(c.out, "%d. %s\n", h.Rank, p.in(paintTitle, title))
	line := p.in(paintWhere, printable(strings.Join(web.Breadcrumb(h.URL), " › ")))
	if about != "" {
		line += "   " + p.in(paintQuiet, printable(about))
	}
	fmt.Fprintf(c.out, "   %s\n   %s\n", line, p.in(paintQuiet, printable(h.URL)))
	if h.Snippet != "" {
		fmt.Fprintf(c.out, "   %s\n", printable(h.Snippet))
	}
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
	if len(r.Hits) < o.Limit || next >= r.Total && !r.AtLeast || next+o.Limit > index.HitsMax {
		return ""
	}
	line := cmd.CommandPath()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		switch {
		case f.Name == "offset":
		case f.Value.Type() == "bool" && value == "true":
			line += " --" + f.Name
		default:
			line += " --" + f.Name + "=" + shellWord(value)
		}
	})
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
