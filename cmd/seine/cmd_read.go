// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func readlinksCommand(c *console) *cobra.Command {
	var f flags
	var url string
	var limit int
	var dump, count bool
	var format listFormat
	cmd := &cobra.Command{
		Use:   "readlinks",
		Short: "print the links to a URL, or all links by target, with their anchor texts",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dump == (url != "") {
				return &usageError{fmt.Errorf("readlinks: give --url URL or --dump")}
			}
			err := errors.Join(format.check(&f), together(cmd, "limit", "dump"), together(cmd, "count", "dump"),
				together(cmd, "count", "limit"))
			if err != nil {
				return err
			}
			return f.withReading(cmd, func(s store) error {
				if count {
					story, err := s.URLStory(cmd.Context(), url)
					return c.outcome(story.Linking, err, f.json)
				}
				links := s.Links(cmd.Context())
				if !dump {
					links = s.Inlinks(cmd.Context(), url, limit)
				}
				return printList(c, &format, &f, engine.LinkColumns(), links)
			})
		},
	}
	f.settings(cmd, inViews)
	f.report(cmd)
	format.add(cmd)
	cmd.Flags().StringVar(&url, "url", "", "`URL` that is the target of the links")
	cmd.Flags().BoolVar(&dump, "dump", false, "print every link of linkdb, as target, source and anchor text")
	cmd.Flags().BoolVar(&count, "count", false, "with --url: only count the linking pages, hosts and domains")
	addCount(cmd.Flags(), &limit, "limit", 10_000, 1, "with --url: print at most this number of links")
	return cmd
}

// eachLine prints each value on a line, as JSON or as its String. It stops at the first error.
func eachLine[T fmt.Stringer](c *console, values iter.Seq2[T, error], asJSON bool) error {
	return c.lines(func(w *bufio.Writer) error {
		for v, err := range values {
			if err == nil && asJSON {
				err = jsonLine(w, v)
			} else if err == nil {
				_, err = fmt.Fprintln(w, v)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func readhostCommand(c *console) *cobra.Command {
	var f flags
	var host, by string
	var top int
	var orders []string
	for _, order := range engine.HostOrders() {
		orders = append(orders, string(order))
	}
	cmd := &cobra.Command{
		Use:   "readhost",
		Short: "look inside hostdb",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(together(cmd, "top", "host"), without(cmd, "by", "top")); err != nil {
				return err
			}
			if _, err := oneOf(orders...).parse(by); err != nil {
				return &usageError{fmt.Errorf("--by %q: %w", by, err)}
			}
			filter := engine.HostFilter{Host: host, Top: top, By: engine.HostOrder(by)}
			return f.withReading(cmd, func(s store) error {
				return eachLine(c, s.Hosts(cmd.Context(), filter), f.json)
			})
		},
	}
	f.settings(cmd, inViews)
	f.report(cmd)
	cmd.Flags().StringVar(&host, "host", "", "only this `host` (docs.python.org or host:port)")
	addCount(cmd.Flags(), &top, "top", 0, 0, "print only so many hosts, those with the most of --by (0: all)")
	cmd.Flags().StringVar(&by, "by", orders[0], "what --top goes by: `"+strings.Join(orders, "|")+"`")
	return cmd
}

func readsegCommand(c *console) *cobra.Command {
	var f flags
	var segment uint32
	var dump bool
	var url string
	cmd := &cobra.Command{
		Use:   "readseg",
		Short: "list segments, or print parse records",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := together(cmd, "dump", "url"); err != nil {
				return err
			}
			return f.withReading(cmd, func(s store) error {
				if segment != 0 {
					if err := existing(s, segment); err != nil {
						return err
					}
				}
				switch {
				case dump || url != "":
					return eachLine(c, s.ParseRecords(cmd.Context(), segment, url), f.json)
				case segment != 0:
					v, err := s.Segment(segment)
					return eachLine(c, func(yield func(engine.SegmentView, error) bool) { yield(v, err) }, f.json)
				default:
					return eachLine(c, s.Segments(cmd.Context()), f.json)
				}
			})
		},
	}
	f.settings(cmd, inViews)
	f.report(cmd)
	addCount(cmd.Flags(), &segment, "segment", 0, 0,
		"number of the segment (0: all for the list, the newest that has some for --dump)")
	cmd.Flags().BoolVar(&dump, "dump", false, "print every parse record of the segment")
	cmd.Flags().StringVar(&url, "url", "",
		"print the parse record of one `URL`, of the newest segment that has it unless --segment says which")
	return cmd
}
