// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/index"
)

// nearGroup returns the near-duplicate group of a document: that of its main content, so that one article in two site
// designs is of one group. Titles do not count: they often differ by the name of the site, or by a version.
// It writes the content into scratch, and returns that.
func nearGroup(d *index.Document, scratch []byte) (group uint64, content []byte) {
	content = scratch[:0]
	if len(d.Content) == 0 {
		content = append(content, d.Text...)
	}
	for _, part := range d.Content {
		if part.To <= uint32(len(d.Text)) && part.From <= part.To { // what else it has, Check refuses
			content = append(append(content, d.Text[part.From:part.To]...), '\n')
		}
	}
	return parse.NearGroup(content), content
}
