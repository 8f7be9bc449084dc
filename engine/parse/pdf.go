// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seine-crawler/seine/engine/parse/pdf"
)

// PDF returns a Parser for PDF files, to be set for "application/pdf" in Options.Parsers. r reads each file in a
// process of its own. The error of a file that cannot be read wraps ErrUnsupported and pdf.ErrBroken, and says why. An
// error that the file did not cause (no Command, the program does not start) wraps neither.
func PDF(r *pdf.Reader) Parser {
	return ParserFunc(func(in *Input, page *Page) error {
		d, err := r.Read(context.Background(), in.Body)
		if errors.Is(err, pdf.ErrBroken) {
			return fmt.Errorf("%w: %w", ErrUnsupported, err)
		}
		if err != nil {
			return err
		}
		var w textWriter
		w.begin(page.Text[:0], MaxText)
		w.lines = true
		w.write([]byte(d.Text), nil)
		page.Text, page.Truncated = w.out, w.full || d.Truncated || in.Truncated
		if page.Title = foldText(d.Title, MaxTitle); page.Title == "" {
			first, _, _ := bytes.Cut(page.Text, []byte{'\n'})
			page.Title = string(bytes.TrimRight(first[:runeCut(first, maxPlainTitle)], " "))
		}
		page.Description, page.Keywords = foldText(d.Subject, MaxDescription), foldText(d.Keywords, MaxDescription)
		page.Facts = Facts{Author: foldText(d.Author, MaxDescription), Published: d.Created, Modified: d.Modified}
		for _, link := range d.Links {
			page.AddLink(strings.TrimSpace(link), Outlink{Kind: LinkAnchor})
		}
		return nil
	})
}
