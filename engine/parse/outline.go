// SPDX-License-Identifier: Apache-2.0

package parse

import "github.com/seine-crawler/seine/engine/parse/content"

// Outline parses an HTML page and shows f its outline, which is valid until f returns. It is for those who train a
// model of main content (bench/content); Parse gives what the model says.
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
