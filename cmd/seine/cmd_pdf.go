// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/parse/pdf"
)

// pdfCommand reads one PDF file in a process of its own; seine calls it, people need not.
func pdfCommand(c *console) *cobra.Command {
	return &cobra.Command{Use: "read-pdf", Short: "read a PDF file from standard input, write what is in it as JSON", Hidden: true, Args: args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return pdf.Serve(c.in, c.out) }}
}

// pdfParsers are the parsers of a seine that reads PDF files by calling itself.
func pdfParsers() (map[string]parse.Parser, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, to read PDF files with (--pdf=false reads none): %w", err)
	}
	return map[string]parse.Parser{"application/pdf": parse.PDF(&pdf.Reader{Command: []string{self, "read-pdf"}})}, nil
}
