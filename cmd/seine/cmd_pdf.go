// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/engine/parse/pdf"
)

// pdfCommand reads one PDF file in its own process. It is hidden: seine runs it.
func pdfCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use:    "read-pdf",
		Short:  "read a PDF file from standard input and print its content as JSON",
		Hidden: true,
		Args:   noArguments,
		RunE:   func(*cobra.Command, []string) error { return pdf.Serve(c.in, c.out) },
	}
}

// pdfParsers is the parser of PDF files, which runs this program as read-pdf for each file.
func pdfParsers() (map[string]parse.Parser, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program that reads PDF files (pdf = false reads none): %w", err)
	}
	reader := &pdf.Reader{Command: []string{self, "read-pdf"}}
	return map[string]parse.Parser{"application/pdf": parse.PDF(reader)}, nil
}
