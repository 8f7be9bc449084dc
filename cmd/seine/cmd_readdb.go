// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"iter"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

func readdbCommand(c *console) *cobra.Command {
	var f flags
	var stats, dump, perHost bool
	var url, prefix, status, pattern string
	var top, sample int
	var format listFormat
	cmd := &cobra.Command{
		Use:   "readdb",
		Short: "look inside crawldb",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen := 0
			for _, on := range []bool{stats, dump || pattern != "" || sample > 0 || prefix != "", url != "", top > 0} {
				if on {
					chosen++
				}
			}
			if chosen != 1 {
				return &usageError{fmt.Errorf("readdb: give one of --stats, --url, --top, or --dump, --prefix, --regex, --sample")}
			}
			filter := engine.RecordFilter{Prefix: prefix, Sample: sample}
			err := format.check(&f)
			if err == nil && sample < 0 {
				err = &usageError{fmt.Errorf("readdb: --sample %d: want a number of records", sample)}
			}
			if err == nil && pattern != "" {
				if filter.URL, err = regexp.Compile(pattern); err != nil {
					err = &usageError{fmt.Errorf("readdb: --regex: %w", err)}
				}
			}
			if err != nil {
				return err
			}
			return withEngine(cmd, f.reading(), func(e *engine.Engine) error {
				if status != "" {
					var err error
					if filter.Status, err = storage.ParseStatus(status); err != nil {
						return &usageError{fmt.Errorf("readdb: --status: %w", err)}
					}
				}
				in, ctx := e.Inspect(), cmd.Context()
				switch {
				case stats:
					return c.crawldbStats(cmd, e, perHost, f.json)
				case url != "":
					r, err := in.Record(url)
					one := func(yield func(engine.RecordView, error) bool) { yield(r, err) }
					return printList(c, &format, &f, engine.RecordColumns(), one)
				case top > 0:
					list, err := in.TopRecords(ctx, top)
					if err != nil {
						return err
					}
					return printList(c, &format, &f, engine.RecordColumns(), withoutErrors(list))
				}
				return printList(c, &format, &f, engine.RecordColumns(), in.Records(ctx, filter))
			})
		},
	}
	f.settings(cmd, inViews)
	f.report(cmd)
	format.add(cmd)
	cmd.Flags().BoolVar(&stats, "stats", false, "statistics over all records")
	cmd.Flags().BoolVar(&perHost, "sort", false, "with --stats: counts by status for each host")
	cmd.Flags().BoolVar(&dump, "dump", false, "print every record")
	cmd.Flags().StringVar(&url, "url", "", "print one URL's record")
	cmd.Flags().StringVar(&prefix, "prefix", "",
		"print the records whose key has this prefix, or of one host (docs.python.org)")
	cmd.Flags().StringVar(&status, "status", "", "only records of this status, such as db_gone")
	cmd.Flags().StringVar(&pattern, "regex", "", "only records whose URL matches this regular expression")
	cmd.Flags().IntVar(&sample, "sample", 0, "print only this number of records, an even sample")
	cmd.Flags().IntVar(&top, "top", 0, "print this number of records, those with the highest scores")
	return cmd
}

// withoutErrors is the sequence of a list.
func withoutErrors[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func (c *console) crawldbStats(cmd *cobra.Command, e *engine.Engine, perHost, asJSON bool) error {
	s, err := e.Inspect().Stats(cmd.Context(), perHost)
	if err != nil {
		return err
	}
	if asJSON {
		return c.object(s)
	}
	_, err = fmt.Fprint(c.out, s)
	return err
}
