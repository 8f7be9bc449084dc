// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

func injectCommand(c *console) *cobra.Command {
	var f flags
	var o engine.InjectOptions
	cmd := &cobra.Command{
		Use:   "inject [FILE…]",
		Short: "add the URLs of seed files to crawldb (\"-\" for standard input)",
		Long: "Injects seed URLs, one per line, each optionally followed by TAB-separated key=value pairs.\n" +
			"nutch.score and nutch.fetchInterval set the score and the interval in seconds; other keys become\n" +
			"metadata. The record of a known URL changes only with --update or --overwrite. Without a FILE, the\n" +
			"setting seeds names the files.",
		Args: args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, files []string) error {
			return withEngine(cmd, &f, func(e *engine.Engine) error {
				if o.Files, o.Stdin = files, c.in; len(files) == 0 {
					o.Files = f.seedFiles()
				}
				if len(o.Files) == 0 {
					return &usageError{errors.New("inject: no seeds: name a FILE, or set seeds")}
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
	var segment uint32
	var end limitFlags
	cmd := &cobra.Command{
		Use:   "fetch",
		Short: "fetch a segment's fetchlist and seal it",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			limits, err := end.limits()
			if err != nil {
				return err
			}
			return withEngine(cmd, &f, func(e *engine.Engine) error {
				number, err := newest(e, segment, storage.SegmentOpen)
				if err != nil {
					return err
				}
				o := engine.FetchOptions{Segment: number, Limits: limits}
				if !f.quiet {
					o.Progress = func(r engine.FetchReport) { fmt.Fprintln(c.err, r) }
				}
				r, err := e.Fetch(cmd.Context(), o)
				if err != nil {
					return err
				}
				return c.report(r, f.json)
			})
		},
	}
	f.settings(cmd, inFetch)
	f.report(cmd)
	cmd.Flags().Uint32Var(&segment, "segment", 0, "segment number (default: the newest that needs it)")
	end.add(cmd)
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "no progress on stderr")
	return cmd
}

// newest returns segment, or the newest segment in a state if segment is 0.
func newest(e *engine.Engine, segment uint32, state storage.SegmentState) (uint32, error) {
	if segment != 0 {
		return segment, nil
	}
	return e.NewestSegment(state)
}

func parseCommand(c *console) *cobra.Command {
	return phaseCommand(c, inParse, "parse", "make a segment's parse records again from its WARC",
		func(ctx context.Context, e *engine.Engine, segment uint32) (engine.Report, error) {
			number, later, err := e.NewestUnparsed()
			if err == nil && (segment != 0 || !later) {
				number, err = newest(e, segment, storage.SegmentSealed)
			}
			if err != nil {
				return nil, err
			}
			return e.Seal(ctx, number)
		})
}

func updatedbCommand(c *console) *cobra.Command {
	return phaseCommand(c, inUpdateDB, "updatedb", "update crawldb with a segment's outcomes and links",
		func(ctx context.Context, e *engine.Engine, segment uint32) (engine.Report, error) {
			number, err := newest(e, segment, storage.SegmentSealed)
			if err != nil {
				return nil, err
			}
			return e.UpdateDB(ctx, number)
		})
}

func invertlinksCommand(c *console) *cobra.Command {
	return phaseCommand(c, inInvertlinks, "invertlinks", "add a segment's links to linkdb, by target",
		func(ctx context.Context, e *engine.Engine, segment uint32) (engine.Report, error) {
			number, err := newest(e, segment, storage.SegmentUpdated)
			if err != nil {
				return nil, err
			}
			return e.InvertLinks(ctx, number)
		})
}

func indexCommand(c *console) *cobra.Command {
	return phaseCommand(c, inIndex, "index", "index the pages of linked segments, and refresh documents that changed",
		func(ctx context.Context, e *engine.Engine, segment uint32) (engine.Report, error) {
			o := engine.IndexOptions{Refresh: true}
			if segment != 0 {
				o.Segments = []uint32{segment}
			}
			return e.Index(ctx, o)
		})
}

func dedupCommand(c *console) *cobra.Command {
	return phaseCommand(c, inDedup, "dedup", "mark pages with equal content as duplicates, except the best",
		func(ctx context.Context, e *engine.Engine, segment uint32) (engine.Report, error) {
			var o engine.DedupOptions // its order is Options.DedupOrder
			if segment != 0 {
				o.Segments = []uint32{segment}
			}
			return e.Dedup(ctx, o)
		})
}
