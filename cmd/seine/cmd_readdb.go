// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func readdbCommand(c *console) *cobra.Command {
	var f flags
	var stats, dump, perHost bool
	var url, prefix, status string
	var top int
	cmd := &cobra.Command{
		Use:   "readdb",
		Short: "look inside crawldb",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen := 0
			for _, on := range []bool{stats, dump, url != "", prefix != "", top > 0} {
				if on {
					chosen++
				}
			}
			if chosen != 1 {
				return &usageError{fmt.Errorf("readdb: give one of --stats, --dump, --url, --prefix, --top")}
			}
			return withEngine(cmd, f.reading(), func(e *engine.Engine) error {
				switch {
				case stats:
					return c.crawldbStats(cmd, e, perHost, f.json)
				case url != "":
					r, err := e.LookUp(url)
					if err != nil {
						return err
					}
					return c.record(r, f.json)
				case top > 0:
					list, err := e.TopRecords(cmd.Context(), top)
					if err != nil {
						return err
					}
					return c.records(f.json, func(each func(engine.RecordView) error) error {
						for _, r := range list {
							if err := each(r); err != nil {
								return err
							}
						}
						return nil
					})
				}
				return c.records(f.json, func(each func(engine.RecordView) error) error {
					return e.Records(cmd.Context(), engine.RecordFilter{Prefix: prefix, Status: status}, each)
				})
			})
		},
	}
	f.common(cmd)
	f.report(cmd)
	cmd.Flags().BoolVar(&stats, "stats", false, "statistics over all records")
	cmd.Flags().BoolVar(&perHost, "sort", false, "with --stats: counts by status for each host")
	cmd.Flags().BoolVar(&dump, "dump", false, "print every record")
	cmd.Flags().StringVar(&url, "url", "", "print one URL's record")
	cmd.Flags().StringVar(&prefix, "prefix", "", "print the records whose key begins so, or of one host (docs.python.org)")
	cmd.Flags().StringVar(&status, "status", "", "with --dump or --prefix: only this status, such as db_gone")
	cmd.Flags().IntVar(&top, "top", 0, "print so many records with the highest scores")
	return cmd
}

func (c *console) crawldbStats(cmd *cobra.Command, e *engine.Engine, perHost, asJSON bool) error {
	s, err := e.CrawldbStats(cmd.Context(), perHost)
	if err != nil {
		return err
	}
	if asJSON {
		return c.object(s)
	}
	_, err = fmt.Fprint(c.out, s)
	return err
}

func (c *console) record(r engine.RecordView, asJSON bool) error {
	if asJSON {
		return c.object(r)
	}
	_, err := fmt.Fprintln(c.out, r)
	return err
}

// records prints what walk yields, one record a line.
func (c *console) records(asJSON bool, walk func(each func(engine.RecordView) error) error) error {
	return c.lines(func(w *bufio.Writer) error {
		return walk(func(r engine.RecordView) error {
			if asJSON {
				return jsonLine(w, r)
			}
			_, err := fmt.Fprintln(w, r)
			return err
		})
	})
}
