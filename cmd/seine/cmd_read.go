// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func readlinksCommand(c *console) *cobra.Command {
	var f flags
	var url string
	var limit int
	cmd := &cobra.Command{
		Use:   "readlinks --url URL",
		Short: "print who links to a URL, with which anchor text",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if url == "" {
				return &usageError{fmt.Errorf("readlinks: give --url URL")}
			}
			return withEngine(cmd, f.reading(), func(e *engine.Engine) error {
				links, err := e.Inlinks(url, limit)
				if err != nil {
					return err
				}
				return c.lines(func(w *bufio.Writer) error {
					for _, l := range links {
						if err := c.line(w, l, f.json); err != nil {
							return err
						}
					}
					return nil
				})
			})
		},
	}
	f.common(cmd)
	f.report(cmd)
	cmd.Flags().StringVar(&url, "url", "", "the URL that is linked to")
	cmd.Flags().IntVar(&limit, "limit", 10_000, "at most so many links")
	return cmd
}

// line prints a value as JSON or as its String.
func (c *console) line(w *bufio.Writer, v fmt.Stringer, asJSON bool) error {
	if asJSON {
		return jsonLine(w, v)
	}
	_, err := fmt.Fprintln(w, v)
	return err
}

func readhostCommand(c *console) *cobra.Command {
	var f flags
	var host string
	var top int
	cmd := &cobra.Command{
		Use:   "readhost",
		Short: "look inside hostdb",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withEngine(cmd, f.reading(), func(e *engine.Engine) error {
				return c.lines(func(w *bufio.Writer) error {
					return e.Hosts(cmd.Context(), engine.HostFilter{Host: host, Top: top}, func(h engine.HostView) error {
						return c.line(w, h, f.json)
					})
				})
			})
		},
	}
	f.common(cmd)
	f.report(cmd)
	cmd.Flags().StringVar(&host, "host", "", "only this host (docs.python.org or host:port)")
	cmd.Flags().IntVar(&top, "top", 0, "only so many hosts, those with the most URLs")
	return cmd
}

func readsegCommand(c *console) *cobra.Command {
	var f flags
	var segment uint32
	var dump bool
	var url string
	cmd := &cobra.Command{
		Use:   "readseg",
		Short: "list segments, or print what one holds",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withEngine(cmd, f.reading(), func(e *engine.Engine) error {
				return c.lines(func(w *bufio.Writer) error {
					if !dump && url == "" {
						return e.SegmentViews(segment, func(s engine.SegmentView) error { return c.line(w, s, f.json) })
					}
					return e.ParseRecords(cmd.Context(), segment, url, func(p engine.ParseView) error { return c.line(w, p, f.json) })
				})
			})
		},
	}
	f.common(cmd)
	f.report(cmd)
	cmd.Flags().Uint32Var(&segment, "segment", 0, "segment number (default: all for the list, the newest for --dump)")
	cmd.Flags().BoolVar(&dump, "dump", false, "print every parse record of the segment")
	cmd.Flags().StringVar(&url, "url", "", "print one URL's parse record")
	return cmd
}
