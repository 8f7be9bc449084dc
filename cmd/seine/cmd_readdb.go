// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"

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
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			filter, err := f.filter(cmd)
			if err != nil {
				return err
			}
			return f.withReading(cmd, func(s store) error {
				if f.stats {
					return c.crawldbStats(cmd, s, f.perHost, f.json)
				}
				records, err := f.records(cmd.Context(), s, filter)
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
	cmd.Flags().StringVar(&f.url, "url", "", "print the record of one `URL`; \"seine report url\" tells its story")
	cmd.Flags().StringVar(&f.prefix, "prefix", "",
		"print the records whose URL begins with this `prefix`, which has a whole host, and its port if that is not\n"+
			"the usual one (https://docs.python.org/3/); or whose key does; or of one host (docs.python.org)")
	cmd.Flags().StringVar(&f.status, "status", "",
		"only records of these `statuses`, such as db_gone or gone,redirect")
	cmd.Flags().StringVar(&f.pattern, "regex", "", "only records whose URL matches this regular `expression`")
	addCount(cmd.Flags(), &f.sample, "sample", 0, 0, "print only this number of records, an even sample (0: all)")
	addCount(cmd.Flags(), &f.top, "top", 0, 0,
		"print this number of records, those with the highest scores (0: all, in the order of keys)")
	return cmd
}

// filter checks the flags and returns the records that they choose.
func (f *readdbFlags) filter(cmd *cobra.Command) (filter engine.RecordFilter, err error) {
	all := cmd.Flags().Changed("sample") || cmd.Flags().Changed("top") && f.top == 0
	list := f.dump || f.pattern != "" || all || f.prefix != "" || f.status != ""
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
	if err := errors.Join(without(cmd, "sort", "stats"), together(cmd, "format", "stats")); err != nil {
		return filter, err
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
		if filter.Statuses, err = parseStatuses(f.status); err != nil {
			return filter, &usageError{fmt.Errorf("--status %q: %w", f.status, err)}
		}
	}
	return filter, nil
}

// parseStatuses reads "gone,redirect": names of statuses, also without db_, and redirect for both kinds.
func parseStatuses(list string) (statuses []storage.Status, err error) {
	for word := range strings.SplitSeq(list, ",") {
		word = strings.TrimSpace(word)
		if word == "redirect" {
			statuses = append(statuses, storage.StatusRedirTemp, storage.StatusRedirPerm)
			continue
		}
		short := strings.TrimPrefix(word, "db_")
		s, err := storage.ParseStatus("db_" + short)
		if err != nil {
			return nil, fmt.Errorf("there is no status %q%s", word,
				didYouMean(short, statusNames(), "; want some of "+strings.Join(statusNames(), ", ")))
		}
		statuses = append(statuses, s)
	}
	return statuses, nil
}

// statusNames are the names that --status takes.
func statusNames() []string {
	names := []string{"redirect"}
	for i := 1; i < storage.StatusCount; i++ {
		names = append(names, strings.TrimPrefix(storage.Status(i).String(), "db_"))
	}
	return names
}

// records returns the records that are printed.
func (f *readdbFlags) records(
	ctx context.Context, in store, filter engine.RecordFilter,
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

func (c *console) crawldbStats(cmd *cobra.Command, in store, perHost, asJSON bool) error {
	s, err := in.Stats(cmd.Context(), perHost)
	if err != nil {
		return err
	}
	if asJSON {
		return c.object(s)
	}
	_, err = fmt.Fprint(c.out, s)
	return err
}
