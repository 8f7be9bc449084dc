// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/index"
)

func searchCommand(c *console) *cobra.Command {
	var f flags
	var o engine.SearchOptions
	var complete bool
	cmd := &cobra.Command{
		Use:   "search QUERY…",
		Short: "search the crawled pages",
		Long: "Searches the index. All words must occur. \"a OR b\" finds pages with either word, \"a phrase\"\n" +
			"in quotes finds the words next to each other, -word excludes a word, site:example.org restricts\n" +
			"to a host or domain, and intitle:word requires the word in the title. When few pages are found and\n" +
			"words look misspelt, it proposes others from the index. With --complete it prints the words of the\n" +
			"index that the last word may become, and the number of pages with each.",
		Example: "  seine search asyncio gather\n  seine search '\"write-ahead log\" site:postgresql.org -replication'",
		Args:    needs("a query"),
		RunE: func(cmd *cobra.Command, words []string) error {
			return withEngine(cmd, f.reading(), func(e *engine.Engine) error {
				query := strings.Join(words, " ")
				if complete {
					return completions(cmd.Context(), c, e, query, o.Limit, f.json)
				}
				bold := !f.json && isTerminal(c)
				if bold {
					o.MarkStart, o.MarkEnd = "\x1b[1m", "\x1b[0m"
				}
				r, err := e.Search(cmd.Context(), query, o)
				if err != nil {
					return err
				}
				var better index.Suggestion
				if r.Total < fewHits {
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
				for _, h := range r.Hits {
					fmt.Fprintf(c.out, "%d. %s\n   %s\n", h.Rank, printable(h.Title), h.URL)
					if h.Snippet != "" {
						fmt.Fprintf(c.out, "   %s\n", printable(h.Snippet))
					}
				}
				_, err = fmt.Fprintf(c.out, "%d found in %.1f ms\n", r.Total, 1000*r.Took.Seconds())
				if better.Query != "" && err == nil {
					_, err = fmt.Fprintf(c.out, "did you mean: %s (%d found)\n", printable(better.Query), better.Total)
				}
				return err
			})
		},
	}
	f.settings(cmd, inViews)
	fault := cmd.FlagErrorFunc()
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if !errors.As(err, &unknown) {
			return fault(cmd, err)
		}
		return fmt.Errorf("%w (a query with -word needs quotes, or -- before it)", fault(cmd, err))
	})
	f.report(cmd)
	cmd.Flags().BoolVar(&complete, "complete", false, "print words that the last word may become")
	addCount(cmd.Flags(), &o.Limit, "limit", 10, 1, "hits to print")
	addCount(cmd.Flags(), &o.Offset, "offset", 0, 0, "hits to skip")
	return cmd
}

const (
	fewHits     = 3                      // below it other words are proposed
	suggestTime = 500 * time.Millisecond // for finding them; the words are not in memory at the first search
)

// completions prints what the last word of a query may become.
func completions(ctx context.Context, c *console, e *engine.Engine, query string, limit int, asJSON bool) error {
	list, err := e.Complete(ctx, query, limit)
	if err != nil {
		return err
	}
	if asJSON {
		return c.object(struct {
			Completions []index.Completion `json:"completions"`
		}{list})
	}
	for _, w := range list {
		if _, err := fmt.Fprintf(c.out, "%s\t%d\n", printable(w.Text), w.Documents); err != nil {
			return err
		}
	}
	return nil
}

func isTerminal(c *console) bool {
	out, _ := c.out.(*checkedWriter)
	if out == nil {
		return false
	}
	f, ok := out.w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// printable replaces control characters in text from a page, except our own marks.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\x1b' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
	keep := strings.NewReplacer("\x1b[1m", "\x00", "\x1b[0m", "\x01").Replace(s)
	return strings.NewReplacer("\x1b", " ", "\x00", "\x1b[1m", "\x01", "\x1b[0m").Replace(keep)
}
