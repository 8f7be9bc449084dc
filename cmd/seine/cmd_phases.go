// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

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
			"the score and the interval in seconds, nutch.fetchInterval.fixed one that no schedule, host\n" +
			"setting or hint changes; other keys become metadata. A URL without a scheme is tried with\n" +
			"https, then with http. The record of a known URL changes only with --update or --overwrite.\n" +
			"Without arguments, the setting seeds names the files.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, seeds []string) error {
			if err := together(cmd, "update", "overwrite"); err != nil {
				return err
			}
			options, err := f.options(cmd)
			if err != nil {
				return err
			}
			o.Stdin = c.input(cmd.Context())
			if o.URLs, o.Files, err = f.seedsToInject(seeds); err != nil {
				return err
			}
			injected := func(r engine.InjectReport) error {
				err := c.report(r, f.json)
				if err == nil && r.Lines == r.Filtered+r.Malformed {
					err = fmt.Errorf("inject: %w (lines: %d)", engine.ErrNoSeed, r.Lines)
				}
				return err
			}
			f.before = func() error {
				r, err := trySeeds(cmd.Context(), options, &o)
				if errors.Is(err, engine.ErrNoSeed) {
					err = injected(r)
				}
				return err
			}
			return f.withStore(cmd, options, func(s store) error {
				r, err := s.Inject(cmd.Context(), o)
				if err != nil {
					return err
				}
				return injected(r)
			})
		},
	}
	f.settings(cmd, inInject)
	f.report(cmd)
	cmd.Flags().BoolVar(&o.Overwrite, "overwrite", false, "replace known records")
	cmd.Flags().BoolVar(&o.Update, "update", false, "change score, interval and metadata of known records")
	return cmd
}

// seedsToInject splits the arguments of inject into URLs and files. Files that a flag names are more of them; those
// that a file of settings names are read if there are no arguments.
func (f *flags) seedsToInject(given []string) (urls, files []string, err error) {
	for _, s := range given {
		switch {
		case strings.Contains(s, "://"):
			urls = append(urls, s)
			continue
		case s != "-":
			if err := readable(s); errors.Is(err, fs.ErrNotExist) {
				return nil, nil, &usageError{fmt.Errorf("inject: there is no file %s; a URL needs its scheme here", s)}
			} else if err != nil {
				return nil, nil, &usageError{fmt.Errorf("inject: %w", err)}
			}
		}
		files = append(files, s)
	}
	if len(given) == 0 || f.run.values["seeds"].from == fromFlag {
		if err := f.checkSeedFiles(); err != nil {
			return nil, nil, err
		}
		files = append(files, f.seedFiles()...)
	}
	if len(urls)+len(files) == 0 {
		return nil, nil, &usageError{errors.New("inject: no seeds: name a FILE or URL, or set seeds")}
	}
	return urls, files, nil
}

func fetchCommand(c *console) *cobra.Command {
	var f flags
	choice := segmentChoice{from: storage.SegmentOpen}
	var end limitFlags
	cmd := &cobra.Command{
		Use:   "fetch" + segmentUse,
		Short: "fetch the fetchlists of segments and seal them",
		Args:  cobra.ArbitraryArgs,
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
				if err != nil {
					return err
				}
				return c.fetchAll(cmd, e, numbers, limits, &f)
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

// fetchAll fetches segments one after another, until the limits on all of them together are reached. One whose hosts
// give nothing does not keep the others from it. The error says that none gave anything.
func (c *console) fetchAll(
	cmd *cobra.Command, e *engine.Engine, numbers []uint32, limits engine.Limits, f *flags,
) error {
	start, got := time.Now(), false
	var nothing error
	for i, n := range numbers {
		r, err := c.fetch(cmd, e, engine.FetchOptions{Segment: n, Limits: limits}, f)
		switch more := len(numbers) - i - 1; {
		case err == nil:
			got = true
		case !errors.Is(err, errNoPage):
			return err
		case more > 0 || got:
			if err := c.ended(cmd, r.Cause, f); err != nil {
				return err
			}
		}
		nothing = err
		var reached bool
		limits, reached = left(limits, r, time.Since(start))
		start = time.Now()
		more := len(numbers) - i - 1
		if !reached && cmd.Context().Err() == nil || more == 0 {
			continue
		}
		if err := c.report(notBegun{more}, f.json); err != nil {
			return err
		}
		break
	}
	if got {
		return nil
	}
	return nothing
}

// ended says why a fetch ended, to people.
func (c *console) ended(cmd *cobra.Command, cause engine.Cause, f *flags) error {
	if f.json { // the report has it
		return nil
	}
	_, err := fmt.Fprintf(c.out, "ended: %s\n", advice(cmd, plainLine(cause.String())))
	return err
}

// notBegun is the number of segments that were to be fetched, too.
type notBegun struct {
	Segments int `json:"segments_not_begun"`
}

// String says it to people.
func (n notBegun) String() string {
	if n.Segments == 1 {
		return "not begun: 1 more segment"
	}
	return fmt.Sprintf("not begun: %d more segments", n.Segments)
}

// fetch fetches one segment and prints the report. The error says that nothing was fetched.
func (c *console) fetch(
	cmd *cobra.Command, e *engine.Engine, o engine.FetchOptions, f *flags,
) (engine.FetchReport, error) {
	p := newProgress(c.screen(), f.quiet)
	o.Progress = p.show
	r, err := e.Fetch(cmd.Context(), o)
	p.end()
	if err != nil {
		return r, err
	}
	if err := c.report(r, f.json); err != nil {
		return r, err
	}
	switch {
	case r.NothingFetched():
		return r, nothingFetched(r.Cause)
	case r.Cause.Kind == engine.CauseDone && r.Cause.Help == "":
		return r, nil
	}
	return r, c.ended(cmd, r.Cause, f)
}

func parseCommand(c *console) *cobra.Command {
	choice := segmentChoice{from: storage.SegmentSealed, before: (*engine.Inspector).UnparsedSegments}
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
	var rebuild, resend, every bool
	var most int
	cmd := wholeCommand(c, inIndex, "index", "index the pages of linked segments, and refresh documents that changed",
		"all linked ones", func(o *engine.Options, segments []uint32) error {
			o.RebuildIndex = rebuild // which empties the index as soon as it is opened
			if rebuild && len(segments) > 0 {
				return &usageError{errors.New("index: --rebuild is of all pages: name no segments")}
			}
			return nil
		},
		func(ctx context.Context, s store, segments []uint32) (engine.Report, error) {
			r, err := s.Index(ctx, engine.IndexOptions{
				Segments: segments, Refresh: true, Resend: resend, MaxSegments: most,
				EveryDocument: every,
			})
			if err == nil && resend && len(r.Writers) == 0 {
				return r, &usageError{errors.New("the index is as it should be, but --resend has nothing to send to: " +
					"set index-to")}
			}
			changed := r.Added + r.Refreshed + r.Deleted
			for _, w := range r.Writers {
				changed += w.Sent + w.Deleted + w.Refused
			}
			if err != nil || len(r.Segments) > 0 || changed > 0 || r.Merged > 0 {
				return r, err
			}
			_, err = s.DueSegments(storage.SegmentLinked)
			if errors.Is(err, engine.ErrNoSegment) {
				err = fmt.Errorf("%w: no document changed, and %w", errNoneDue, err)
			}
			return r, err
		})
	cmd.Flags().BoolVar(&every, "every-document", false,
		"look at every document, not only at those that may have changed since the last time")
	cmd.Flags().BoolVar(&resend, "resend", false, "send all documents to the engines of index-to again")
	addCount(cmd.Flags(), &most, "max-segments", 0, 0,
		"merge until there are at most `N` index segments; 1 searches fastest (0: as many as are best)")
	cmd.Flags().BoolVar(&rebuild, "rebuild", false,
		"make the index again of all pages, as when it has the format of an older seine")
	return cmd
}

func dedupCommand(c *console) *cobra.Command {
	cmd := wholeCommand(c, inDedup, "dedup", "mark pages with equal content as duplicates, except the best", "all", nil,
		func(ctx context.Context, s store, segments []uint32) (engine.Report, error) {
			return s.Dedup(ctx, engine.DedupOptions{Segments: segments}) // its order is Options.DedupOrder
		})
	cmd.Long = "Marks pages with equal content as duplicates, except the best of each group, and takes them out of\n" +
		"the index. seine index then adds those that are duplicates no longer, and tells the engines of\n" +
		"index-to."
	return cmd
}

// wholeCommand is a command that runs a phase once for several segments; nil means those of newest. change, if not
// nil, changes the engine's options, or refuses the line.
func wholeCommand(
	c *console, command uses, use, short, newest string, change func(o *engine.Options, segments []uint32) error,
	run func(ctx context.Context, s store, segments []uint32) (engine.Report, error),
) *cobra.Command {
	var f flags
	var choice segmentChoice
	cmd := &cobra.Command{
		Use:   use + segmentUse,
		Short: short,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			numbers, err := choice.named(args)
			if err != nil {
				return err
			}
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			if change != nil {
				if err := change(&o, numbers); err != nil {
					return err
				}
			}
			do := func(s store) error {
				if err := existing(s, numbers...); err != nil {
					return err
				}
				r, err := run(cmd.Context(), s, numbers)
				return c.outcome(r, err, f.json)
			}
			if o.RebuildIndex {
				return f.withOptions(cmd, o, func(e *engine.Engine) error { return do(ownStore{e, e.Inspect()}) })
			}
			return f.withStore(cmd, o, do)
		},
	}
	f.settings(cmd, command)
	f.report(cmd)
	choice.add(cmd, newest)
	return cmd
}
