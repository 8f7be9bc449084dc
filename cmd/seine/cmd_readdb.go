// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// readdbFlags say which records are printed, and how.
type readdbFlags struct {
	flags
	stats, dump, perHost         bool
	url, prefix, status, pattern string
	top, sample                  int
	format                       listFormat
}

func readdbCommand(c *console) *cobra.Command {
	var f readdbFlags
	cmd := &cobra.Command{
		Use:   "readdb",
		Short: "look inside crawldb",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.filter()
			if err != nil {
				return err
			}
			return withEngine(cmd, f.reading(), func(e *engine.Engine) error {
				if f.stats {
					return c.crawldbStats(cmd, e, f.perHost, f.json)
				}
				records, err := f.records(cmd.Context(), e.Inspect(), filter)
				if err != nil {
					return err
				}
				return printList(c, &f.format, &f.flags, engine.RecordColumns(), records)
			})
		},
	}
	f.settings(cmd, inViews)
	f.report(cmd)
	f.format.add(cmd)
	cmd.Flags().BoolVar(&f.stats, "stats", false, "statistics over all records")
	cmd.Flags().BoolVar(&f.perHost, "sort", false, "with --stats: counts by status for each host")
	cmd.Flags().BoolVar(&f.dump, "dump", false, "print every record")
	cmd.Flags().StringVar(&f.url, "url", "", "print one URL's record")
	cmd.Flags().StringVar(&f.prefix, "prefix", "",
		"print the records whose key has this prefix, or of one host (docs.python.org)")
	cmd.Flags().StringVar(&f.status, "status", "", "only records of this status, such as db_gone")
	cmd.Flags().StringVar(&f.pattern, "regex", "", "only records whose URL matches this regular expression")
	cmd.Flags().IntVar(&f.sample, "sample", 0, "print only this number of records, an even sample")
	cmd.Flags().IntVar(&f.top, "top", 0, "print this number of records, those with the highest scores")
	return cmd
}

// filter checks the flags and returns the records that they choose.
func (f *readdbFlags) filter() (filter engine.RecordFilter, err error) {
	list := f.dump || f.pattern != "" || f.sample > 0 || f.prefix != "" || f.status != ""
	chosen := 0
	for _, on := range []bool{f.stats, list, f.url != "", f.top > 0} {
		if on {
			chosen++
		}
	}
	if chosen != 1 {
		return filter, &usageError{errors.New("readdb: give one of --stats, --url, --top, or one or more of --dump, " +
			"--prefix, --status, --regex, --sample")}
	}
	filter = engine.RecordFilter{Prefix: f.prefix, Sample: f.sample}
	if err := f.format.check(&f.flags); err != nil {
		return filter, err
	}
	if f.pattern != "" {
		if filter.URL, err = regexp.Compile(f.pattern); err != nil {
			return filter, &usageError{fmt.Errorf("readdb: --regex: %w", err)}
		}
	}
	if f.status != "" {
		if filter.Status, err = storage.ParseStatus(f.status); err != nil {
			return filter, &usageError{fmt.Errorf("readdb: --status: %w", err)}
		}
	}
	return filter, nil
}

// records returns the records that are printed.
func (f *readdbFlags) records(
	ctx context.Context, in *engine.Inspector, filter engine.RecordFilter,
) (iter.Seq2[engine.RecordView, error], error) {
	switch {
	case f.url != "":
		r, err := in.Record(f.url)
		return withoutErrors([]engine.RecordView{r}), err
	case f.top > 0:
		list, err := in.TopRecords(ctx, f.top)
		return withoutErrors(list), err
	}
	return in.Records(ctx, filter), nil
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
