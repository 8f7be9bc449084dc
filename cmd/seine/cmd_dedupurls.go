// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func dedupURLsCommand(c *console) *cobra.Command {
	var f flags
	var newList, known, duplicates, refused string
	cmd := &cobra.Command{
		Use:   "dedup-urls FILE…",
		Short: "print which URLs of files are new, known or duplicates (\"-\" for standard input)",
		Long: "Sorts the lines of files, as those of seeds, into those whose URL crawldb does not have, those whose\n" +
			"URL it has, and later lines of the same URL. URLs are normalized and filtered as those of seeds: the\n" +
			"new ones are those that seine inject would add. dedup-urls changes nothing. New lines go to standard\n" +
			"output unless flags name files for lists, which are replaced at the end, if nothing fails. A report\n" +
			"follows; it goes to stderr if a list is printed.",
		Args: needs("a file of URLs"),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := readableFiles("dedup-urls", files); err != nil {
				return err
			}
			if newList+known+duplicates+refused == "" {
				newList = "-"
			}
			lists := urlLists{
				names: []output{{"new", newList}, {"known", known}, {"duplicates", duplicates}, {"refused", refused}},
			}
			if err := lists.check(c, files); err != nil {
				return err
			}
			to := *c
			if lists.printed {
				to.out = c.err
			}
			return f.withReading(cmd, func(s store) error {
				var r engine.DedupURLsReport
				err := lists.into(c.out, func(w [4]io.Writer) (err error) {
					r, err = s.DedupURLs(cmd.Context(), engine.DedupURLsOptions{
						Files: files, Stdin: c.input(cmd.Context()),
						New: w[0], Known: w[1], Duplicates: w[2], Refused: w[3],
					})
					return err
				})
				if err != nil {
					return err
				}
				return to.report(r, f.json)
			})
		},
	}
	f.settings(cmd, inDedupURLs)
	f.report(cmd)
	cmd.Flags().StringVar(&newList, "new", "", "`file` for new lines (-: standard output)")
	cmd.Flags().StringVar(&known, "known", "", "`file` for lines whose URL crawldb has")
	cmd.Flags().StringVar(&duplicates, "duplicates", "", "`file` for later lines of a URL")
	cmd.Flags().StringVar(&refused, "refused", "",
		"`file` for lines that inject would refuse, each after the reason and a TAB; of lines longer than 64 KiB\n"+
			"the beginning, after \"malformed, cut\"")
	return cmd
}

// urlLists are the lists of dedup-urls, of which each may have a file.
type urlLists struct {
	names   []output
	files   []output // those that are files
	printed bool     // one goes to standard output
}

// check finds out which lists are files. Two lists in one place are a wrong use, and so is a list that would replace
// what the command reads.
func (l *urlLists) check(c *console, inputs []string) error {
	others := []any{c.out}
	for _, name := range inputs {
		if name == "-" {
			others = append(others, c.in)
		} else {
			others = append(others, name)
		}
	}
	for _, o := range l.names {
		switch {
		case o.name == "-" && l.printed:
			return &usageError{errors.New("dedup-urls: only one list can go to standard output")}
		case o.name == "-":
			l.printed = true
		case o.name != "":
			l.files = append(l.files, o)
		}
	}
	return checkOutputs(l.files, others...)
}

// into calls fn with the writers of the lists, in their order; nil: the list is not wanted.
func (l *urlLists) into(stdout io.Writer, fn func(w [4]io.Writer) error) error {
	return intoFiles(l.files, func(files []io.Writer) error {
		var w [4]io.Writer
		for i, o := range l.names {
			switch o.name {
			case "":
			case "-":
				w[i] = stdout
			default:
				w[i], files = files[0], files[1:]
			}
		}
		return fn(w)
	})
}
