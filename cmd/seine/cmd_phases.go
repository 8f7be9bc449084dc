// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

func injectCommand(c *console) *cobra.Command {
	var f flags
	var o engine.InjectOptions
	cmd := &cobra.Command{
		Use:   "inject FILE…",
		Short: "make records of the URLs in seed files (\"-\" for standard input)",
		Long: "Injects seed URLs: one per line, optionally followed by TAB-separated key=value pairs. nutch.score and\n" +
			"nutch.fetchInterval set the record, other keys become metadata. A URL that is known stays as it is.",
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			return withEngine(cmd, &f, func(e *engine.Engine) error {
				o.Files, o.Stdin = files, c.in
				r, err := e.Inject(cmd.Context(), o)
				if err != nil {
					return err
				}
				return c.report(r, f.json)
			})
		},
	}
	f.crawling(cmd)
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
	f.crawling(cmd)
	f.report(cmd)
	cmd.Flags().IntVar(&o.Top, "top", 0, "most URLs in all (0: a million)")
	cmd.Flags().IntVar(&o.MaxPerHost, "max-per-host", 0, "most URLs of one host (0: no limit)")
	cmd.Flags().StringVar(&mode, "count-by", "host", "what --max-per-host counts by: host or domain")
	cmd.Flags().IntVar(&o.AddDays, "add-days", 0, "choose what will be due this number of days from now")
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
	f.crawling(cmd)
	f.report(cmd)
	cmd.Flags().Uint32Var(&segment, "segment", 0, "segment number (default: the newest that needs it)")
	end.add(cmd)
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "no progress on stderr")
	return cmd
}

// newest is the segment asked for, or the newest in a state.
func newest(e *engine.Engine, segment uint32, state storage.SegmentState) (uint32, error) {
	if segment != 0 {
		return segment, nil
	}
	return e.NewestSegment(state)
}

func parseCommand(c *console) *cobra.Command {
	return phaseCommand(c, "parse", "make a segment's parse records from its WARC again",
		func(cmd *cobra.Command, e *engine.Engine, segment uint32) (engine.Report, error) {
			number, err := newest(e, segment, storage.SegmentSealed)
			if err != nil {
				return nil, err
			}
			return e.Seal(cmd.Context(), number)
		})
}

func updatedbCommand(c *console) *cobra.Command {
	return phaseCommand(c, "updatedb", "bring a segment's outcomes and links into crawldb",
		func(cmd *cobra.Command, e *engine.Engine, segment uint32) (engine.Report, error) {
			number, err := newest(e, segment, storage.SegmentSealed)
			if err != nil {
				return nil, err
			}
			return e.UpdateDB(cmd.Context(), number)
		})
}

func invertlinksCommand(c *console) *cobra.Command {
	return phaseCommand(c, "invertlinks", "bring a segment's links, turned round, into linkdb",
		func(cmd *cobra.Command, e *engine.Engine, segment uint32) (engine.Report, error) {
			number, err := newest(e, segment, storage.SegmentUpdated)
			if err != nil {
				return nil, err
			}
			return e.InvertLinks(cmd.Context(), number)
		})
}

func indexCommand(c *console) *cobra.Command {
	return phaseCommand(c, "index", "index the pages of linked segments and refresh what changed",
		func(cmd *cobra.Command, e *engine.Engine, segment uint32) (engine.Report, error) {
			o := engine.IndexOptions{Refresh: true}
			if segment != 0 {
				o.Segments = []uint32{segment}
			}
			return e.Index(cmd.Context(), o)
		})
}

func dedupCommand(c *console) *cobra.Command {
	return phaseCommand(c, "dedup", "mark pages with equal content as duplicates, but for the best",
		func(cmd *cobra.Command, e *engine.Engine, segment uint32) (engine.Report, error) {
			var o engine.DedupOptions // the order is a setting
			if segment != 0 {
				o.Segments = []uint32{segment}
			}
			return e.Dedup(cmd.Context(), o)
		})
}
