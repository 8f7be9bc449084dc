// SPDX-License-Identifier: Apache-2.0

// Outline, the function that gives training programs a page's outline. (The type is in content/outline.go.)

package parse

import "github.com/seine-crawler/seine/engine/parse/content"

// Outline parses an HTML page into page and calls f once, on the same goroutine, with the page's outline. The outline
// is valid until f returns. Programs that train the content model need it (bench/training/content); for the model's
// result, use Parse. It does not choose a language and runs no filters and no signer. It may be called concurrently,
// for different pages.
func Outline(in *Input, page *Page, f func(o *content.Outline)) {
	page.reset(in)
	page.MediaType = mediaType(in)
	p := passes.Get().(*htmlPass)
	p.begin(in, page)
	p.lex()
	p.finish()
	f(&p.outline)
	p.release()
}
