// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

// queryHelp is the query language in short; index.Query has all of it.
const queryHelp = `Searches the index. Words are alternatives: pages with more of them, and with rarer ones, come first.

  +word -word        required, excluded (also NOT word); ?word is never required
  "a phrase"         the words next to each other, required; "a phrase"~3 up to three places apart
  a AND (b OR c)     both sides, either side; also a | b
  word^2 wor* word~1 counts twice; words that begin so; words that differ by one letter
  title:word         in the title; url: anchor: headings: body: too, also before "…" and (…)
  site:example.org   on the host or domain; site:example.org/docs/ below a path; host: exactly this host
  lang:de type:pdf date:2024-03..2024-06 fetched:>=2024-06 size:>10k
                     by language, type, date, time of the fetch and size; lang:de lang:fr is either, also
                     type: site: host:
  name:word name:="a value" name:1..5
                     by a field that an index filter added: a word, the whole value, numbers

Any text is a query: what makes no sense as an operator is a word. If no page has all that quotes and +
require, pages with some of it are found. With --strict such a query finds nothing, and a mistake in a query
is an error that names its column.`

func searchCommand(c *console) *cobra.Command {
	var f flags
	var o engine.SearchOptions
	var explain, complete bool
	var freshness string
	cmd := &cobra.Command{
		Use:   "search QUERY…",
		Short: "search the crawled pages",
		Long:  queryHelp,
		Example: "  seine search asyncio gather\n" +
			"  seine search '\"write-ahead log\" site:postgresql.org -replication'\n" +
			"  seine search --strict '(vacuum OR analyze) AND title:autovacuum'",
		Args: needs("a query"),
		RunE: func(cmd *cobra.Command, words []string) error {
			if err := checkSearch(cmd, &o, freshness, complete); err != nil {
				return err
			}
			return f.withReading(cmd, func(e store) error {
				query := strings.Join(words, " ")
				if complete {
					return completions(cmd.Context(), c, e, query, o.Limit, f.json)
				}
				p := newPaint(c)
				if bool(p) && !f.json {
					o.MarkStart, o.MarkEnd = paintMatch, paintEnd
				}
				r, err := e.Search(cmd.Context(), query, o)
				if err != nil {
					return searchError(err)
				}
				var better index.Suggestion
				if r.Total < fewHits || r.Relaxed || r.Doubtful {
					if better, err = e.Suggest(cmd.Context(), query, suggestTime); err != nil {
						return err
					}
				}
				if f.json {
					return c.object(struct {
						engine.SearchResult
						DidYouMean string `json:"did_you_mean,omitempty"`
					}{r, better.Query})
				}
				if explain {
					fmt.Fprintf(c.out, "query: %s\n", printable(r.Query))
				}
				if err := c.found(r, better, showsFetched(&o, &r)); err != nil {
					return err
				}
				return c.namesNext(cmd, words, &o, &r)
			})
		},
	}
	f.settings(cmd, inViews)
	explainMinus(cmd)
	f.report(cmd)
	cmd.Flags().BoolVar(&o.Strict, "strict", false, "refuse what is no query, and relax nothing")
	cmd.Flags().BoolVar(&explain, "explain-query", false, "print the query as it was understood")
	cmd.Flags().BoolVar(&o.Explain, "explain", false, "show how each score came about")
	cmd.Flags().StringVar(&freshness, "freshness", "0",
		"prefer new pages: `half-life` of what their date adds to a score, such as 720h (0: dates do not matter)")
	cmd.Flags().BoolVar(&complete, "complete", false, "print words that the last word may become")
	addValueFlags(cmd.Flags(), &o)
	addCountTo(cmd.Flags(), &o.Limit, "limit", 10, 1, index.HitsMax, "hits to print")
	addCountTo(cmd.Flags(), &o.Offset, "offset", 0, 0, index.HitsMax-1, "hits to skip")
	return cmd
}

// searchError is the error of a search: what is no query, or no facet, is wrong use.
func searchError(err error) error {
	var query *index.QueryError
	var facet *index.FacetError
	if errors.As(err, &query) || errors.As(err, &facet) {
		return &usageError{err}
	}
	return err
}

// explainMinus says what to do when a flag that does not exist may be a -word of the query.
func explainMinus(cmd *cobra.Command) {
	fault := cmd.FlagErrorFunc()
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if !errors.As(err, &unknown) {
			return fault(cmd, err)
		}
		return fmt.Errorf("%w (a query with -word needs quotes, or -- before it)", fault(cmd, err))
	})
}

// found prints what a search found; fetched says that hits show when they were fetched.
func (c *console) found(r engine.SearchResult, better index.Suggestion, fetched bool) error {
	if r.Relaxed {
		fmt.Fprintln(c.out, "no page has all that quotes and + require; these have some of it")
	}
	for _, h := range r.Hits {
		about := aboutHit(&h, fetched)
		if isTerminal(c) {
			c.shown(&h, about, newPaint(c), columnsOf(c))
		} else {
			c.listed(&h, about)
		}
		if h.Explanation != nil {
			c.explained(h.Explanation, "   ")
		}
	}
	c.facets(r.Facets)
	if r.Partial {
		fmt.Fprintln(c.out, "the search ran out of time: there may be more pages, and better ones")
	}
	atLeast := ""
	if r.AtLeast {
		atLeast = "at least "
	}
	_, err := fmt.Fprintf(c.out, atLeast+"%d found in %.1f ms\n", r.Total, 1000*r.Took.Seconds())
	if better.Query != "" && err == nil {
		_, err = fmt.Fprintf(c.out, "did you mean: %s (%d found)\n", printable(better.Query), better.Total)
	}
	return err
}

// listed prints a hit, with its values, for other programs, and for files.
func (c *console) listed(h *engine.Hit, about string) {
	fmt.Fprintf(c.out, "%d. %s\n   %s\n", h.Rank, printable(h.Title), h.URL)
	if h.Snippet != "" {
		fmt.Fprintf(c.out, "   %s\n", printable(h.Snippet))
	}
	if about != "" {
		fmt.Fprintf(c.out, "   %s\n", printable(about))
	}
}

// explained prints a number and, farther to the right, what it is made of.
func (c *console) explained(e *index.Explanation, indent string) {
	fmt.Fprintf(c.out, "%s%.6g  %s\n", indent, e.Value, printable(e.Description))
	for i := range e.Details {
		c.explained(&e.Details[i], indent+"  ")
	}
}

const (
	fewHits     = 3                      // below it other words are proposed, as for rare words
	suggestTime = 500 * time.Millisecond // for finding them; the words are not in memory at the first search
)

// completions prints what the last word of a query may become.
func completions(ctx context.Context, c *console, e store, query string, limit int, asJSON bool) error {
	list, err := e.Complete(ctx, query, limit)
	if err != nil {
		return err
	}
	if asJSON {
		return c.object(struct {
			Completions []index.Completion `json:"completions"`
		}{append([]index.Completion{}, list...)}) // none is a list, too, as in the API
	}
	for _, w := range list {
		if _, err := fmt.Fprintf(c.out, "%s\t%d\n", printable(w.Text), w.Documents); err != nil {
			return err
		}
	}
	return nil
}

func isTerminal(c *console) bool {
	f := stdout(c)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// stdout is the file of stdout; nil if it is none.
func stdout(c *console) *os.File {
	if out, ok := c.out.(*checkedWriter); ok {
		f, _ := out.w.(*os.File)
		return f
	}
	return nil
}

// columnsOf is the width of the terminal on stdout, 80 if it does not say.
func columnsOf(c *console) int {
	if columns, _, err := term.GetSize(int(stdout(c).Fd())); err == nil && columns > 0 {
		return columns
	}
	return 80
}

// printable replaces control characters in text from a page, except our own marks. It leaves out those that only say
// how others are shown: marks of direction and of language, of which terminals make what they like.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r < ' ' && r != '\x1b' || r == 0x7f || r >= 0x80 && r < 0xa0:
			return ' '
		case r == '\u200c' || r == '\u200d' || unicode.Is(unicode.Prepended_Concatenation_Mark, r):
			return r // Persian and Indic scripts, and emoji, need joiners, and the signs before numbers are seen
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
	keep := strings.NewReplacer("\x1b[1m", "\x00", "\x1b[0m", "\x01").Replace(s)
	return strings.NewReplacer("\x1b", " ", "\x00", "\x1b[1m", "\x01", "\x1b[0m").Replace(keep)
}
