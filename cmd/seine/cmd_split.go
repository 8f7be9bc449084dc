// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func splitdbCommand(c *console) *cobra.Command {
	var f flags
	var o engine.SplitDBOptions
	var part string
	cmd := &cobra.Command{
		Use:   "splitdb DIR --part I/N",
		Short: "make a data directory of a part of the crawl, or move the part there",
		Long: "Cuts crawldb into N parts of about equal numbers of records, between registered domains (between\n" +
			"hosts where a domain has more than a part), and makes the new data directory DIR of part I: records\n" +
			"with what is due, hosts, the links to them, and the scope. seine crawl --dir DIR goes on there where\n" +
			"this crawl was; its settings file is not copied. The same crawldb has the same parts. Pages stay where\n" +
			"they are, as with mergedb: the next fetch brings them there.\n" +
			"With --move the part then leaves crawldb, hostdb and index here, as after delete; to move more, cut\n" +
			"what is left. Until seine mergedb DIR brings it back, its URLs are refused here (seine check url says\n" +
			"split) and links to them are kept. After a crash, the same command again does the rest.",
		Args: needsOne("a new data directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir = args[0]
			if (part == "") == (o.Domain == "") {
				return &usageError{errors.New("splitdb: give --part I/N or --domain NAME")}
			}
			if part != "" {
				var err error
				if o.Part, o.Parts, err = partNumber(part); err != nil {
					return &usageError{err}
				}
			}
			return withEngine(cmd, &f, func(e *engine.Engine) error {
				r, err := e.SplitDB(cmd.Context(), o)
				return c.outcome(r, err, f.json)
			})
		},
	}
	f.settings(cmd, inSplitdb)
	f.report(cmd)
	cmd.Flags().StringVar(&part, "part", "", "which part of how many: `I/N`, such as 1/4")
	cmd.Flags().StringVar(&o.Domain, "domain", "", "take this registered domain in place of a part, a `name`")
	cmd.Flags().BoolVar(&o.Move, "move", false, "take the part out of this directory once the other has it")
	return cmd
}

// partNumber reads a part as --part gives it.
func partNumber(text string) (part, parts int, err error) {
	of, all, _ := strings.Cut(text, "/")
	part, err = strconv.Atoi(of)
	if err == nil {
		parts, err = strconv.Atoi(all)
	}
	if err != nil || part < 1 || part > parts {
		return 0, 0, fmt.Errorf("--part %s: want I/N with I from 1 to N, such as 1/4", text)
	}
	return part, parts, nil
}
