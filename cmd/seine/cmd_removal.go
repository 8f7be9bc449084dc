// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

// targetsHelp says what the targets of recrawl and delete are.
const targetsHelp = "A target is a URL; a prefix that ends with *, such as 'https://example.org/docs/*'; or a host,\n" +
	"such as example.org (example.org:8080), with all its URLs."

// removalCommand is a command on URLs of a data directory that prints its report.
func removalCommand(
	c *console, in uses, cmd *cobra.Command,
	run func(ctx context.Context, s store, targets []string) (engine.Report, error),
) *cobra.Command {
	var f flags
	cmd.RunE = func(cmd *cobra.Command, targets []string) error {
		o, err := f.options(cmd)
		if err != nil {
			return err
		}
		return f.withStore(cmd, o, func(s store) error {
			r, err := run(cmd.Context(), s, targets)
			for _, hint := range hintsOf(r) {
				fmt.Fprintf(c.err, "seine: warning: %s: %s\n", cmd.Name(), plainLine(hint))
			}
			if err == nil && isNothing(r) {
				fmt.Fprintf(c.err, "seine: nothing is known of %s. %s\n", plainLine(strings.Join(targets, ", ")),
					strings.ReplaceAll(targetsHelp, "\n", " "))
			}
			return c.outcome(r, err, f.json)
		})
	}
	f.settings(cmd, in)
	f.report(cmd)
	return cmd
}

// isNothing reports whether no target of recrawl or delete was known.
func isNothing(r engine.Report) bool {
	switch r := r.(type) {
	case engine.RecrawlReport:
		return r.Records == 0
	case engine.DeleteReport:
		return r.Records+r.Documents+r.Inlinks+r.Withheld+r.Parsed == 0
	}
	return false
}

// hintsOf are the hints of a report of recrawl or delete.
func hintsOf(r engine.Report) []string {
	switch r := r.(type) {
	case engine.RecrawlReport:
		return r.Hints
	case engine.DeleteReport:
		return r.Hints
	}
	return nil
}

func recrawlCommand(c *console) *cobra.Command {
	return removalCommand(c, inRecrawl, &cobra.Command{
		Use:   "recrawl TARGET…",
		Short: "make URLs due now; they keep their scores",
		Long:  "Makes URLs due now, whatever their status and schedule. Scores and contents stay.\n" + targetsHelp,
		Args:  needs("a target: a URL, a prefix or a host"),
	}, func(ctx context.Context, s store, targets []string) (engine.Report, error) {
		return s.Recrawl(ctx, targets...)
	})
}

func deleteCommand(c *console) *cobra.Command {
	return removalCommand(c, inDelete, &cobra.Command{
		Use:   "delete TARGET…",
		Short: "remove URLs from crawldb, linkdb and index",
		Long: "Removes URLs and the links to and from them. Nothing that is stored leads to them again, but a page\n" +
			"that is fetched later and links to one makes it known again, and so does a seed: deny it to keep it\n" +
			"out. Responses stay in the WARC files until seine purge.\n" + targetsHelp,
		Args: needs("a target: a URL, a prefix or a host"),
	}, func(ctx context.Context, s store, targets []string) (engine.Report, error) {
		return s.Delete(ctx, targets...)
	})
}

func purgeCommand(c *console) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "purge",
		Short: "remove what is deleted, replaced or denied from WARC files, parse records and index",
		Long: "Writes WARC files that hold deleted pages again without them, removes WARC files of which no record\n" +
			"is needed, parse records of versions that were replaced, documents of pages that a filter file\n" +
			"denies, and what the index still has of deleted documents.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			return f.withStore(cmd, o, func(s store) error {
				r, err := s.Purge(cmd.Context())
				return c.outcome(r, err, f.json)
			})
		},
	}
	f.settings(cmd, inPurge)
	f.report(cmd)
	return cmd
}

func filterCommand(c *console) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "filter",
		Short: "remove what the filters of today refuse from crawldb, linkdb and index",
		Long: "Holds all that is stored against the filters and normalizers of today. URLs that a filter refuses\n" +
			"leave crawldb, linkdb and index, with the links to them and from them; a URL that the normalizers\n" +
			"spell otherwise is known by the new spelling from then on, and due. What only the scope refuses stays.\n" +
			"Responses stay in the WARC files until seine purge.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withEngine(cmd, &f, func(e *engine.Engine) error {
				r, err := e.Filter(cmd.Context())
				return c.outcome(r, err, f.json)
			})
		},
	}
	f.settings(cmd, inFilter)
	f.report(cmd)
	return cmd
}
