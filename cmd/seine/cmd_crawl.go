// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"

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
			"duplicates and indexes, until nothing is due, a limit is reached or it is interrupted.\n" +
			"Fetchlists of \"seine generate\" are fetched first. The first Ctrl-C stops cleanly, the second\n" +
			"at once; in either case, run it again to continue.",
		Args: args(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, urls []string) error {
			limits, err := end.limits()
			if err != nil {
				return err
			}
			return withEngine(cmd, &f, func(e *engine.Engine) error {
				stop, err := profile(cpuProfile)
				if err != nil {
					return err
				}
				p := newProgress(c.err, f.quiet)
				r, err := e.Crawl(cmd.Context(), engine.CrawlOptions{
					Inject:   engine.InjectOptions{URLs: urls, Files: f.seedFiles(), Stdin: c.in},
					Limits:   limits,
					Progress: p.show,
				})
				p.end()
				stop()
				if err != nil {
					if errors.Is(err, engine.ErrNoContact) {
						err = &usageError{err}
					}
					return err
				}
				return c.report(r, f.json)
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
