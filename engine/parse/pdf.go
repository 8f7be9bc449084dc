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

// PDF returns a parser for PDF files, which r reads in processes of their own. A file that cannot be read is not
// parsed, as are those of types that have no parser; the error says why.
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
