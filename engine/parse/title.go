// SPDX-License-Identifier: Apache-2.0

// Titles without the site's name.

package parse

import (
	"strings"
	"unicode/utf8"
)

// titleSeparators are the characters, between spaces, that sites put between a page's title and their name.
const titleSeparators = "|-–—·•»"

// minTitleWords is the number of words that a cut title must have: "Home" and "Introduction" say too little alone.
const minTitleWords = 2

// ownTitle cuts the site's name off the end of a title, "Baking bread | Example News", if the page itself says where
// the name begins: what follows the separator is the name that the page gives its site, or what precedes it is the
// page's first heading. A name at the beginning stays: there it may as well be the title.
func ownTitle(title, site string, heading []byte) string {
	// Spaces are single, so that one byte before and one after a separator decide.
	for i := len(title) - 1; i > 0; i-- {
		if title[i] != ' ' {
			continue
		}
		r, n := utf8.DecodeLastRuneInString(title[:i])
		from := i - n - 1
		if from < 0 || title[from] != ' ' || !strings.ContainsRune(titleSeparators, r) {
			continue
		}
		left, right := title[:from], title[i+1:]
		if strings.Count(left, " ")+1 >= minTitleWords &&
			(strings.EqualFold(right, site) || strings.EqualFold(left, string(heading))) {
			return left
		}
	}
	return title
}
