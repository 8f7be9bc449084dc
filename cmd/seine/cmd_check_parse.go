// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine"
)

func checkParseCommand(c *console) *cobra.Command {
	f := flags{needsDir: true}
	var base, contentType string
	cmd := &cobra.Command{
		Use:   "parse URL|FILE",
		Short: "show what the parser finds in a page, fetched now (if robots.txt allows it) or read from a file",
		Args:  needsOne("a URL or a file"),
		RunE: func(cmd *cobra.Command, what []string) error {
			ofPage := strings.HasPrefix(what[0], "http://") || strings.HasPrefix(what[0], "https://")
			for _, flag := range []string{"base", "content-type"} {
				if ofPage && cmd.Flags().Changed(flag) {
					return &usageError{fmt.Errorf("--%s has no effect on a page that is fetched, only on a file", flag)}
				}
			}
			o, err := f.options(cmd)
			if err != nil {
				return err
			}
			var r engine.PageCheck
			if ofPage {
				r, err = engine.CheckPage(cmd.Context(), o, what[0])
			} else {
				r, err = checkFile(o, what[0], base, contentType)
			}
			if err != nil {
				return err
			}
			return c.lines(func(w *bufio.Writer) error {
				if f.json {
					return jsonLine(w, r)
				}
				_, err := fmt.Fprintln(w, strings.Map(onePrintable, r.String()))
				return err
			})
		},
	}
	f.settings(cmd, inCheckParse)
	f.report(cmd)
	cmd.Flags().StringVar(&base, "base", "",
		"`URL` against which links in a file are resolved (default http://localhost/FILE)")
	cmd.Flags().StringVar(&contentType, "content-type", "",
		"Content-Type of a file (default: by its suffix or its bytes)")
	return cmd
}

// checkFile parses a file.
func checkFile(o engine.Options, name, base, contentType string) (engine.PageCheck, error) {
	if err := readable(name); err != nil {
		return engine.PageCheck{}, &usageError{fmt.Errorf("check parse: %w", fileError(name, err))}
	}
	f, err := os.Open(name)
	if err != nil {
		return engine.PageCheck{}, err
	}
	defer f.Close()
	return engine.CheckFile(o, f, name, base, contentType)
}

// onePrintable replaces control characters other than line ends, for strings.Map.
func onePrintable(r rune) rune {
	if r == '\n' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
		return r
	}
	return '\ufffd'
}
