// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

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
			"output unless flags name files for lists. A report follows; it goes to stderr if a list is printed.",
		Args: needs("a file of URLs"),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := readableFiles("dedup-urls", files); err != nil {
				return err
			}
			if newList+known+duplicates+refused == "" {
				newList = "-"
			}
			o := engine.DedupURLsOptions{Files: files, Stdin: c.in}
			lists := urlLists{out: c.out}
			o.New, o.Known, o.Duplicates = lists.open(newList), lists.open(known), lists.open(duplicates)
			o.Refused = lists.open(refused)
			if lists.err != nil {
				return errors.Join(&usageError{fmt.Errorf("dedup-urls: %w", lists.err)}, lists.close())
			}
			to := *c
			if lists.printed > 0 {
				to.out = c.err
			}
			err := f.withReading(cmd, func(s store) error {
				r, err := s.DedupURLs(cmd.Context(), o)
				if err := errors.Join(err, lists.close()); err != nil {
					return err
				}
				return to.report(r, f.json)
			})
			return errors.Join(err, lists.close())
		},
	}
	f.settings(cmd, inDedupURLs)
	f.report(cmd)
	cmd.Flags().StringVar(&newList, "new", "", "`file` for new lines (-: standard output)")
	cmd.Flags().StringVar(&known, "known", "", "`file` for lines whose URL crawldb has")
	cmd.Flags().StringVar(&duplicates, "duplicates", "", "`file` for later lines of a URL")
	cmd.Flags().StringVar(&refused, "refused", "",
		"`file` for lines that inject would refuse, each after the reason and a TAB")
	return cmd
}

// urlLists opens the files of lists.
type urlLists struct {
	out     io.Writer
	files   []*os.File
	printed int // lists on standard output
	err     error
}

// open returns the writer of a list; nil: it is not wanted.
func (l *urlLists) open(name string) io.Writer {
	switch {
	case name == "" || l.err != nil:
		return nil
	case name == "-":
		if l.printed++; l.printed > 1 {
			l.err = errors.New("only one list can go to standard output")
		}
		return l.out
	}
	file, err := os.Create(name)
	if err != nil {
		l.err = err
		return nil
	}
	l.files = append(l.files, file)
	return file
}

// close closes the files. A second call does nothing.
func (l *urlLists) close() error {
	var errs []error
	for _, file := range l.files {
		errs = append(errs, file.Close())
	}
	l.files = nil
	return errors.Join(errs...)
}
