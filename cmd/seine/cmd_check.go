// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/policy"
)

func checkCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check COMMAND",
		Short: "show how the crawler treats a URL or a page",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(checkURLCommand(c), checkParseCommand(c))
	return cmd
}

func checkURLCommand(c *console) *cobra.Command {
	f := flags{needsDir: true}
	var from string
	cmd := &cobra.Command{
		Use:   "url URL…",
		Short: "show the canonical form, key and verdict of URLs",
		Long: "Shows the canonical form and key of URLs, and whether they may be crawled. \"-\" reads URLs from\n" +
			"standard input, one per line. With --dir it also shows what the data directory knows about them:\n" +
			"record, robots.txt verdict, budgets, and why a URL was not fetched. Scope and spelling of URLs are\n" +
			"those that the directory was made with, unless a flag, a variable or a file says otherwise.",
		Args: needs("a URL"),
		RunE: func(cmd *cobra.Command, urls []string) error {
			scope, err := policy.ParseNormalizerScope(from)
			if err != nil {
				return &usageError{err}
			}
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			if f.run.values[settingDir].from != fromDefault {
				o.MustExist, o.ReadOnly = true, true
				asked := func(s store) error {
					check := func(u string) (engine.URLCheck, error) { return s.Check(u, scope) }
					return c.checkURLs(cmd.Context(), urls, check, f.json)
				}
				return f.openOr(cmd, true, func() error {
					o, err := f.asMade(cmd, o)
					if err != nil {
						return err
					}
					return withOptions(o, func(e *engine.Engine) error { return asked(ownStore{e, e.Inspect()}) })
				}, asked)
			}
			checker := engine.NewURLChecker(o)
			check := func(u string) (engine.URLCheck, error) { return checker.Check(u, scope), nil }
			return c.checkURLs(cmd.Context(), urls, check, f.json)
		},
	}
	f.settings(cmd, inCheckURL)
	f.report(cmd)
	cmd.Flags().StringVar(&from, "normalizer-scope", string(policy.NormalizeInject),
		"`scope` of normalizers, where the URL comes from: inject (a seed), outlink (a link) or fetcher (a redirect)")
	return cmd
}

// checkFunc checks one URL.
type checkFunc func(raw string) (engine.URLCheck, error)

func (c *console) checkURLs(ctx context.Context, urls []string, check checkFunc, asJSON bool) error {
	return c.lines(func(w *bufio.Writer) error {
		for _, u := range urls {
			err := ctx.Err()
			switch {
			case err != nil:
			case u == "-":
				err = c.checkLines(ctx, w, check, asJSON)
			default:
				err = c.checkURL(w, u, check, asJSON)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *console) checkURL(w io.Writer, raw string, check checkFunc, asJSON bool) error {
	r, err := check(raw)
	if err != nil {
		return err
	}
	if asJSON {
		return jsonLine(w, r)
	}
	_, err = fmt.Fprintln(w, r)
	return err
}

// checkedLineMax is the most bytes of a line of standard input that checkLines takes.
const checkedLineMax = 16 << 20

// checkLines checks each line of standard input.
func (c *console) checkLines(ctx context.Context, w io.Writer, check checkFunc, asJSON bool) error {
	sc := bufio.NewScanner(c.input(ctx))
	sc.Buffer(make([]byte, 64<<10), checkedLineMax)
	n := 0
	for ; sc.Scan(); n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		line := strings.TrimPrefix(sc.Text(), "\ufeff") // editors of Windows begin files so
		if err := c.checkURL(w, line, check, asJSON); err != nil {
			return err
		}
	}
	if err := sc.Err(); !errors.Is(err, bufio.ErrTooLong) {
		return err
	}
	return &usageError{fmt.Errorf("check url: line %d of standard input is longer than 16 MiB: leave it out", n+1)}
}
