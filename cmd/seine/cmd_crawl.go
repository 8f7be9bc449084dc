// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func crawlCommand(c *console) *cobra.Command {
	var f flags
	var seeds []string
	var end limitFlags
	var cpuProfile string
	cmd := &cobra.Command{
		Use:   "crawl [URL…]",
		Short: "crawl continuously from seeds; run again to continue",
		Long: "Crawls continuously: injects the given seeds, then fetches, updates crawldb and linkdb, removes\n" +
			"duplicates and indexes, until nothing is due, a limit is reached or it is interrupted. A seed\n" +
			"without a scheme, such as example.org, is tried with https and then with http.\n" +
			"Fetchlists of \"seine generate\" are fetched first. The first Ctrl-C stops cleanly, the second\n" +
			"at once; in either case, run it again to continue. On a terminal p pauses, + and - change the\n" +
			"number of fetchers, and q stops cleanly.",
		Args: args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, urls []string) error {
			limits, err := end.limits()
			if err != nil {
				return err
			}
			if err := f.requireSeeds(cmd, urls, seeds); err != nil {
				return err
			}
			return withEngine(cmd, &f, func(e *engine.Engine) error {
				stop, err := profile(cpuProfile)
				if err != nil {
					return err
				}
				r, err := c.watched(e, &f, func(show func(engine.Progress)) (engine.CrawlReport, error) {
					return e.Crawl(cmd.Context(), engine.CrawlOptions{
						Inject:   engine.InjectOptions{URLs: urls, Files: seeds, Stdin: c.in},
						Limits:   limits,
						Progress: show,
					})
				})
				stop()
				if err != nil {
					return err
				}
				return c.crawlReport(r, f.json)
			})
		},
	}
	f.crawling(cmd)
	f.report(cmd)
	cmd.Flags().StringArrayVar(&seeds, "seeds", nil, "file of seed URLs, one per line (\"-\" for standard input)")
	end.add(cmd)
	cmd.Flags().BoolVar(&f.quiet, "quiet", false, "no progress on stderr")
	cmd.Flags().StringVar(&cpuProfile, "cpuprofile", "", "write a CPU profile to this file, for go tool pprof")
	return cmd
}

// profile starts a CPU profile that is written to a file; "" means none.
func profile(name string) (stop func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("writing a CPU profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, fmt.Errorf("starting a CPU profile: %w", err)
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}, nil
}

// requireSeeds returns an error if there is nothing to crawl from, and if a seed is the name of a file.
func (f *flags) requireSeeds(cmd *cobra.Command, urls, files []string) error {
	for _, u := range urls {
		if info, err := os.Stat(u); err == nil && info.Mode().IsRegular() && !strings.Contains(u, "://") {
			return &usageError{fmt.Errorf("%s is a file: give --seeds %s", u, u)}
		}
	}
	if err := f.readConfig(cmd); err != nil {
		return err
	}
	store := filepath.Join(f.s.Dir, "store")
	if _, err := os.Stat(store); len(urls)+len(files) == 0 && errors.Is(err, fs.ErrNotExist) {
		return &usageError{fmt.Errorf("no seeds: give URLs, or --seeds FILE; %s holds no crawl to continue", f.s.Dir)}
	}
	return nil
}

// watched runs a crawl with a view of it, and with keys on a terminal.
func (c *console) watched(
	e *engine.Engine, f *flags, crawl func(show func(engine.Progress)) (engine.CrawlReport, error),
) (engine.CrawlReport, error) {
	screen := c.screen()
	p := newProgress(screen, f.quiet)
	defer p.end()
	if !f.quiet {
		k := &controls{e: e, fetchers: f.s.Concurrency, out: screen, stop: interruptSelf}
		endKeys, ok := screen.readKeys(c.in, k)
		defer endKeys()
		p.nameKeys(ok)
	}
	return crawl(p.show)
}

// crawlReport prints the report of a crawl and why it ended. The error says that it got nothing.
func (c *console) crawlReport(r engine.CrawlReport, asJSON bool) error {
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
	_, err := fmt.Fprintf(c.out, "ended: %s\n", lineOf(r.Cause.String()))
	return err
}
