// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

// madeByDepth returns an error if the directory was made with a scoring by depth and nothing is said of scoring now:
// a crawl may have been told so by a flag.
func (f *flags) madeByDepth(e *engine.Engine) error {
	was, _, err := e.Remembered("scoring")
	if err == nil && was == "depth" && f.run.values["scoring"].from == fromDefault {
		err = fmt.Errorf("linkrank: %s was made with scoring = depth, which writes scores too: "+
			"look only, with --dry-run, or give --set scoring=vote to replace its scores", f.text(settingDir))
	}
	return err
}

func linkrankCommand(c *console) *cobra.Command {
	var f flags
	var o engine.LinkRankOptions
	var from string
	run := func(cmd *cobra.Command) error {
		return withEngine(cmd, f.trying(o.DryRun), func(e *engine.Engine) error {
			if !o.DryRun {
				if err := f.madeByDepth(e); err != nil {
					return err
				}
			}
			r, err := e.Linkdb().Rank(cmd.Context(), o)
			return c.outcome(r, err, f.json)
		})
	}
	cmd := &cobra.Command{
		Use:   "linkrank [TARGET…]",
		Short: "rank pages by the links to them, and make the ranks their scores",
		Long: "Computes PageRank over linkdb and makes it the score of each page; 1 is the mean. The best are\n" +
			"fetched first from then on, and rank higher in searches after seine index. TARGETs are pages that are\n" +
			"trusted: ranks then say how near a page is to them. Each must name a page that crawldb has. With\n" +
			"--by inlink-domains a page's score is the number of other registered domains that link to it. The\n" +
			"setting linkrank has a crawl do it at its end. Beside scoring=depth, which writes scores too, it is\n" +
			"refused but for --dry-run.\n" +
			targetsHelp,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, targets []string) error {
			if o.By == byInlinkDomains {
				if err := checkCount(cmd, targets); err != nil {
					return err
				}
				o = engine.LinkRankOptions{By: o.By, DryRun: o.DryRun, Top: o.Top}
				return run(cmd)
			}
			if err := checkRank(&o, from); err != nil {
				return err
			}
			o.Trusted, o.FromSeeds = targets, from == "seeds"
			if len(targets) > 0 && cmd.Flags().Changed("from") {
				return &usageError{fmt.Errorf("linkrank: give TARGETs or --from, not both")}
			}
			return run(cmd)
		},
	}
	f.settings(cmd, inLinkrank)
	f.report(cmd)
	fs := cmd.Flags()
	fs.StringVar(&o.By, "by", byPageRank,
		"the measure: `pagerank|inlink-domains`; with the latter only --dry-run and --top are taken")
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

// The measures of linkrank.
const byPageRank, byInlinkDomains = "pagerank", "inlink-domains"

// checkCount reports what belongs to PageRank alone as a wrong use.
func checkCount(cmd *cobra.Command, targets []string) error {
	for _, name := range []string{
		"graph", "from", "damping", "host-decay", "ignore-internal-links", "tolerance", "max-passes",
	} {
		if cmd.Flags().Changed(name) {
			return &usageError{fmt.Errorf("--%s belongs to --by %s", name, byPageRank)}
		}
	}
	if len(targets) > 0 {
		return &usageError{fmt.Errorf("linkrank: TARGETs belong to --by %s", byPageRank)}
	}
	return nil
}

// checkRank reports a wrong flag as a wrong use.
func checkRank(o *engine.LinkRankOptions, from string) error {
	wrong := func(flag string, value any, want string) error {
		return &usageError{fmt.Errorf("--%s %v: want %s", flag, value, want)}
	}
	switch {
	case o.By != byPageRank:
		return wrong("by", o.By, byPageRank+" or "+byInlinkDomains)
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

// withOthers is withEngine of a command whose arguments are other data directories: one that is none is wrong use.
func withOthers(cmd *cobra.Command, f *flags, dirs []string, fn func(e *engine.Engine) error) error {
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return &usageError{fmt.Errorf("%s: there is no directory %s", cmd.Name(), dir)}
		case err == nil && !info.IsDir():
			return &usageError{fmt.Errorf("%s: %s is a file: name the data directory of a crawl", cmd.Name(), dir)}
		}
	}
	return withEngine(cmd, f, func(e *engine.Engine) error {
		err := fn(e)
		if errors.Is(err, engine.ErrNoStore) { // this one has its own
			return &usageError{err}
		}
		return err
	})
}

func mergelinkdbCommand(c *console) *cobra.Command {
	var f flags
	var o engine.MergeLinksOptions
	cmd := &cobra.Command{
		Use:   "mergelinkdb [DIR…]",
		Short: "merge what linkdb has of each page, and add the links that crawls in other directories found",
		Long: "Takes links that their pages dropped out of linkdb and merges the rest, so that each page has one\n" +
			"or two rows. The links of the data directories DIR, which must not be in use, are added before: those\n" +
			"of pages that this one has not fetched. Filters apply to both ends, and normalizers as to links of pages.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, dirs []string) error {
			o.Dirs = dirs
			return withOthers(cmd, &f, dirs, func(e *engine.Engine) error {
				r, err := e.Linkdb().Merge(cmd.Context(), o)
				return c.outcome(r, err, f.json)
			})
		},
	}
	f.settings(cmd, inMergelinkdb)
	f.report(cmd)
	cmd.Flags().BoolVar(&o.NoFilter, "no-filter", false, "add links as they are, without normalizers and filters")
	return cmd
}

func mergedbCommand(c *console) *cobra.Command {
	var f flags
	var o engine.MergeDBOptions
	cmd := &cobra.Command{
		Use:   "mergedb DIR…",
		Short: "add the records of crawldb of other directories",
		Long: "Adds the URLs that the data directories DIR know, which must not be in use. Of a URL that both know,\n" +
			"the record that was fetched last counts, and metadata is joined. Pages stay where they are: what only\n" +
			"DIR has fetched is known here, and fetched when it is due. Filters apply, and normalizers as to links\n" +
			"of pages. seine mergelinkdb adds their links. A part that splitdb moved to DIR is at home here again.\n" +
			"A page that is gone there since leaves the index; seine dedup and index, or the next crawl, bring back\n" +
			"its copies.",
		Args: needs("a data directory"),
		RunE: func(cmd *cobra.Command, dirs []string) error {
			o.Dirs = dirs
			return withOthers(cmd, &f, dirs, func(e *engine.Engine) error {
				r, err := e.MergeDB(cmd.Context(), o)
				return c.outcome(r, err, f.json)
			})
		},
	}
	f.settings(cmd, inMergedb)
	f.report(cmd)
	cmd.Flags().BoolVar(&o.NoFilter, "no-filter", false, "add records as they are, without normalizers and filters")
	return cmd
}

func webgraphCommand(c *console) *cobra.Command {
	var f flags
	var graph, vertices, edges string
	cmd := &cobra.Command{
		Use:   "webgraph --vertices FILE --edges FILE",
		Short: "write the graph of links between domains or hosts, in two files of columns",
		Long: "Writes the numbers and names of hosts or registered domains, labels reversed (com.example), and the\n" +
			"pairs of numbers between which pages link, with how many links there are: tab-separated and sorted,\n" +
			"as readers of Common Crawl's graphs take them. The files are replaced at the end, if nothing fails.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case graph != "host" && graph != "domain":
				return &usageError{fmt.Errorf("--graph %s: want host or domain", graph)}
			case vertices == "" || edges == "":
				return &usageError{errors.New("webgraph: give --vertices FILE and --edges FILE")}
			}
			files := []output{{"vertices", vertices}, {"edges", edges}}
			if err := checkOutputs(files, c.out); err != nil {
				return err
			}
			return withEngine(cmd, f.reading(), func(e *engine.Engine) error {
				var r engine.GraphReport
				err := intoFiles(files, func(w []io.Writer) (err error) {
					r, err = e.Linkdb().Graph(cmd.Context(), graph, w[0], w[1])
					return err
				})
				return c.outcome(r, err, f.json)
			})
		},
	}
	f.settings(cmd, inViews)
	f.report(cmd)
	cmd.Flags().StringVar(&graph, "graph", "domain", "what the nodes are: `host|domain`")
	cmd.Flags().StringVar(&vertices, "vertices", "", "`file` for numbers and names")
	cmd.Flags().StringVar(&edges, "edges", "", "`file` for pairs of numbers with counts")
	return cmd
}
