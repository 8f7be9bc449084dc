// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func checkCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "show what the crawler would make of something",
		Args:  args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(checkURLCommand(c))
	return cmd
}

func checkURLCommand(c *console) *cobra.Command {
	var f flags
	var rules string
	cmd := &cobra.Command{
		Use:   "url URL…",
		Short: "show canonical form, key and verdict of URLs (\"-\" reads lines)",
		Args:  args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, urls []string) error {
			checker, err := engine.NewURLChecker(engine.Options{FilterFile: rules})
			if err != nil {
				return err
			}
			return c.lines(func(w *bufio.Writer) error {
				for _, u := range urls {
					if u != "-" {
						if err := c.checkURL(w, u, checker, f.json); err != nil {
							return err
						}
						continue
					}
					if err := c.checkLines(w, checker, f.json); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	f.report(cmd)
	cmd.Flags().StringVar(&rules, "url-filter", "", "file of rules, as for seine crawl")
	return cmd
}

func (c *console) checkURL(w io.Writer, raw string, checker *engine.URLChecker, asJSON bool) error {
	r := checker.Check(raw)
	if asJSON {
		return jsonLine(w, r)
	}
	verdict := "accepted"
	if !r.Accepted {
		verdict = "refused: " + r.Reason
	}
	if r.Rule != "" {
		verdict += " (" + r.Rule + ")"
	}
	_, err := fmt.Fprintf(w, "%s\n  canonical  %s\n  key        %s\n  host       %s\n  %s\n", printable(r.URL), r.Canonical, r.Key, r.Host, printable(verdict))
	return err
}

// checkLines checks each line of standard input; a line may be as long as it likes, within memory
// of one line.
func (c *console) checkLines(w io.Writer, checker *engine.URLChecker, asJSON bool) error {
	sc := bufio.NewScanner(c.in)
	sc.Buffer(make([]byte, 64<<10), 16<<20)
	for sc.Scan() {
		if err := c.checkURL(w, sc.Text(), checker, asJSON); err != nil {
			return err
		}
	}
	return sc.Err()
}
