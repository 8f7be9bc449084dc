// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

func injectCommand(c *console) *cobra.Command {
	var f flags
	var o engine.InjectOptions
	cmd := &cobra.Command{
		Use:   "inject [FILE|URL…]",
		Short: "add URLs, and those of seed files, to crawldb (\"-\" for standard input)",
		Long: "Injects seeds: arguments with \"://\" are URLs, others are files with one URL per line, each\n" +
			"optionally followed by TAB-separated key=value pairs. nutch.score and nutch.fetchInterval set\n" +
			"the score and the interval in seconds; other keys become metadata. A URL without a scheme is\n" +
			"tried with https, then with http. The record of a known URL changes only with --update or\n" +
			"--overwrite. Without arguments, the setting seeds names the files.",
		Args: args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, seeds []string) error {
			return withEngine(cmd, &f, func(e *engine.Engine) error {
				o.URLs, o.Files, o.Stdin = nil, nil, c.in
				for _, s := range seeds {
					if strings.Contains(s, "://") {
						o.URLs = append(o.URLs, s)
						continue
					}
					if _, err := os.Stat(s); s != "-" && errors.Is(err, fs.ErrNotExist) {
						return &usageError{fmt.Errorf("inject: there is no file %s; a URL needs its scheme here", s)}
					}
					o.Files = append(o.Files, s)
				}
				if len(seeds) == 0 {
					o.Files = f.seedFiles()
				}
				if len(o.URLs)+len(o.Files) == 0 {
					return &usageError{errors.New("inject: no seeds: name a FILE or URL, or set seeds")}
				}
				r, err := e.Inject(cmd.Context(), o)
				if err != nil {
					return err
				}
				return c.report(r, f.json)
			})
		},
	}
	f.settings(cmd, inInject)
	f.report(cmd)
	cmd.Flags().BoolVar(&o.Overwrite, "overwrite", false, "replace known records")
	cmd.Flags().BoolVar(&o.Update, "update", false, "change score, interval and metadata of known records")
	return cmd
}

func generateCommand(c *console) *cobra.Command {
	var f flags
	var o engine.GenerateOptions
	var mode string
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "choose due URLs for a new segment (exit status 3 when nothing is due)",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if mode != "host" && mode != "domain" {
				return &usageError{fmt.Errorf("--count-by %q: want host or domain", mode)}
			}
			o.PerDomain = mode == "domain"
			return withEngine(cmd, &f, func(e *engine.Engine) error {
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
	cmd.Flags().IntVar(&o.Top, "top", 0, "most URLs in total (0: a million)")
	cmd.Flags().IntVar(&o.MaxPerHost, "max-per-host", 0, "most URLs of one host (0: no limit)")
	cmd.Flags().StringVar(&mode, "count-by", "host", "what --max-per-host counts by: host or domain")
	cmd.Flags().IntVar(&o.AddDays, "add-days", 0, "also choose URLs that become due within this number of days")
	return cmd
}

func fetchCommand(c *console) *cobra.Command {
	var f flags
	choice := segmentChoice{from: storage.SegmentOpen}
	var end limitFlags
	cmd := &cobra.Command{
		Use:   "fetch" + segmentUse,
		Short: "fetch the fetchlists of segments and seal them",
		Args:  args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			limits, err := end.limits()
			if err == nil {
				_, err = choice.named(args)
			}
			if err != nil {
				return err
			}
			return withEngine(cmd, &f, func(e *engine.Engine) error {
				numbers, err := choice.choose(e, args)
				for _, n := range numbers {
					if err = c.fetch(cmd, e, engine.FetchOptions{Segment: n, Limits: limits}, &f); err != nil {
						break
					}
				}
				return err
			})
		},
	}
	f.settings(cmd, inFetch)
	f.report(cmd)
	choice.add(cmd, "the newest that needs it")
	end.add(cmd)
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "no progress on stderr")
	return cmd
}

// fetch fetches one segment and prints the report. The error says that nothing was fetched.
func (c *console) fetch(cmd *cobra.Command, e *engine.Engine, o engine.FetchOptions, f *flags) error {
	p := newProgress(c.screen(), f.quiet)
	o.Progress = p.show
	r, err := e.Fetch(cmd.Context(), o)
	p.end()
	if err != nil {
		return err
	}
	if err := c.report(r, f.json); err != nil {
		return err
	}
	switch {
	case r.Attempts() == 0 && r.Cause.Kind != engine.CauseInterrupted:
		return nothingFetched(r.Cause)
	case f.json || r.Cause.Kind == engine.CauseDone && r.Cause.Help == "":
		return nil
	}
	_, err = fmt.Fprintf(c.out, "ended: %s\n", plainLine(r.Cause.String()))
	return err
}

func parseCommand(c *console) *cobra.Command {
	choice := segmentChoice{from: storage.SegmentSealed, before: (*engine.Engine).UnparsedSegments}
	return phaseCommand(c, inParse, choice, "parse", "make a segment's parse records again from its WARC",
		func(ctx context.Context, e *engine.Engine, segment uint32) (engine.Report, error) {
			return e.Seal(ctx, segment)
		})
}

func updatedbCommand(c *console) *cobra.Command {
	return phaseCommand(c, inUpdateDB, segmentChoice{from: storage.SegmentSealed}, "updatedb",
		"update crawldb with a segment's outcomes and links",
		func(ctx context.Context, e *engine.Engine, segment uint32) (engine.Report, error) {
			return e.UpdateDB(ctx, segment)
		})
}

func invertlinksCommand(c *console) *cobra.Command {
	return phaseCommand(c, inInvertlinks, segmentChoice{from: storage.SegmentUpdated}, "invertlinks",
		"add a segment's links to linkdb, by target",
		func(ctx context.Context, e *engine.Engine, segment uint32) (engine.Report, error) {
			return e.InvertLinks(ctx, segment)
		})
}

func indexCommand(c *console) *cobra.Command {
	return wholeCommand(c, inIndex, "index", "index the pages of linked segments, and refresh documents that changed",
		"all linked ones",
		func(ctx context.Context, e *engine.Engine, segments []uint32) (engine.Report, error) {
			r, err := e.Index(ctx, engine.IndexOptions{Segments: segments, Refresh: true})
			if err != nil || len(r.Segments) > 0 || r.Added+r.Refreshed+r.Deleted > 0 {
				return r, err
			}
			_, err = e.DueSegments(storage.SegmentLinked)
			if errors.Is(err, engine.ErrNoSegment) {
				err = fmt.Errorf("%w: no document changed, and %w", errNoneDue, err)
			}
			return r, err
		})
}

func dedupCommand(c *console) *cobra.Command {
	return wholeCommand(c, inDedup, "dedup", "mark pages with equal content as duplicates, except the best", "all",
		func(ctx context.Context, e *engine.Engine, segments []uint32) (engine.Report, error) {
			return e.Dedup(ctx, engine.DedupOptions{Segments: segments}) // its order is Options.DedupOrder
		})
}

// wholeCommand is a command that runs a phase once for several segments; nil means those of newest.
func wholeCommand(
	c *console, command uses, use, short, newest string,
	run func(ctx context.Context, e *engine.Engine, segments []uint32) (engine.Report, error),
) *cobra.Command {
	var f flags
	var choice segmentChoice
	cmd := &cobra.Command{
		Use:   use + segmentUse,
		Short: short,
		Args:  args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := choice.named(args)
			if err != nil {
				return err
			}
			return withEngine(cmd, &f, func(e *engine.Engine) error {
				r, err := run(cmd.Context(), e, numbers)
				if err != nil {
					return err
				}
				return c.report(r, f.json)
			})
		},
	}
	f.settings(cmd, command)
	f.report(cmd)
	choice.add(cmd, newest)
	return cmd
}
