// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// addDaysMax bounds --add-days: no interval is longer, by far. listsMax bounds --segments.
const (
	addDaysMax = 100_000
	listsMax   = 1000
)

func generateCommand(c *console) *cobra.Command {
	var f flags
	var o engine.GenerateOptions
	var status, interval string
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "choose due URLs for new segments (exit status 3 when nothing is due)",
		Long: "Chooses the due URLs with the best scores; of equal scores, the first URL of each host comes before\n" +
			"the second of any. With --segments, what the bounds of one fetchlist keep out goes to the next one.\n" +
			"--dry-run counts what would be chosen, and what holds the others back, and writes nothing: links that\n" +
			"a wider scope or another filter permits by now are found without it, before it chooses. Of hosts\n" +
			"whose URLs need not be read, because their budget is used up or none may be crawled, and of URLs\n" +
			"deeper than the crawl goes, it counts the hosts. Of a host with many more than can be chosen, the best\n" +
			"are counted.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.AddDays > addDaysMax {
				return &usageError{fmt.Errorf("--add-days %d: want at most %d", o.AddDays, addDaysMax)}
			}
			if o.Lists > listsMax {
				return &usageError{fmt.Errorf("--segments %d: want 1 to %d", o.Lists, listsMax)}
			}
			if math.IsNaN(o.MinScore) {
				return &usageError{fmt.Errorf("--min-score %v: want a number", o.MinScore)}
			}
			if given := cmd.Flags().Changed("status"); given && status == "" {
				return &usageError{fmt.Errorf("--status %q: want a status such as unfetched", status)}
			} else if given {
				if !strings.HasPrefix(status, "db_") {
					status = "db_" + status
				}
				if o.Status, err = storage.ParseStatus(status); err != nil {
					return &usageError{fmt.Errorf("--status: %w", err)}
				}
			}
			if cmd.Flags().Changed("longest-interval") {
				o.MaxInterval, err = time.ParseDuration(interval)
				if err != nil || o.MaxInterval <= 0 {
					return &usageError{fmt.Errorf("--longest-interval %q: want a duration such as 24h", interval)}
				}
			}
			return withEngine(cmd, f.trying(o.DryRun), func(e *engine.Engine) error {
				r, err := e.Generate(cmd.Context(), o)
				if err != nil {
					return err
				}
				return c.report(r, f.json)
			})
		},
	}
	f.settings(cmd, inGenerate)
	f.report(cmd)
	addCount(cmd.Flags(), &o.Top, "top", 0, 0, "most URLs of a fetchlist (0: a million)")
	addCount(cmd.Flags(), &o.MaxPerHost, "max-per-host", 0, 0, "most URLs of one host in a fetchlist (0: no limit)")
	addCount(cmd.Flags(), &o.MaxPerDomain, "max-per-domain", 0, 0, "most URLs of one registered domain (0: no limit)")
	addCount(cmd.Flags(), &o.MaxPerAddress, "max-per-address", 0, 0,
		"most URLs of hosts at one IP address, as of their last visit (0: no limit)")
	addCount(cmd.Flags(), &o.Lists, "segments", 1, 1, "number of fetchlists to make, one segment each")
	addCount(cmd.Flags(), &o.AddDays, "add-days", 0, 0,
		"also choose URLs that become due within this number of days")
	cmd.Flags().Float64Var(&o.MinScore, "min-score", 0, "leave out URLs with a lower `score`")
	cmd.Flags().StringVar(&interval, "longest-interval", "",
		"leave out URLs with a longer interval than this `duration` (Nutch: generate.min.interval)")
	cmd.Flags().StringVar(&status, "status", "", "choose only URLs of this `status`, such as unfetched")
	cmd.Flags().BoolVar(&o.DryRun, "dry-run", false, "print what would be chosen and what holds others back")
	return cmd
}

func freegenCommand(c *console) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "freegen FILE…",
		Short: "make a segment of the URLs of files, due or not (\"-\" for standard input)",
		Long: "Writes a fetchlist of the URLs of files, one per line as in files of seeds, whether crawldb has them\n" +
			"and whether they are due. seine fetch and the phases after it take the segment as any other.",
		Args: needs("a file of URLs"),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := readableFiles("freegen", files); err != nil {
				return err
			}
			options, err := f.options(cmd)
			if err != nil {
				return err
			}
			lines := engine.InjectOptions{Files: files, Stdin: c.input(cmd.Context())}
			f.before = func() error {
				r, err := trySeeds(cmd.Context(), options, &lines)
				switch {
				case errors.Is(err, engine.ErrNoSeed) && r.Lines == 0:
					err = engine.ErrNothingDue
				case err == nil:
					return nil
				}
				return fmt.Errorf("freegen: %w", err)
			}
			return f.withOptions(cmd, options, func(e *engine.Engine) error {
				r, err := e.FreeGenerate(cmd.Context(), engine.FreeGenerateOptions{Files: files, Stdin: lines.Stdin})
				if errors.Is(err, engine.ErrNothingDue) && r.Lines > 0 {
					return fmt.Errorf("freegen: %w: %s", engine.ErrNoSeed, strings.Join(r.Examples, "; "))
				}
				if err != nil {
					return err
				}
				return c.report(r, f.json)
			})
		},
	}
	f.settings(cmd, inFreegen)
	f.report(cmd)
	return cmd
}

// readableFiles returns an error for the first file of a command's arguments that cannot be read; "-" can.
func readableFiles(command string, files []string) error {
	for _, name := range files {
		if name == "-" {
			continue
		}
		if err := readable(name); err != nil {
			return &usageError{fmt.Errorf("%s: %w", command, fileError(name, err))}
		}
	}
	return nil
}
