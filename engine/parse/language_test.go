// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"os"
	"strings"
	"testing"

	"github.com/seine-crawler/seine/engine/parse"
)

// articles returns the first article of the Declaration of Human Rights by language.
func articles(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.ReadFile("language/testdata/udhr.tsv")
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for line := range strings.Lines(string(file)) {
		if tag, text, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			of[tag] = text
		}
	}
	return of
}

// TestLanguageOfMixedPages: a page that begins in one language and is for the most part in another one, as manuals are
// that are translated in part, is in that one.
func TestLanguageOfMixedPages(t *testing.T) {
	t.Parallel()
	of := articles(t)
	parsers := parse.New(parse.Options{})
	for _, tag := range []string{"ja", "zh", "ko", "ru", "ar", "de", "fr", "sv"} {
		for _, pair := range [][2]string{{"en", tag}, {tag, "en"}} {
			// A page of 5 to 8 KB, the first tenth of it in another language than the rest.
			page := "<main><h1>1</h1>"
			for n := range 20 {
				text := of[pair[min(n/2, 1)]]
				page += "<p>" + strings.Repeat(text+" ", 1+300/len(text)) + "</p>"
			}
			in := parse.Input{URL: mustURL(t, "https://example.org/"), ContentType: "text/html", Body: []byte(page)}
			var p parse.Page
			if err := parsers.Parse(&in, &p); err != nil {
				t.Fatal(err)
			}
			if p.Language != pair[1] {
				t.Errorf("a page that begins in %s and continues in %s is in %q: %+v",
					pair[0], pair[1], p.Language, p.Languages)
			}
		}
	}
}
