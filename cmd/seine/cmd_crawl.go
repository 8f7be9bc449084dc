// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func crawlCommand(c *console) *cobra.Command {
	var f flags
	var end limitFlags
	var cpuProfile string
	var control crawlControl
	cmd := &cobra.Command{
		Use:   "crawl [URL…]",
		Short: "crawl continuously from seeds; run again to continue",
		Long: "Crawls continuously: injects the given seeds, then fetches, updates crawldb and linkdb, removes\n" +
			"duplicates and indexes, until nothing is due, a limit is reached or it is interrupted. A seed\n" +
			"without a scheme, such as example.org, is tried with https and then with http; \"-\" reads seeds\n" +
			"from standard input.\n" +
			"Fetchlists of \"seine generate\" are fetched first. The first Ctrl-C stops cleanly, the second\n" +
			"at once; in either case, run it again to continue. On a terminal p pauses, + and - change the\n" +
			"number of fetchers, and q stops cleanly.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, urls []string) error {
			if asked, err := control.tell(cmd, c, &f, urls); asked || err != nil {
				return err
			}
			limits, err := end.limits()
			if err != nil {
				return err
			}
			o, err := f.options(cmd)
			if err == nil {
				err = f.checkSeedFiles()
			}
			if err != nil {
				return err
			}
			seeds, err := f.seedsToCrawl(cmd, c, &o, urls)
			if err != nil {
				return err
			}
			stop, err := profile(cpuProfile)
			if err != nil {
				return err
			}
			defer stop()
			return f.withOptions(cmd, o, func(e *engine.Engine) error {
				unserve, err := c.serve(e, o.Dir, control.serve, f.served())
				if err != nil {
					return err
				}
				view := view{quiet: f.quiet, keys: !slices.Contains(seeds.Files, "-")}
				r, err := c.watched(e, o.Concurrency, view, func(show showFunc) (engine.CrawlReport, error) {
					return e.Crawl(cmd.Context(), engine.CrawlOptions{
						Inject:   *seeds,
						Limits:   limits,
						Progress: show,
					})
				})
				if err = errors.Join(err, unserve()); err != nil {
					return err
				}
				return c.crawlReport(cmd, r, f.json)
			})
		},
	}
	f.settings(cmd, inCrawl)
	f.report(cmd)
	end.add(cmd)
	control.add(cmd)
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "no progress on stderr")
	cmd.Flags().StringVar(&cpuProfile, "cpuprofile", "", "write a CPU profile to this `file`, for go tool pprof")
	return cmd
}

// profile starts a CPU profile that is written to a file; "" means none.
func profile(name string) (stop func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, &usageError{fmt.Errorf("--cpuprofile: %w", err)}
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, fmt.Errorf("starting a CPU profile: %w", err)
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}

// showFunc shows a crawl at one moment.
type showFunc func(engine.Progress)

// view says how a crawl is shown.
type view struct {
	quiet bool // not at all
	keys  bool // standard input is free for keys
}

// watched runs a crawl with a view of it, and with keys on a terminal.
func (c *console) watched(
	e *engine.Engine, fetchers int, view view,
	crawl func(show showFunc) (engine.CrawlReport, error),
) (engine.CrawlReport, error) {
	screen := c.screen()
	p := newProgress(screen, view.quiet)
	defer p.end()
	if !view.quiet && view.keys {
		k := &controls{e: e, fetchers: fetchers, out: screen, stop: interruptSelf}
		endKeys, ok := screen.readKeys(c.in, k)
		defer endKeys()
		p.nameKeys(ok)
	}
	return crawl(p.show)
}

// crawlReport prints the report of a crawl and why it ended. The error says that it got nothing.
func (c *console) crawlReport(cmd *cobra.Command, r engine.CrawlReport, asJSON bool) error {
	if err := c.report(r, asJSON); err != nil {
		return err
	}
	switch {
	case r.Cause.Kind == engine.CauseNoSeeds:
		return &usageError{errors.New(r.Cause.String())}
	case r.NothingFetched():
		return nothingFetched(r.Cause)
	case asJSON:
		return nil
	}
	_, err := fmt.Fprintf(c.out, "ended: %s\n", advice(cmd, plainLine(r.Cause.String())))
	return err
}
