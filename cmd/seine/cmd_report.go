// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"iter"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

// reportShort says what a report is about.
var reportShort = map[engine.ReportKind]string{
	engine.ReportSeeds:     "what became of each seed",
	engine.ReportHosts:     "the hosts with the most URLs",
	engine.ReportDomains:   "hosts by registered domain: how many, what they have, what is unfetched",
	engine.ReportSuffixes:  "the same by public suffix",
	engine.ReportTLDs:      "the same by top-level domain",
	engine.ReportProtocols: "by which protocols and versions servers answered",
	engine.ReportComplete:  "how much of each host is fetched",
	engine.ReportTypes:     "what was captured, by media type",
	engine.ReportStatuses:  "what servers answered, or why they did not",
	engine.ReportFailures:  "why URLs have no page",
	engine.ReportTraps:     "places that show the same pages under many URLs",
}

func reportCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report COMMAND",
		Short: "sum up a crawl, or tell the story of a URL or a host",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, kind := range engine.ReportKinds() {
		cmd.AddCommand(reportTableCommand(c, kind))
	}
	cmd.AddCommand(reportURLCommand(c), reportHostCommand(c))
	return cmd
}

// reportTableCommand is the command for one report.
func reportTableCommand(c *console, kind engine.ReportKind) *cobra.Command {
	var f flags
	var top int
	var format listFormat
	cmd := &cobra.Command{
		Use:   string(kind),
		Short: reportShort[kind],
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := format.check(&f); err != nil {
				return err
			}
			return f.withReading(cmd, func(s store) error {
				rows := s.Report(cmd.Context(), kind, top)
				if f.json || format.name == "csv" {
					return printList(c, &format, &f, engine.ReportColumns(kind), rows)
				}
				return c.table(engine.ReportColumns(kind), rows)
			})
		},
	}
	f.settings(cmd, inViews)
	f.report(cmd)
	format.add(cmd)
	addCount(cmd.Flags(), &top, "top", 100, 0, "print only this number of rows (0: all)")
	return cmd
}

// alignedRows is the number of rows of a table that are held to line up.
const alignedRows = 10_000

// table prints rows in columns that line up, below their names.
func (c *console) table(columns []string, rows iter.Seq2[engine.ReportRow, error]) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	n := 0
	for row, err := range rows {
		if err != nil {
			w.Flush()
			return err
		}
		if _, err := fmt.Fprintln(w, row); err != nil {
			return err
		}
		if n++; n%alignedRows == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

func reportURLCommand(c *console) *cobra.Command {
	return storyCommand(c, "url URL…", "where a URL was found, each fetch and its answer, and what comes next", "a URL",
		func(cmd *cobra.Command, s store, url string) (engine.URLStory, error) {
			return s.URLStory(cmd.Context(), url)
		})
}

func reportHostCommand(c *console) *cobra.Command {
	return storyCommand(c, "host HOST…", "URLs, failures, robots.txt, delay and budgets of a host", "a host",
		func(cmd *cobra.Command, s store, host string) (engine.HostStory, error) {
			return s.HostStory(cmd.Context(), host)
		})
}

// storyCommand is the command that tells stories of what its arguments name, by the settings of `check url` and those
// that only stories have.
func storyCommand[T fmt.Stringer](
	c *console, use, short, what string, tell func(*cobra.Command, store, string) (T, error),
) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  needs(what),
		RunE: func(cmd *cobra.Command, names []string) error {
			o, err := f.reading().options(cmd)
			if err != nil {
				return err
			}
			asked := func(s store) error {
				return eachLine(c, func(yield func(T, error) bool) {
					for _, name := range names {
						if v, err := tell(cmd, s, name); !yield(v, err) {
							return
						}
					}
				}, f.json)
			}
			return f.openOr(cmd, true, func() error {
				o, err := f.asMade(cmd, o) // a check depends on the scope
				if err != nil {
					return err
				}
				return withOptions(o, func(e *engine.Engine) error { return asked(ownStore{e, e.Inspect()}) })
			}, asked)
		},
	}
	f.settings(cmd, inCheckURL|inStories)
	f.report(cmd)
	return cmd
}
