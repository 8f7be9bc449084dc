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
			o, err := f.options(cmd)
			if err == nil {
				err = requireSeeds(o.Dir, urls, f.seedFiles())
			}
			if err != nil {
				return err
			}
			return f.withOptions(cmd, o, func(e *engine.Engine) error {
				stop, err := profile(cpuProfile)
				if err != nil {
					return err
				}
				r, err := c.watched(e, o.Concurrency, f.quiet, func(show showFunc) (engine.CrawlReport, error) {
					return e.Crawl(cmd.Context(), engine.CrawlOptions{
						Inject:   engine.InjectOptions{URLs: urls, Files: f.seedFiles(), Stdin: c.in},
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
	f.settings(cmd, inCrawl)
	f.report(cmd)
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
func requireSeeds(dir string, urls, files []string) error {
	for _, u := range urls {
		if info, err := os.Stat(u); err == nil && info.Mode().IsRegular() && !strings.Contains(u, "://") {
			return &usageError{fmt.Errorf("%s is a file: give --seeds %s", u, u)}
		}
	}
	if len(urls)+len(files) > 0 {
		return nil
	}
	for _, part := range []string{"store", "warc"} { // of a lost store, WARC files without one say what helps
		if _, err := os.Stat(filepath.Join(dir, part)); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return &usageError{fmt.Errorf("no seeds: give URLs, or --seeds FILE; %s holds no crawl to continue", dir)}
}

// showFunc shows a crawl at one moment.
type showFunc func(engine.Progress)

// watched runs a crawl with a view of it, and with keys on a terminal.
func (c *console) watched(
	e *engine.Engine, fetchers int, quiet bool,
	crawl func(show showFunc) (engine.CrawlReport, error),
) (engine.CrawlReport, error) {
	screen := c.screen()
	p := newProgress(screen, quiet)
	defer p.end()
	if !quiet {
		k := &controls{e: e, fetchers: fetchers, out: screen, stop: interruptSelf}
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
	_, err := fmt.Fprintf(c.out, "ended: %s\n", plainLine(r.Cause.String()))
	return err
}
