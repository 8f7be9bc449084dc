// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func linkrankCommand(c *console) *cobra.Command {
	var f flags
	var o engine.LinkRankOptions
	var from string
	cmd := &cobra.Command{
		Use:   "linkrank [TARGET…]",
		Short: "rank pages by the links to them (PageRank), and make the ranks their scores",
		Long: "Computes PageRank over linkdb and makes it the score of each page; 1 is the mean. The best are\n" +
			"fetched first from then on, and rank higher in searches after seine index. TARGETs are pages that are\n" +
			"trusted: ranks then say how near a page is to them. The setting linkrank has a crawl do it at its end.\n" +
			targetsHelp,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, targets []string) error {
			if err := checkRank(&o, from); err != nil {
				return err
			}
			o.Trusted, o.FromSeeds = targets, from == "seeds"
			if len(targets) > 0 && cmd.Flags().Changed("from") {
				return &usageError{fmt.Errorf("linkrank: give TARGETs or --from, not both")}
			}
			return withEngine(cmd, &f, func(e *engine.Engine) error {
				r, err := e.Linkdb().Rank(cmd.Context(), o)
				return c.outcome(r, err, f.json)
			})
		},
	}
	f.settings(cmd, inLinkrank)
	f.report(cmd)
	fs := cmd.Flags()
	fs.StringVar(&o.Graph, "graph", "page",
		"what is ranked: `page|host|domain`; pages get the rank of their host or domain")
	fs.StringVar(&from, "from", "any", "where walks begin: `any|seeds`")
	fs.Float64Var(&o.Damping, "damping", 0.85, "probability of following a link, below 1")
	fs.Float64Var(&o.HostDecay, "host-decay", 0, "part of its rank that a link to another host loses, 0 to 1")
	fs.BoolVar(&o.IgnoreInternal, "ignore-internal-links", false, "leave out links within a host")
	fs.Float64Var(&o.Tolerance, "tolerance", 1e-6, "stop when all ranks, in sum 1, change by less in sum")
	addCount(fs, &o.Passes, "max-passes", 100, 1, "most passes over the links")
	addCount(fs, &o.Top, "top", 0, 0, "print this number of the best, with their ranks")
	fs.BoolVar(&o.DryRun, "dry-run", false, "only report: leave scores as they are")
	return cmd
}

// checkRank reports a wrong flag as a wrong use.
func checkRank(o *engine.LinkRankOptions, from string) error {
	wrong := func(flag string, value any, want string) error {
		return &usageError{fmt.Errorf("--%s %v: want %s", flag, value, want)}
	}
	switch {
	case o.Graph != "page" && o.Graph != "host" && o.Graph != "domain":
		return wrong("graph", o.Graph, "page, host or domain")
	case from != "any" && from != "seeds":
		return wrong("from", from, "any or seeds")
	case !(o.Damping > 0 && o.Damping < 1):
		return wrong("damping", o.Damping, "a number above 0 and below 1")
	case !(o.HostDecay >= 0 && o.HostDecay <= 1):
		return wrong("host-decay", o.HostDecay, "a number from 0 to 1")
	case !(o.Tolerance > 0):
		return wrong("tolerance", o.Tolerance, "a number above 0")
	}
	return nil
}
