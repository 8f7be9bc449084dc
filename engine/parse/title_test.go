// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"testing"

	"github.com/seine-crawler/seine/engine/parse"
)

// TestTitleOfPage: the site's name is cut off a title's end where the page says that it is the site's name or that the
// rest is the heading, and nowhere else.
func TestTitleOfPage(t *testing.T) {
	const site = `<meta property="og:site_name" content="Example News">`
	for _, c := range []struct{ title, head, body, want string }{
		{"Baking bread | Example News", site, "", "Baking bread"},
		{"Baking bread - with yeast - EXAMPLE NEWS", site, "", "Baking bread - with yeast"},
		{"Baking bread – Recipes – Example News", site, "<h1>Baking\nbread</h1>", "Baking bread – Recipes"},
		{"Baking bread | Recipes | All", "", "<h1>Baking bread</h1>", "Baking bread"},
		{"Baking bread | Example News", "", "", "Baking bread | Example News"},
		{"Baking bread | Example News", site, "<h1>Example News</h1><h2>Baking bread</h2>", "Baking bread"},
		{"Baking bread | Other News", site, "<h1>Bread</h1>", "Baking bread | Other News"},
		{"Baking bread|Example News", site, "", "Baking bread|Example News"},
		{"Home | Example News", site, "<h1>Home</h1>", "Home | Example News"},
		{"Example News | Baking bread", site, "", "Example News | Baking bread"},
		{"Example News", site, "", "Example News"},
		{"- Example News", site, "", "- Example News"},
		{" | ", site, "", "|"},
		{"Brot backen · Beispiel", `<meta property="og:site_name" content="Beispiel">`, "", "Brot backen"},
	} {
		in := htmlInput(mustURL(t, "https://example.org/a"), []byte("<title>"+c.title+"</title>"+c.head+c.body))
		var page parse.Page
		if err := parse.New(parse.Options{}).Parse(in, &page); err != nil {
			t.Fatal(err)
		}
		if page.Title != c.want {
			t.Errorf("title %q, head %q, body %q: %q, want %q", c.title, c.head, c.body, page.Title, c.want)
		}
	}
}
